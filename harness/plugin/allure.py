"""Allure results of benchmark cases: labels, the steps of the transcript with their own times, attachments.

allure-pytest writes the results; this adds what only the record knows. Its decorators time things as they happen, and
a case was solved before pytest came to it, so steps are put into the result as data.
"""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import allure
import pytest
from allure_commons.model2 import Parameter, Status, StatusDetails, TestStepResult

from harness.plugin.options import Settings
from harness.plugin.worker import PLANNED, RECORD
from harness.task import Task
from harness.types import RUN_TOKEN, Event, Record, Transcript

MAX_PARAMETER = 200
"""Characters of an argument or a reply that a step shows; the attachment has all of it."""

CATEGORIES = [
    {"name": "Wrong answers", "matchedStatuses": ["failed"]},
    {"name": "Endpoint faults", "matchedStatuses": ["broken"], "messageRegex": "(?s).*(endpoint|http \\d|time-?out|connection).*"},
    {"name": "Tool faults", "matchedStatuses": ["broken"], "messageRegex": "(?s).*tool.*"},
    {"name": "Other faults", "matchedStatuses": ["broken"]},
]


class AllureSide:
    """Registered where cases run and ``--alluredir`` is given."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Runs after the verdict is known and before allure-pytest closes the result."""
        record = item.stash.get(RECORD, None)
        listener = self.config.pluginmanager.get_plugin("allure_listener")
        if record is None or listener is None:
            return
        task = item.stash[PLANNED].task
        story = task.story(record.tags)
        allure.dynamic.epic(task.benchmark)
        allure.dynamic.feature(task.title)
        allure.dynamic.story(story)
        allure.dynamic.tag(*record.tags, *(record.score.labels if record.score else ()))
        allure.dynamic.parameter("model", self.settings.model.name)
        if record.attempt > 1:
            allure.dynamic.parameter("attempt", record.attempt)
        result = listener.allure_logger.get_test(None)
        result.titlePath = list(dict.fromkeys((task.benchmark, task.title, story)))  # the tree: not by our files
        if record.status == "broken":
            result.status = Status.BROKEN  # allure-pytest takes pytest's short form of an error for a failed assertion
        if record.status != "passed":
            result.statusDetails = StatusDetails(message=record.score.explanation if record.score else record.error)
        result.name = f"{record.task} {record.sample}" + (f" (attempt {record.attempt})" if record.attempt > 1 else "")
        if transcript := record.transcript:
            result.steps = [_step(event) for event in transcript.events]
            if transcript.events:
                result.start = _milliseconds(transcript.events[0].start)
                result.stop = result.start + _milliseconds(transcript.seconds)
            allure.attach(_compact(record), "transcript", allure.attachment_type.JSON)
            shown = self._exhibits(task, record)
            for path in shown or (self._pictures(transcript) if record.status != "passed" else ()):
                allure.attach.file(str(path), path.name, mimetypes.guess_type(path.name)[0], path.suffix.lstrip("."))

    def _exhibits(self, task: Task, record: Record) -> list[Path]:
        """Put pages that stand for the case into its description; returns the files."""
        if record.transcript is None or record.score is None:
            return []
        exhibits = task.exhibits(record.transcript.output, record.score)
        if pages := [exhibit.html for exhibit in exhibits if exhibit.html]:
            allure.dynamic.description_html("".join(pages))
        folder = str(self.settings.rescore or self.settings.run_dir)
        files = (Path(exhibit.path.replace(RUN_TOKEN, folder)) for exhibit in exhibits if exhibit.path)
        return [path for path in files if path.is_file()]

    def _pictures(self, transcript: Transcript) -> Iterator[Path]:
        """Pictures that tools made in this case."""
        for event in transcript.events:
            for output in event.detail.get("result", ()):
                if output["type"] == "image":
                    path = Path(output["content"].replace(RUN_TOKEN, str(self.settings.run_dir)))
                    if path.is_file():
                        yield path


def write_run_files(folder: Path, about: Mapping[str, Any]) -> None:
    """``environment.properties`` and ``categories.json``: once per run, by the controller."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{key}={value}" for key, value in about.items() if not isinstance(value, dict)]
    lines += [f"data.{name}={'official' if data['official'] else 'bundled'} {data['fingerprint']}" for name, data in about["data"].items()]
    lines += [f"tool.{name}={state}" for name, state in about["tools"].items()]
    (folder / "environment.properties").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "categories.json").write_text(json.dumps(CATEGORIES, indent=2) + "\n", encoding="utf-8")


def _step(event: Event) -> TestStepResult:
    detail = event.detail
    if event.kind == "model":
        title, shown = f"model: {_first_line(detail)}", {"reply": reply} if (reply := detail.get("reply")) else {}
        shown |= {f"call {call['name']}": call["arguments"] for call in detail.get("tool_calls", ())}
    else:
        title, shown = f"tool: {event.name}", {name: str(value) for name, value in detail.get("arguments", {}).items()}
        shown |= {f"result {number}": output["content"] for number, output in enumerate(detail.get("result", ()), 1)}
    start = _milliseconds(event.start)
    return TestStepResult(
        name=title,
        status=Status.BROKEN if event.error else Status.PASSED,
        statusDetails=StatusDetails(message=event.error) if event.error else None,
        parameters=[Parameter(name=name, value=_short(value)) for name, value in shown.items()],
        start=start,
        stop=start + _milliseconds(event.seconds),
    )


def _first_line(detail: Mapping[str, Any]) -> str:
    calls = [call["name"] for call in detail.get("tool_calls", ())]
    text = ", ".join(calls) or (detail.get("reply") or "(empty)").strip().split("\n", 1)[0]
    return text if len(text) <= 60 else text[:59] + "…"


def _compact(record: Record) -> str:
    data = {
        "case": [record.task, record.sample, record.attempt],
        "status": record.status,
        "error": record.error,
        "score": asdict(record.score) if record.score else None,
        "usage": asdict(record.transcript.usage) if record.transcript else None,
        "events": [asdict(event) for event in record.transcript.events] if record.transcript else [],
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _short(text: str) -> str:
    return text if len(text) <= MAX_PARAMETER else text[: MAX_PARAMETER - 1] + "…"


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
