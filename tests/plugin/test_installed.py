"""The installed plugin: silent and light in projects that do not use it; tasks that a conftest.py announces."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentgauge.core.features import features
from tests.plugin.project import ROOT, Project, Result, python, records

# -- The installed plugin: silent in projects that do not use it, and there without a word in a conftest.py.


ANNOUNCE = """
from tests.plugin.toy import TOY
"""

OWN_MODEL = """
def pytest_addoption(parser):
    parser.addoption("--model", type=int, default=3)
"""

FOLDERS = [plugin.module.removesuffix(".plugin") for plugin in features()]
LIGHT = {
    "agentgauge",
    "agentgauge.core",
    "agentgauge.core.features",
    "agentgauge.core.option",
    "agentgauge.core.options",
    "agentgauge.hookspec",
    "agentgauge.plugins",
    "agentgauge.pytest_plugin",
    "agentgauge.pytest_plugin.fixtures",
    "agentgauge.pytest_plugin.keys",
    "agentgauge.pytest_plugin.options",
    "agentgauge_reports",
    *(f"{folder}{module}" for folder in FOLDERS for module in ("", ".options", ".plugin", ".pytest_fixtures")),
}

OURS = """
import sys
def pytest_unconfigure():
    print("OURS", *sorted(name for name in sys.modules if name.startswith(("agentgauge", "bench_", "tool_impls"))))
"""


def pytest_in(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> Result:
    """pytest as somebody runs it in a project of their own, where it matters what it imports in which order."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env=Project(folder).environment(env),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Result(done.returncode, done.stdout + done.stderr, folder)


def forked_in(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> Result:
    """The same where it does not matter."""
    return python("-m", "pytest", "-p", "no:cacheprovider", *arguments, cwd=folder, env=env)


@pytest.fixture
def theirs(tmp_path) -> Path:
    """A project with one test of its own."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text("def test_it():\n    pass\n")
    return folder


@pytest.fixture
def announced(tmp_path) -> Path:
    """A project whose conftest.py announces a benchmark, and says nothing of the plugin."""
    project = Project.make(tmp_path / "announced", samples=2)
    (project.path / "conftest.py").write_text(ANNOUNCE)
    return project.path


@pytest.mark.parametrize("arguments", [(), ("-n", "1"), ("--runslow",)], ids=["serial", "xdist", "own option"])
def test_it_loads_nothing_where_it_is_not_used(theirs, arguments):
    (theirs / "conftest.py").write_text(
        OURS + "def pytest_addoption(parser):\n    parser.addoption('--runslow', action='store_true')\n"
    )
    result = pytest_in(theirs, *arguments)
    assert result.status == 0, result.output
    loaded = [line.split()[1:] for line in result.output.splitlines() if line.startswith("OURS")]
    assert loaded and all(set(names) <= LIGHT for names in loaded)
    assert "agentgauge:" not in result.output
    assert not (theirs / "runs").exists()


def test_a_benchmark_is_found_when_its_first_case_is_collected(announced):
    result = pytest_in(announced, "--run-dir", "run", "--data", "toy")
    assert result.status == 0, result.output
    late = pytest_in(announced, env={"AGENTGAUGE_DATA": str(announced / "toy")})  # no option at all
    assert "agentgauge: model baseline" in late.output, late.output
    assert len(list((announced / "runs").iterdir())) == 1


def test_workers_cannot_find_it_so_late(announced):
    result = pytest_in(announced, "-n", "1")
    assert result.status == 1
    assert "name the model, such as --model=baseline" in result.output
    assert not (announced / "runs").exists()


@pytest.mark.parametrize("also", [False, True], ids=["by its entry point", "named by conftest.py too"])
def test_a_plugin_that_is_named_twice_is_loaded_once(announced, also):
    if also:
        (announced / "conftest.py").write_text(ANNOUNCE + 'pytest_plugins = ["agentgauge.pytest_plugin"]\n')
    result = pytest_in(announced, "--data=toy", "--run-dir=run", "-p", "agentgauge.pytest_plugin")
    assert result.status == 0, result.output
    assert len(records(announced / "run")) == 2


@pytest.mark.parametrize(
    ("arguments", "status"), [(("-p", "agentgauge.pytest_plugin"), 0), ((), 4)], ids=["named", "not named"]
)
def test_without_autoload_it_is_named(announced, arguments, status):
    env = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    result = pytest_in(announced, *arguments, "--data=toy", "--run-dir=run", env=env)
    assert result.status == status, result.output
    assert ("unrecognized arguments" in result.output) == bool(status)


@pytest.mark.parametrize(
    ("model", "said"),
    [((), "agentgauge: model baseline"), (("--agentgauge-model=oracle",), "agentgauge: model oracle")],
)
def test_a_project_keeps_its_own_model_option(announced, model, said):
    (announced / "conftest.py").write_text(ANNOUNCE + OWN_MODEL)
    (announced / "pytest.ini").write_text("[pytest]\nagentgauge_short_options = false\n")
    result = forked_in(announced, "--agentgauge-data=toy", "--model=4", *model)
    assert said in result.output, result.output


def test_another_plugin_keeps_its_option(announced):
    (announced / "theirs.py").write_text(OWN_MODEL)
    arguments = ("-p", "theirs", "--model=4", "--data=toy", "--agentgauge-limit=1")
    result = forked_in(announced, *arguments, env={"PYTHONPATH": os.pathsep.join([str(announced), *sys.path])})
    assert "toy.say: 1 case," in result.output, result.output


@pytest.mark.parametrize("option", ["--run-dir", "--data", "--agentgauge-run-dir"])
def test_a_value_behind_a_space_is_no_path_of_tests(announced, option):
    """A folder that is there."""
    place = announced / ("toy" if option == "--data" else "kept")
    place.mkdir(exist_ok=True)
    rest = ("--run-dir=run",) if option == "--data" else ("--data=toy",)
    result = forked_in(announced, option, place.name, *rest)
    assert result.status == 0, result.output
    assert f"rootdir: {announced}" in result.output


def test_a_folder_elsewhere_behind_a_space_is_refused(announced, tmp_path):
    place = tmp_path / "elsewhere"
    place.mkdir()
    result = forked_in(announced, "--data=toy", "--run-dir", str(place))
    assert result.status == 4
    assert f"write --run-dir={place}" in result.output
    assert "collected" not in result.output
    assert forked_in(announced, "--data=toy", f"--run-dir={place}").status == 0


def test_workers_would_find_a_new_folder_elsewhere(announced, tmp_path):
    result = forked_in(announced, "--data=toy", "-n", "1", "--run-dir", str(tmp_path / "new"))
    assert result.status == 4
    assert f"write --run-dir={tmp_path / 'new'}" in result.output


def test_a_bundled_benchmark_runs_in_an_empty_folder(tmp_path):
    result = forked_in(tmp_path, "--pyargs", "bench_gta", "--model=oracle", "--limit=1", "--run-dir=run")
    assert result.status == 0, result.output
    assert {record["status"] for record in records(tmp_path / "run")} == {"passed"}
    tools = json.loads((tmp_path / "run" / "run.json").read_text())["settings"]["tools"]
    assert {tool["state"].partition(":")[0] for tool in tools.values()} <= {"ready", "basic", "substitute", "disabled"}


# -- Nothing heavy is loaded before a case runs: collection, ``--help`` and an empty selection stay as quick as
# pytest.


# fmt: off
HEAVY = frozenset({
    "openai", "aiohttp", "httpx", "httpx2", "httpcore", "httpcore2", "requests",
    "numpy", "PIL", "matplotlib", "sympy", "scipy", "cv2", "torch", "transformers", "sentence_transformers",
    "rapidocr", "onnxruntime", "tool_impls.registry", "agentgauge_reports.run",
})
# fmt: on
"""Packages that are imported where they are first used. ``asyncio`` and ``pydantic`` are not among them: every run
needs them."""

PROBE = """
import json, sys, pytest
status = pytest.main(sys.argv[1:])
print("\\nMODULES", json.dumps([int(status), sorted(sys.modules)]))
"""


@pytest.mark.parametrize(
    ("arguments", "expected", "status"),
    [
        (("--collect-only", "-q", "bench_gta"), {"bench_gta", "agentgauge"}, 0),
        (("--help",), {"agentgauge"}, 0),
        (("-k", "no_case_is_called_this", "bench_gta"), {"bench_gta", "agentgauge"}, 5),
    ],
    ids=["collect", "help", "nothing selected"],
)
def test_no_heavy_package_is_imported_before_a_case_runs(tmp_path, arguments, expected, status):
    done = subprocess.run(
        [sys.executable, "-c", PROBE, "-p", "no:cacheprovider", *arguments],
        cwd=ROOT,
        env=Project(tmp_path).environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    ended, modules = json.loads(done.stdout.rpartition("MODULES")[2])
    assert ended == status, done.stdout
    assert expected <= set(modules)
    assert HEAVY.isdisjoint(modules), sorted(HEAVY & set(modules))


def test_a_project_that_runs_no_benchmark_does_not_load_pydantic(tmp_path):
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n")
    done = subprocess.run(
        [sys.executable, "-c", PROBE, "-p", "no:cacheprovider", "-p", "agentgauge.pytest_plugin", "."],
        cwd=tmp_path,
        env=Project(tmp_path).environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    ended, modules = json.loads(done.stdout.rpartition("MODULES")[2])
    assert ended == 0, done.stdout
    assert "agentgauge.pytest_plugin" in modules and not HEAVY.union({"pydantic"}) & {*modules}


# -- Tasks that a conftest.py announces, and no entry point: what is wrong with them is told before the first request.


CONFTEST = """
import pytest
from quiz import QUIZ
pytest_plugins = ["agentgauge.pytest_plugin"]
"""

QUIZ = """
from tests.plugin.toy import toy

QUIZ = toy()
"""


@pytest.fixture
def quiz(project: Project) -> Project:
    """Its task is in a module that only pytest's own settings put on the path."""
    (project.path / "lib").mkdir()
    (project.path / "lib" / "quiz.py").write_text(QUIZ)
    (project.path / "conftest.py").write_text(CONFTEST)
    (project.path / "pytest.ini").write_text("[pytest]\npythonpath = lib\n")
    return project


def test_the_oracle_gives_their_gold(quiz: Project) -> None:
    for name, workers in (("serial", ()), ("spread", ("-n", "2"))):
        result = quiz.run("--model=oracle", f"--run-dir={name}", *workers)
        assert result.status == 0, result.output
        assert result.summary(name)["tasks"]["toy.say"]["metrics"]["Acc"]["value"] == 100


@pytest.mark.parametrize(
    ("part", "code", "sentence"),
    [
        ("score", "def part(*given): return None", "toy.say: score returned None; return a Score (sample s0)"),
        (
            "score",
            "def part(sample, output, *given): return output['answer']",
            "toy.say: score(sample, None, …), which scores a broken case, fails: TypeError",
        ),
        (
            "metrics",
            "def part(scoring): return MetricFormula(lambda sums: {'Acc': sums['rigth'] if sums else None})",
            "toy.say: its metrics and breakdowns of one score (right=0, all=1) fail: KeyError: 'rigth' (sample s0)",
        ),
    ],
    ids=["no-score", "broken-case", "metrics"],
)
def test_a_defect_in_scoring_costs_no_request(quiz: Project, part: str, code: str, sentence: str) -> None:
    (quiz.path / "lib" / "quiz.py").write_text(
        f"from agentgauge.core.estimate import MetricFormula\n{code}\n{QUIZ.replace('toy()', f'toy({part}=part)')}",
        encoding="utf-8",
    )
    result = quiz.run("--model=oracle", "--run-dir=run")
    assert result.status == 4, result.output
    assert sentence in result.output and "; no request was sent" in result.output
