"""Run folders made by hand, for tests of what is read from them."""

from __future__ import annotations

import base64
import copy
import gzip
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agentgauge_reports.run import sum_up

from agentgauge.core.registry import Registry
from agentgauge.core.task import Task
from agentgauge.core.types import Event, Record, Score, Transcript, Usage
from agentgauge.store import RunFolder
from tests.plugin.toy import TOY

INSTALLED = Registry.installed()


def known(*tasks: Task) -> Registry:
    """The installed tasks and these."""
    return Registry([*INSTALLED, *tasks])


TASKS = known(TOY)

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
    path: Path,
    records: Iterable[Record],
    *,
    tasks: Registry = TASKS,
    model: str = "m",
    missing: Iterable[tuple[str, str]] = (),
) -> Path:
    """A finished run of these records and of cases that were not attempted. ``tasks``: all that are known."""
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
            for option in tasks[n].options
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
        tasks=tasks,
        about=about,
        index_of=lambda task: SimpleNamespace(rows=()),
        scoring="parity",
        similarity={
            name: compared.default(official=False) if (compared := tasks[name].similarity) else "" for name in names
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


def page_data(page: Path, element: str = "data") -> dict[str, Any]:
    """What the page counts, without what depends on the clock; and that: the element ``times``."""
    found = re.search(
        rf'<script type="application/json" id="{element}">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL
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


PLANS = "mmau.dag_planning"
"""A task whose samples are right or wrong."""

Outcome = bool | str | None
"""Of an attempt: passed or not, ``broken``, or None for one that was not made."""

OCR = {"state": "ready", "version": 1, "backend": "RapidOCR", "device": "cpu"}
PLANS_ABOUT: Any = {
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
    about = copy.deepcopy(PLANS_ABOUT)
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
    lines = (json.dumps(_plan_record(*case).to_json()) for case in cases if case[3] is not None)
    (folder / "records.jsonl").write_text("".join(f"{line}\n" for line in lines))
    (folder / "run.json").write_text(json.dumps({"settings": about["settings"]}))
    (folder / "summary.json").write_text(json.dumps({"run": about["run"], "tasks": about["tasks"]}))
    return folder


def _plan_record(task: str, sample: str, attempt: int, how: Outcome) -> Record:
    if how == "broken":
        return Record(task, sample, attempt, "c", "broken", error="no answer", cause="timeout")
    done = float(bool(how))
    values = {"right": done, "records": 1.0, "format_error": 0.0, "task": 1.0, "task done": done}
    values |= {"Coreferential Reference": 1.0, "Coreferential Reference done": done}
    return Record(task, sample, attempt, "c", "passed" if how else "wrong", score=Score(bool(how), values))


# -- a few cases of a task that need not exist

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
