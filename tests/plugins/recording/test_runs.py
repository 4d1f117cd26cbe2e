"""``--record`` and ``--replay`` on the command line."""

from __future__ import annotations

import os
from typing import Any

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--replay", "none.jsonl"), "the cassette none.jsonl cannot be read"),
        (("--replay", "pipe"), "the cassette pipe is a pipe, and only a file can be read at any place; save it"),
        (("--replay", "empty"), "the cassette empty cannot be read (Is a directory)"),
        (("--replay", "other.jsonl"), "other.jsonl, line 1: the settings of the recorded run are damaged"),
        (("--record", "a", "--replay", "b"), "--record and --replay cannot be used together"),
        (("--replay", "a", "--resume", "b"), "--replay and --resume cannot be used together: a resumed run calls a"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(project: Any, arguments: tuple[str, ...], says: str) -> None:
    (project.path / "empty").mkdir()
    os.mkfifo(project.path / "pipe")
    (project.path / "other.jsonl").write_text('{"replies": 2, "settings": {"model": {"name": "m"}}}\n')
    result = project.run(*arguments)
    assert result.status == 4, result.output
    assert says in " ".join(result.output.split())
    assert "Traceback" not in result.output
    assert "collected" not in result.output
    assert len([line for line in result.output.splitlines() if line.startswith("ERROR")]) == 1


def test_a_run_that_cannot_be_recorded_can_be_started_again(project: Any, model: Any) -> None:
    (project.path / "tape.jsonl").write_text("notes")
    result = project.run(*model, "--run-dir=run", "--record=tape.jsonl")
    assert result.status == 4 and "this is not a cassette" in result.output, result.output
    assert not (project.path / "run" / "run.json").exists()
