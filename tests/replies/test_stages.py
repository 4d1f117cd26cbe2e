"""Checkpoints of unfinished cases: found again in a resumed run, dropped once the case has finished."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.case import Checkpoint
from agentgauge.core.placeholders import PathPlaceholders
from agentgauge.core.types import Event, Usage
from agentgauge.replies.stages import EARLIER, FILE, Stages, remove_stages
from agentgauge.store import RunFolder

CASE = ("toy.say", "a/b", 2)
EVENT = Event("model", "m", 1.5, 0.25, {"known": 0, "path": "/data/x.png"}, None)
DONE = Checkpoint({"answer": ["/data/x.png"]}, (EVENT,), Usage(1, 2, 3, 0.5), 4)


def placed(folder: str) -> PathPlaceholders:
    return PathPlaceholders({folder: "{ROOT}"})


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    return folder


def test_a_checkpoint_is_found_by_another_process_and_elsewhere(run: RunFolder) -> None:
    ours = Stages(run)
    assert ours.find(CASE, "c", placed("/data")) is None
    ours.keep(CASE, "c", placed("/data"), Checkpoint("earlier", (), Usage(), 1))
    ours.keep(CASE, "c", placed("/data"), DONE)
    assert "/data/" not in (run.path / FILE).read_text()
    assert ours.find(CASE, "c", placed("/data")) == Stages(run).find(CASE, "c", placed("/data")) == DONE
    moved = Stages(run).find(CASE, "c", placed("/there"))
    assert moved and moved.output == {"answer": ["/there/x.png"]} and moved.events[0].detail["path"] == "/there/x.png"
    for case, config in ((CASE, "other"), ((*CASE[:2], 1), "c")):
        assert ours.find(case, config, placed("/data")) is None


def test_what_has_finished_is_dropped(run: RunFolder) -> None:
    stages = Stages(run)
    stages.drop(CASE, "c")
    assert not (run.path / FILE).exists()
    stages.keep(CASE, "c", placed("/data"), DONE)
    stages.drop(CASE, "c")
    assert stages.find(CASE, "c", placed("/data")) is None
    stages.keep(CASE, "c", placed("/data"), DONE)
    assert stages.find(CASE, "c", placed("/data")) == DONE
    remove_stages(run.path)
    remove_stages(run.path)
    assert not list(run.path.iterdir()) and Stages(run).find(CASE, "c", placed("/data")) is None


def earlier(run: RunFolder, data: Any) -> Path:
    """The file of an earlier version."""
    file = run.path / EARLIER / "toy.say" / "a%2Fb-a2.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(data if isinstance(data, str) else json.dumps(data))
    return file


EARLIER_DATA = {
    "config": "c",
    "output": {"answer": ["{ROOT}/x.png"]},
    "events": [
        {
            **{"kind": "model", "name": "m", "start": 1.5, "seconds": 0.25},
            **{"detail": {"known": 0, "path": "{ROOT}/x.png"}, "error": None},
        }
    ],
    "usage": {"requests": 1, "prompt_tokens": 2, "completion_tokens": 3, "usd": 0.5},
    "turn": 4,
}


def test_a_checkpoint_of_an_earlier_version_is_found(run: RunFolder, tmp_path: Path) -> None:
    earlier(run, EARLIER_DATA)
    stages = Stages(run)
    assert stages.find(CASE, "c", placed("/data")) == DONE
    assert stages.find(CASE, "other", placed("/data")) is None
    merged = RunFolder(tmp_path / "merged")
    merged.path.mkdir()
    Stages(merged).take(stages, CASE, "c")
    assert Stages(merged).find(CASE, "c", placed("/data")) == DONE
    stages.drop(CASE, "c")
    assert stages.find(CASE, "c", placed("/data")) is None
    remove_stages(run.path)
    assert not list(run.path.iterdir())


@pytest.mark.parametrize("data", ["", "[", "[]", '{"config": "c"}', '{"config": "c", "events": 7}', "[" * 100_000])
def test_a_checkpoint_that_cannot_be_used_is_none(run: RunFolder, data: str) -> None:
    stages = Stages(run)
    earlier(run, data)
    assert stages.find(CASE, "c", placed("/data")) is None
    stages.keep(CASE, "c", placed("/data"), DONE)
    whole = (run.path / FILE).read_text()
    for broken in (whole.replace('"events": [{', '"events": [{"x": 1, '), whole.replace('"turn"', '"turns"'), "x"):
        (run.path / FILE).write_text(broken)
        assert Stages(run).find(CASE, "c", placed("/data")) is None
    (run.path / FILE).unlink()
    (run.path / FILE).mkdir()
    assert Stages(run).find(CASE, "c", placed("/data")) is None
