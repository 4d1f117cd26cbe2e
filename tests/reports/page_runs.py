"""Run folders made by hand for tests of the page: records that a script wrote, summed up by the project's own code."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agentgauge_reports.run import sum_up

from agentgauge.core.capabilities import Similarity, options_of
from agentgauge.core.task_registry import find_task
from agentgauge.core.types import Record, Score, Transcript, Usage
from agentgauge.store import RunFolder

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR42mNoaGjAgxhGpRsaAAewljh5GdCrAAAAAElFTkSuQmCC"
)
"""10 × 10 pixels."""


def record(number, *, events=(), passed=True, output=None, task="toy.say", sample="", attempt=1, tags=("even",)):
    """A case of the toy benchmark; its sample is s and the number."""
    verdict = Score(
        passed, {"right": float(passed), "all": 1.0}, () if passed else ("wrong_answer",), "expected 'a', got 'b'"
    )
    said = Transcript(output, tuple(events), Usage(1, 100, 10), 0.5, number)
    return Record(
        task,
        sample or f"s{number}",
        attempt,
        "c",
        "passed" if passed else "wrong",
        said,
        verdict,
        tags=tags,
        finished=float(number),
    )


def write_run(
    path: Path, records: Iterable[Record], *, model: str = "m", missing: Iterable[tuple[str, str]] = ()
) -> Path:
    """A finished run of these records and of cases that were not attempted."""
    folder = RunFolder(path)
    folder.create()
    plan = {}
    appender = folder.appender("main")
    for record in records:
        appender.append(record)
        plan[record.task, record.sample, record.attempt] = f"x.py::test[{record.sample}]"
    appender.close()
    plan |= {(task, sample, 1): f"x.py::test[{sample}]" for task, sample in missing}
    names = list(dict.fromkeys(task for task, _, _ in plan))
    about: dict[str, Any] = {
        "model": model,
        "dialect": "native",
        "scoring": "parity",
        "attempts": 1,
        "agentgauge": "0.1.0",
        "data": {name: {"official": False, "fingerprint": "f", "samples": len(plan), "left_out": []} for name in names},
        "prompts": {},
        "tools": {},
        "tool_set": None,
        "options": {
            option.name: option.accepted[0] if option.accepted else option.default
            for n in names
            for option in options_of(find_task(n))
        },
    }
    folder.write_plan(plan)
    folder.write_json(
        "run.json",
        {
            "configs": dict.fromkeys(names, "c"),
            "settings": {"data": "mini", "options": {}, "tools": {}, "attempts": 1},
            "started": 1.0,
            "finished": 9.0,
        },
    )
    outlines = folder.merge_records(plan)
    sum_up(
        folder,
        list(plan),
        outlines,
        about=about,
        index_of=lambda task: SimpleNamespace(rows=()),
        scoring="parity",
        similarity={
            name: task.default_similarity(official=False) if isinstance(task := find_task(name), Similarity) else ""
            for name in names
        },
    )
    return path


def combined_run(path: Path) -> Path:
    """A run of one task of Apple MMAU, with scores of several tasks: with an interval, without one, and incomplete."""
    cases = [record(number, task="mmau.math_standard", passed=number > 0) for number in range(2)]
    file = write_run(path, cases) / "summary.json"
    summary = json.loads(file.read_text())
    summary["capabilities"]["Apple MMAU"] = {
        "domains": {"math": {"value": 40.0, "missing": [], "low": 30.0, "high": 50.0}},
        "capabilities": {
            "reasoning": {"value": 41.0, "missing": []},
            "planning": {"value": None, "missing": ["x"], "low": None, "high": None},
        },
    }
    file.write_text(json.dumps(summary))
    return path


def mostly_broken_run(path: Path) -> Path:
    """A run of two samples in two attempts each, of which three cases are broken; with a breakdown."""
    cases = [record(number, attempt=attempt) for number in range(2) for attempt in (1, 2)]
    broken = [replace(case, status="broken", score=None, error="HTTP 500", cause="http 500") for case in cases[1:]]
    file = write_run(path, [cases[0], *broken]) / "summary.json"
    summary = json.loads(file.read_text())
    row = {"name": "odd", "cells": [{"value": 100.0, "n": 1}]}
    about = {"title": "By kind", "what": "kind", "columns": ["passed"], "counts": [], "heat": False, "note": ""}
    summary["tasks"]["toy.say"]["breakdowns"] = [about | {"rows": [row]}]
    file.write_text(json.dumps(summary))
    return path


def page_data(page: Path) -> dict[str, Any]:
    """What the page counts, without what depends on the clock."""
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL
    )
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def chunks(page: Path) -> list[list[Mapping[str, Any]]]:
    """The transcripts beside a page."""
    files = sorted(page.with_name(f"{page.stem}-data").glob("*.js"), key=lambda file: int(file.stem))
    texts = [
        re.fullmatch(r'agentgaugeChunk\((\d+), "([A-Za-z0-9+/=]*)"\);\n', file.read_text(encoding="ascii"))
        for file in files
    ]
    return [json.loads(gzip.decompress(base64.b64decode(text[2]))) for text in texts if text]
