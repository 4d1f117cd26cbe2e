"""Each step of docs/debugging.md does what the page says."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from agentgauge.cli.main import main
from tests.docs.pages import ROOT, block, commands, text
from tests.docs.test_example_benchmark import change, reckon
from tests.model.fault_server import FaultServer
from tests.plugin.project import PYTEST, Project, python, records

pytestmark = pytest.mark.slow

PAGE = text("docs/debugging.md")
BENCHMARK = text("docs/adding-a-benchmark.md")
REMEMBERING = ("-m", "pytest", "-p", "no:anyio", "-p", "no:benchmark")
"""pytest with its cache, as ``--lf`` needs it."""
ONE = "pytest 'sums.py::test_sums[two]' --model=gpt-4o --run-dir=runs/one"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sums.jsonl").write_text(block(BENCHMARK, '"id": "one"'))
    (tmp_path / "sums.py").write_text(block(BENCHMARK, '@benchmark("sums"'))
    (tmp_path / "script.json").write_text(block(PAGE, '"replies"'))
    return tmp_path


def run(folder: Path, command: str, *more: str, status: int = 0, url: str = "http://127.0.0.1:9") -> str:
    words = shlex.split(command)[1:]
    assert words in commands(PAGE, "pytest"), command
    env = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-of-nobody"}
    done = python(*REMEMBERING, *words, *more, cwd=folder, env=env)
    assert done.status == status, done.output
    return done.output


def test_a_wrong_case_is_read_and_scored_again(folder: Path) -> None:
    with FaultServer(choose=reckon) as endpoint:
        assert "got:      many" in run(folder, ONE, url=endpoint.url)
        run(folder, "pytest sums.py --model=gpt-4o --lf", url=endpoint.url)
    done = subprocess.run(
        [sys.executable, "-c", block(PAGE, "import json")], cwd=folder, capture_output=True, text=True
    )
    assert done.stdout.startswith("two wrong the sum is wrong\n  expected: 42\n  got:      many\nmodel gpt-4o {"), (
        done.stderr
    )
    change(folder, "sums.py", ('sample["answer"]\n        seen', '"many"\n        seen'))
    again = ("pytest sums.py --rescore=runs/one", "--run-dir=runs/again")
    run(folder, *again)
    assert [record["status"] for record in records(folder / "runs" / "again")] == ["passed"]


def test_an_exception_is_found_and_its_cases_are_scored_again(folder: Path) -> None:
    change(folder, "sums.py", ('== sample["answer"]', '== sample["answr"]'))
    output = run(folder, "pytest sums.py --model=oracle", "--run-dir=runs/one", "--tb=long", status=1)
    assert "internal error at sums.py:10: KeyError: 'answr'" in output
    assert any(line.lstrip().startswith(">") and 'sample["answr"]' in line for line in output.splitlines())
    change(folder, "sums.py", ('sample["answr"]', 'sample["answer"]'))
    assert "2 passed" in run(folder, "pytest sums.py --rescore=runs/one")


def test_print_and_breakpoint_work(folder: Path) -> None:
    change(folder, "sums.py", ("        right =", "        print('scores', answer.text)\n        right ="))
    assert "\nscores 42\n" in run(folder, "pytest sums.py --model=oracle -k two -s")
    change(folder, "sums.py", ("print('scores', answer.text)", "breakpoint()"))
    words = [sys.executable, *PYTEST, "sums.py", "--model=oracle", "-k", "two"]
    environment = Project(folder).environment()
    typed = "p 'stopped at', answer.text\nc\n"
    done = subprocess.run(words, cwd=folder, env=environment, input=typed, capture_output=True, text=True, timeout=120)
    assert "('stopped at', '42')" in done.stdout and done.returncode == 0, done.stdout + done.stderr


def test_pdb_stops_with_the_record(folder: Path) -> None:
    words = [sys.executable, *PYTEST, "sums.py", "--model=baseline", "-k", "two", "--pdb"]
    typed = "p outcome.record.transcript.events\nc\n"
    environment = Project(folder).environment()
    done = subprocess.run(words, cwd=folder, env=environment, input=typed, capture_output=True, text=True, timeout=120)
    assert "What is 20 + 22?" in done.stdout, done.stdout + done.stderr


def test_a_reply_is_played_again(folder: Path) -> None:
    output = run(folder, "pytest sums.py --model=scripted:script.json")
    assert "got:      It is 3." in output and "1 passed" in output


def test_the_test_of_the_scoring_passes(folder: Path) -> None:
    (folder / "test_scoring.py").write_text(block(PAGE, "def test_a_sentence"))
    done = python(*PYTEST, "test_scoring.py", cwd=folder, env={"PYTHONPATH": f"{folder}:{ROOT}"})
    assert "1 passed" in done.output, done.output


def test_samples_to_suspect_are_listed(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    for name, model in (("a", "baseline"), ("oracle", "oracle")):
        python(*PYTEST, "sums.py", f"--model={model}", f"--run-dir=runs/{name}", cwd=folder)
    monkeypatch.chdir(folder)
    words = shlex.split("--tasks sums.py report --items runs/a runs/b runs/c runs/oracle")
    assert words in commands(PAGE, "agentgauge")
    assert main([word for word in words if word not in ("runs/b", "runs/c")]) == 0
    told = capsys.readouterr().out
    assert "solved by no model: 2 of 2" in told and "gold that the oracle does not reach: 0 of 2" in told
