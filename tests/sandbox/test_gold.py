"""No program sees what it is judged by, although in an installed wheel the data sets lie among the packages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from fnmatch import fnmatch
from pathlib import Path

import pytest

from agentgauge.sandbox import paths
from tests.made_up import install

from .conftest import REPOSITORY, Confined

OWN = ("bench_gta", "bench_mmau", "bench_wild", "agentgauge", "reports/agentgauge_reports", "tool_impls")
SEARCHES = Path(__file__).with_name("searches.py")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with copies of this project's packages, others' packages, and a data set in
    ``lib``."""
    place = tmp_path_factory.mktemp("installed")
    venv.create(place, symlinks=True)
    (packages,) = place.glob("lib/python3*/site-packages")
    for name in OWN:
        shutil.copytree(REPOSITORY / name, packages / Path(name).name, ignore=shutil.ignore_patterns("__pycache__"))
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    (packages / "agentgauge-0.1.0.dist-info").mkdir()
    (packages / "gold_of_others").mkdir()
    (packages / "gold_of_others/__init__.py").touch()
    (packages / "gold_of_others/answers.jsonl").write_text("{}")
    install(packages, {"gold_of_others.plugin": ""}, "gold_of_others.plugin")
    (place / "lib/gold").mkdir()
    (place / "lib/gold/answers.jsonl").write_text("{}")
    return place / "bin" / "python"


def found(installed: Path, uses: str, folder: Path, *refuse: str) -> dict[str, str]:
    """What was found by each of the uses, which have a process together."""
    done = subprocess.run(
        [installed, SEARCHES, uses.replace(" ", ","), folder, *refuse],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd="/",
        env={"HOME": "/"},
    )
    assert not done.returncode, done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def answers(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    uses = "contest notebook solver plot calculator prover agent claim reader"
    return found(installed, uses, tmp_path_factory.mktemp("uses"))


@pytest.fixture(scope="module")
def served(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return found(installed, "served Solver Plot Calculator Prover", tmp_path_factory.mktemp("served"))


def test_outside_there_is_much_to_find(installed: Path, tmp_path: Path) -> None:
    assert int(found(installed, "nothing", tmp_path)["nothing"].split()[3].strip(",")) > 300


@pytest.mark.parametrize("use", ["contest", "notebook", "solver", "plot", "calculator", "prover", "agent"])
def test_a_program_finds_nothing(use: str, answers: dict[str, str]) -> None:
    assert "much seen, named 0, read 0: []" in answers[use]
    if use == "notebook":  # its own tables are there, although they lie within the data set
        assert "rides.csv" in answers[use].rpartition("read 0: []")[2]


def test_without_mounts_it_can_read_nothing(installed: Path, tmp_path: Path) -> None:
    """Landlock cannot hide names: rights that a folder of packages has hold for what lies in it."""
    for use, answer in found(installed, "contest notebook solver", tmp_path, "namespaces").items():
        assert "much seen" in answer and "read 0: []" in answer, use


@pytest.mark.parametrize("tool", ["Solver", "Plot", "Calculator"])
def test_a_program_finds_nothing_behind_a_tool_server(tool: str, served: dict[str, str]) -> None:
    assert "much seen, named 0, read 0: []" in served[tool]


def test_a_claim_can_include_no_file(answers: dict[str, str], served: dict[str, str]) -> None:
    """The file would make it a false one."""
    assert "failed to open file" in answers["claim"]
    assert "failed to open file" in served["Prover"]


def test_a_reader_of_deliverables_sees_the_sources_that_it_runs(answers: dict[str, str]) -> None:
    answer = answers["reader"]
    assert "read 0" not in answer
    assert not any(word in answer for word in ("mini", "reference", ".jsonl", "gold"))


def test_all_that_an_installation_brings_is_known() -> None:
    """``paths._OWN`` names every package of this project."""
    packages = {path.parent.name for path in REPOSITORY.glob("*/__init__.py")} - {"tests"}
    assert not [name for name in packages if not any(fnmatch(name, own) for own in paths._OWN)]


def test_folders_that_were_hidden_are_so_in_processes_that_come_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(paths.HIDDEN, raising=False)
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    paths.hide([tmp_path / "link", tmp_path / "real"])
    paths.hide([tmp_path / "other"])
    code = "from agentgauge.sandbox.paths import _given; print(_given())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY)
    assert done.stdout.strip() == repr((str(tmp_path / "real"), str(tmp_path / "other")))
    assert os.environ[paths.HIDDEN]


def test_a_run_hides_its_data_and_itself(tmp_path: Path) -> None:
    """In the process that everything else is started from."""
    shutil.copytree(REPOSITORY / "bench_mmau/mini", tmp_path / "data")
    (tmp_path / "show_hidden.py").write_text(
        "import os\ndef pytest_sessionfinish(): print('HIDDEN', os.environ['AGENTGAUGE_HIDDEN'])"
    )
    words = [
        "-p",
        "show_hidden",
        "-p",
        "no:cacheprovider",
        "-q",
        "--model",
        "baseline",
        "--limit",
        "1",
        "-k",
        "math_standard",
    ]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            *words,
            f"--data={tmp_path / 'data'}",
            f"--run-dir={tmp_path / 'run'}",
            "bench_mmau",
        ],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    (line,) = (line for line in done.stdout.splitlines() if "HIDDEN" in line)
    hidden = line.partition("HIDDEN ")[2].split(os.pathsep)
    assert {str(tmp_path / "data"), str(tmp_path / "run"), str(REPOSITORY / "bench_mmau/mini")} <= set(hidden)


TRIES = """
import os
for path in PATHS:
    above = os.path.dirname(path)
    for tried in (lambda: open(path).read(1), lambda: os.listdir(above), lambda: os.mkdir(above + "/new")):
        try:
            print(tried())
        except OSError as error:
            print("no")
"""


@pytest.mark.parametrize("lacking", ["", "landlock", "namespaces"])
def test_a_hidden_folder_is_empty_at_every_place_where_it_appears(
    lacking: str, confined: Confined, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path("/lib").is_symlink():
        pytest.skip("needs a system where /lib leads to /usr/lib")
    file = next(
        path
        for path in Path("/usr/lib").glob("*/*")
        if path.is_file() and not path.is_symlink() and not path.parent.is_symlink()
    )
    monkeypatch.setenv(paths.HIDDEN, str(file.parent))
    code = TRIES.replace("PATHS", repr([str(file), str(file).removeprefix("/usr")]))
    told = confined(code, refuse=(lacking,))["stdout"].split("\n")[:-1]
    names = str([path.name for path in file.parent.iterdir()]) if lacking == "namespaces" else "[]"
    assert told == ["no", names, "no"] * 2
