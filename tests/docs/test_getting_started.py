"""The commands of docs/getting-started.md do what they say. A server on loopback stands in for each provider.

The others only have to be understood: test_commands.py parses them.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from agentgauge.cli.main import main
from tests.docs.pages import ROOT, block, commands, text
from tests.model.fault_server import Act, FaultServer, Seen, answer, tool_call
from tests.plugin.project import PYTEST, python

pytestmark = [pytest.mark.slow, pytest.mark.uses("formats", "gates", "page", "shards")]

PAGE = text("docs/getting-started.md")
PROJECT = ("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT))
WILD = ("{bench_wild}", "--limit=8")
FIGURE_TOO_LOW = 1

RUNS = (
    ("pytest --model=gpt-4o", (*WILD, "--run-dir=runs/NAME"), 0),
    ("pytest --model=oracle", (*WILD, "--run-dir=runs/B"), 0),
    ("pytest --shard=1/2 --run-dir=runs/shard-1", WILD, 0),
    ("pytest --shard=2/2 --run-dir=runs/shard-2", WILD, 0),
    ("pytest --rescore=runs/NAME --scoring=strict", ("{bench_wild}", "--run-dir=runs/strict"), 0),
    (
        "pytest --model=gpt-4o --gate='gta_atomic.e2e.AnsAcc>=40'"
        " --gate='no significant regression against runs/before'",
        (*WILD, "--run-dir=runs/gated"),
        FIGURE_TOO_LOW,
    ),
)
"""A command of the page, what is added so that it is quick, and its exit status."""

AFTERWARDS = (
    ("report runs/NAME --html page.html --embed", "page.html"),
    ("compare runs/A runs/B", None),
    ("report --items runs/A runs/B runs/C", None),
    ("merge runs/whole runs/shard-1 runs/shard-2", "runs/whole/summary.json"),
    ("report runs/NAME --format wild --output DIR", "DIR/result"),
    ("report runs/NAME --format parquet --output tables", "tables/metrics.parquet"),
    ("cite", None),
    ("data", None),
    ("data check wild --data DIR", None),
    ("new NAME", "name/README.md"),
    ("pack create --result-dir outputs", "outputs/pack.json"),
    ("pack score --in-pack outputs/pack.json", "outputs"),
)
"""A command of the page, and a file that it writes."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the runs have been made."""
    folder = tmp_path_factory.mktemp("started")
    wild = str(ROOT / "bench_wild")
    with FaultServer([answer("42")]) as endpoint:
        env = {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": "sk-of-nobody"}
        for command, more, status in RUNS:
            words = shlex.split(command)[1:]
            assert words in commands(PAGE, "pytest"), command
            added = [word.format(bench_wild=wild) for word in more]
            done = python(*PYTEST, *PROJECT, *words, *added, cwd=folder, env=env)
            assert done.status == status, f"{command}\n{done.output}"
            if not (folder / "runs" / "before").exists():
                for copy in ("before", "A", "C"):
                    shutil.copytree(folder / "runs" / "NAME", folder / "runs" / copy)
    return folder


def test_runs_are_made_as_the_page_says(place: Path) -> None:
    made = {folder.name for folder in (place / "runs").iterdir() if (folder / "report.html").is_file()}
    assert {"NAME", "B", "strict", "gated"} <= made


@pytest.mark.parametrize(("command", "written"), AFTERWARDS, ids=[command for command, _ in AFTERWARDS])
def test_what_comes_after_a_run_works(
    place: Path, command: str, written: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = shlex.split(command)
    assert words in commands(PAGE, "agentgauge")
    monkeypatch.chdir(place)
    if words[0] == "pack":
        (place / "outputs" / "0").mkdir(parents=True, exist_ok=True)
        (place / "outputs" / "0" / "final.txt").write_text("done")
    if "check" in words:
        words[-1] = str(ROOT / "bench_wild" / "mini")
    if words[0] == "new":
        words[-1] = "name"
    assert main(words) == 0
    assert written is None or (place / written).exists()


def calculates(seen: Seen) -> Act:
    """A model that uses the calculator, then answers."""
    if seen.body["messages"][-1]["role"] == "tool":
        return answer("It is 42.")
    return answer(None, tool_calls=[tool_call("Calculator", '{"expression": "40 + 2"}')])


def test_an_own_test_and_an_own_benchmark_run_as_the_page_shows_them(tmp_path: Path) -> None:
    files = {"test_mine.py": "tools.Calculator", "sums.jsonl": '"id": "one"', "sums.py": '@benchmark("sums"'}
    for name, containing in files.items():
        (tmp_path / name).write_text(block(PAGE, containing), encoding="utf-8")
    with FaultServer(choose=calculates) as endpoint:
        env = {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": "sk-of-nobody"}
        for words, ends in (
            (["test_mine.py", "--model=gpt-4o"], "1 passed"),
            (["sums.py", "--model=oracle"], "2 passed"),
            (["sums.py", "--model=gpt-4o"], "2 wrong"),
        ):
            assert ["pytest", *words][1:] in commands(PAGE, "pytest")
            done = python(*PYTEST, *words, cwd=tmp_path, env=env)
            assert done.status == 0 and ends in done.output, done.output
