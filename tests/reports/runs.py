"""Run folders made by hand, for tests of what is read from them."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.types import Record, Score

PLANS = "mmau.dag_planning"
"""A task whose samples are right or wrong."""

Outcome = bool | str | None
"""Of an attempt: passed or not, ``broken``, or None for one that was not made."""

OCR = {"state": "ready", "version": 1, "backend": "RapidOCR", "device": "cpu"}
ABOUT: Any = {
    "run": {
        "model": "m1",
        "dialect": "native",
        "scoring": "parity",
        "attempts": 1,
        "agentgauge": "0.1.0",
        "data": {},
        "prompts": {"dialect": ""},
        "options": {"--wild-language": "en"},
    },
    "settings": {"tools": {"OCR": OCR}},
}


def written(folder: Path, tasks: Mapping[str, Mapping[str, Sequence[Outcome]]], *changes: tuple[str, Any]) -> Path:
    """A finished run of tasks of Apple MMAU or WildToolBench: task → sample → outcome of each attempt.

    ``changes``: what else is written, as path with slashes and value.
    """
    about = copy.deepcopy(ABOUT)
    about["run"]["data"] = {task: {"fingerprint": "f"} for task in tasks}
    about["tasks"] = {
        task: {"planned": sum(map(len, samples.values())), "similarity": "", "metrics": {}}
        for task, samples in tasks.items()
    }
    for path, value in changes:
        *way, last = path.split("/")
        place = about
        for key in way:
            place = place[key]
        place[last] = value
    folder.mkdir()
    cases = [
        (task, sample, number, how)
        for task, runs in tasks.items()
        for sample, tries in runs.items()
        for number, how in enumerate(tries, 1)
    ]
    (folder / "planned.json").write_text(
        json.dumps([[task, sample, number, "node"] for task, sample, number, _ in cases])
    )
    lines = (json.dumps(_record(*case).to_json()) for case in cases if case[3] is not None)
    (folder / "records.jsonl").write_text("".join(f"{line}\n" for line in lines))
    (folder / "run.json").write_text(json.dumps({"settings": about["settings"]}))
    (folder / "summary.json").write_text(json.dumps({"run": about["run"], "tasks": about["tasks"]}))
    return folder


def _record(task: str, sample: str, attempt: int, how: Outcome) -> Record:
    if how == "broken":
        return Record(task, sample, attempt, "c", "broken", error="no answer", cause="timeout")
    done = float(bool(how))
    values = {"right": done, "records": 1.0, "format_error": 0.0, "task": 1.0, "task done": done}
    values |= {"Coreferential Reference": 1.0, "Coreferential Reference done": done}
    return Record(task, sample, attempt, "c", "passed" if how else "wrong", score=Score(bool(how), values))
