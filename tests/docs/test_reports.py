"""The commands and programs of docs/reports.md run, on bundled runs."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from agentgauge.cli.main import main
from tests.docs.pages import ROOT, blocks, of_all_plugins, text

PAGE = text("docs/reports.md")
COMMANDS = re.findall(r"^    agentgauge (.+)$", PAGE, re.MULTILINE)
ELSEWHERE = ("score ", "merge ", "view")
"""Commands that need more than a finished run or do not end, and have tests of their own."""


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("mine", "other", "a", "b", "c", "oracle"):
        shutil.copytree(ROOT / "tests/run_folders/2026-11/wild-mmau", tmp_path / "runs" / name)
    return tmp_path / "runs"


@of_all_plugins
@pytest.mark.parametrize("command", [each for each in COMMANDS if not each.startswith(ELSEWHERE)])
def test_each_command_does_something(command: str, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split(command.partition(">")[0])
    if "gta_atomic" in words:
        shutil.rmtree(runs / "mine")
        shutil.copytree(ROOT / "tests/run_folders/2026-11/gta", runs / "mine")
    assert main(words) == 0
    told = capsys.readouterr()
    assert told.out and not told.err
    if "--output" in words:
        assert words[words.index("--output") + 1] in told.out


@pytest.mark.parametrize("program", blocks(PAGE, "python"), ids=range(len(blocks(PAGE, "python"))))
def test_each_program_runs(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(program, "docs/reports.md", "exec"), {})
    assert re.search(r"^50\.0 \(9\.45.* 2 1$|^wild  ", capsys.readouterr().out, re.MULTILINE)
