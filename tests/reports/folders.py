"""Run folders made by hand: a few cases of a task that need not exist."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.types import Event, Record, Score, Transcript, Usage

Ends = Mapping[str, str]
"""Sample → the ends of its attempts, a letter each: ``p`` passed, ``w`` wrong, ``b`` broken, ``-`` not attempted."""

STATUS = {"p": "passed", "w": "wrong", "b": "broken"}


def made(
    folder: Path,
    ends: Ends,
    *,
    model: str = "m",
    task: str = "t",
    tags: Mapping[str, Sequence[str]] | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
    groups: Mapping[str, str] | None = None,
    events: Sequence[Event] = (),
    summary: Mapping[str, Any] | None = None,
) -> Path:
    """Write a run folder with a summary that has what ``load_run`` and the reports ask of it."""
    folder.mkdir(parents=True)
    cases = [(sample, number + 1, end) for sample, letters in ends.items() for number, end in enumerate(letters)]
    records = [
        Record(
            task,
            sample,
            attempt,
            "config",
            STATUS[end],  # type: ignore[arg-type]
            transcript=Transcript(None, tuple(events), Usage(1, 10, 2, 0.0), 1.5),
            score=None
            if end == "b"
            else Score(
                end == "p", {"all": 1.0}, tuple((labels or {}).get(sample, ())), group=(groups or {}).get(sample, "")
            ),
            error="model m: HTTP 500" if end == "b" else None,
            cause="http 500" if end == "b" else None,
            tags=tuple((tags or {}).get(sample, ())),
            finished=1000.0,
        )
        for sample, attempt, end in cases
        if end != "-"
    ]
    (folder / "records.jsonl").write_text("".join(json.dumps(record.to_json()) + "\n" for record in records))
    (folder / "planned.json").write_text(
        json.dumps([[task, sample, attempt, f"test_t.py::test[{sample}]"] for sample, attempt, _ in cases])
    )
    about = {"configs": {task: "config"}, "settings": {"options": {}}, "started": 900.0, "finished": 1100.0}
    (folder / "run.json").write_text(json.dumps(about))
    (folder / "summary.json").write_text(json.dumps(summary or told(model, task, cases)))
    return folder


def told(model: str, task: str, cases: Sequence[tuple[str, int, str]]) -> dict[str, Any]:
    ends = [end for _, _, end in cases]
    part = {
        "planned": len(cases),
        "passed": ends.count("p"),
        "wrong": ends.count("w"),
        "broken": ends.count("b"),
        "missing": ends.count("-"),
    }
    return {
        "run": {
            "model": model,
            "dialect": "native",
            "scoring": "parity",
            "attempts": max(attempt for _, attempt, _ in cases),
            "agentgauge": "0.1.0",
            "options": {},
            "prompts": {},
            "tools": {},
            "data": {task: {"fingerprint": "f"}},
        },
        "tasks": {
            task: {
                **part,
                "metrics": {
                    "Acc": {"value": 50.0, "low": 40.0, "high": 60.0, "n": 2},
                    "None": {"value": None, "low": None, "high": None, "n": 0},
                },
            }
        },
        "capabilities": {},
        "usage": {"requests": 1, "prompt_tokens": 10, "completion_tokens": 2, "usd": 0.0, "seconds": 1.5},
    }
