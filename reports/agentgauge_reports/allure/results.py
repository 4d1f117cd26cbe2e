"""A run as Allure results, and the dashboard that Allure makes of them.

The results are written from the run's folder alone, so that a run with ``--alluredir`` and ``agentgauge report
--allure`` leave the same files. Names and ids are computed from the cases, so results that are written again replace
the earlier ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agentgauge.core.errors import UsageProblem
from agentgauge.core.registry import Registry
from agentgauge.core.task import Task
from agentgauge.core.text import clean
from agentgauge.core.tracebacks import traceback_text
from agentgauge.core.types import Event, Record, Scoring
from agentgauge.run.hooks import hooks_of
from agentgauge.store.jsonl import CaseOutline
from agentgauge_reports.allure.content import SPACE, Attachments, milliseconds, steps, transcript
from agentgauge_reports.allure.dashboard import DASHBOARD, make_dashboard, run_files
from agentgauge_reports.grouping import TITLES, capabilities_of, kind_of
from agentgauge_reports.load import Omitted, Reader, Run, load_run
from agentgauge_reports.text import anchor, cut, line

Tell = Callable[..., None]
"""Called with ``result=`` and ``record=``."""


def write_results(run: Path, folder: Path, *, tasks: Registry, omitted: Omitted | None = None) -> str:
    """Write a run's results, and the dashboard where the ``allure`` command is found. ``tasks``: all that are
    known. Returns lines for the user.

    Raises UsageProblem if ``run`` is no finished run, if ``folder`` cannot be written, or if ``allure`` fails.
    """
    tell = partial(hooks_of().tell_now, "pytest_agentgauge_allure_result")  # of installed packages
    count = write_run(run, folder, tell, tasks=tasks, omitted=omitted)
    dashboard = make_dashboard(load_run(run, tasks=tasks, tolerant=True), folder)
    return "\n".join([f"Allure results of {count} cases are in {folder}", *dashboard])


def write_run(
    run: Path,
    folder: Path,
    tell: Tell = lambda **_: None,
    *,
    tasks: Registry,
    omitted: Omitted | None = None,
    own_tests: bool = True,
) -> int:
    """Write the results of every planned case, and what they share. Returns the number of cases.

    ``tell`` is called with each ``result`` and its ``record`` before the result is written, and may change it.
    ``tasks``: all that are known. ``own_tests``: also write the results of a project's own tests, which allure-pytest
    writes, too.

    A case that cannot be shown gets a result with the reason; ``omitted`` collects these cases.

    Raises UsageProblem where ``run`` is no finished run or ``folder`` cannot be written.
    """
    loaded = load_run(run, tasks=tasks, tolerant=True)
    omitted = Omitted() if omitted is None else omitted
    omitted.problems += loaded.problems
    try:
        folder.mkdir(parents=True, exist_ok=True)
        cases = [case for case in loaded.cases if own_tests or not loaded.tasks[case.task].data.in_run_folder]
        attachments = Attachments(loaded, folder, Counter(case.task for case in cases))
        with loaded.reading() as read:
            for case in cases:
                try:
                    data = result(loaded, case, attachments, read, tell)
                    text = _encoded(data)
                except Exception as error:  # whatever is in a record, the others are shown
                    data = omitted_result(loaded, case, attachments, omitted.add(f"{case.task} {case.sample}", error))
                    text = _encoded(data)
                (folder / f"{data['uuid']}-result.json").write_bytes(text)
        for name, content in run_files(loaded, folder).items():
            text = content.encode("utf-8") if isinstance(content, str) else _encoded(content, indent=2)
            (folder / name).write_bytes(text)
    except OSError as error:
        raise UsageProblem(
            f"{folder} cannot be written ({error.strerror}); name another folder for the Allure results"
        ) from None
    return len(cases)


def _encoded(data: Mapping[str, Any] | list[Any], indent: int | None = None) -> bytes:
    separators = (",", ":") if indent is None else None
    text = json.dumps(data, ensure_ascii=False, indent=indent, separators=separators)
    return text.encode("utf-8", "replace")  # a model may have written half a character


# -- one case as a result

STATUS = {"passed": "passed", "wrong": "failed", "broken": "broken", "missing": "skipped"}
"""Our statuses in Allure's words."""


def result(run: Run, case: CaseOutline, attachments: Attachments, read: Reader, tell: Tell) -> dict[str, Any]:
    """The result of a case as Allure reads it. Its attachments are written."""
    data = _outline(run, case, attachments)
    if case.status == "missing":
        why = run.summary.get("why_missing")  # runs of earlier versions do not say it
        return data | {"statusDetails": {"message": line(f"not attempted: {why}", 500) if why else "not attempted"}}
    record = read(case)
    if kind := kind_of(case, run.tasks):
        explanation = record.error if case.status == "broken" else record.score and record.score.explanation
        message = cut(f"{TITLES[kind]}: {explanation or 'nothing more is known'}", attachments.limits.message)
        trace = cut(traceback_text(record.traceback, "short"), attachments.limits.transcript)
        data["statusDetails"] = {"message": message, **({"trace": trace} if trace else {})}
    scoring = run.summary["run"]["scoring"]
    data |= _attempted(_name(run, case), run.tasks[case.task], record, attachments, scoring)
    tell(result=data, record=record)
    return data


def omitted_result(run: Run, case: CaseOutline, attachments: Attachments, why: str) -> dict[str, Any]:
    """The result of a case that cannot be shown: its outline, and ``why``."""
    shown = {"statusDetails": {"message": why}, "descriptionHtml": f"<p>{escape(why)}</p>"}
    return _outline(run, case, attachments) | shown


def _name(run: Run, case: CaseOutline) -> str:
    return f"{run.model}/{case.task}/{case.sample}/{case.attempt}".encode("utf-8", "backslashreplace").decode()


def _outline(run: Run, case: CaseOutline, attachments: Attachments) -> dict[str, Any]:
    shown = run.tasks[case.task].shown
    category = shown.category_of(case.tags) if case.tags else shown.title
    attempt = f" (attempt {case.attempt})" if case.attempt > 1 else ""
    sample = f"sample {case.sample}" if case.sample.isdecimal() else case.sample
    test = f"{case.task}/{case.sample}"
    one = _name(run, case)
    url = page(run, attachments.folder) + anchor(case.id)
    kind = kind_of(case, run.tasks)
    parameters = {"model": line(run.model, 200)} | ({"attempt": str(case.attempt)} if case.attempt > 1 else {})
    labels = [
        ("epic", shown.benchmark), ("feature", shown.title), ("story", category),
        *(("parentSuite", name) for name in capabilities_of(case, run.tasks)),
        ("suite", f"{shown.benchmark}: {shown.title}"),
        ("task", case.task), *([("fault", kind)] if kind else []),
        *(("why", label) for label in (case.score.labels if case.score else ())),
        *(("tag", tag) for tag in case.tags if tag != category),
    ]  # fmt: skip
    return {
        "uuid": str(uuid.uuid5(SPACE, one)),
        "name": line(f"{sample}{attempt}", 150),  # its task is above it in both trees
        "fullName": line(test, 300),
        "testCaseId": _digest(test),
        "historyId": _digest(one),
        "titlePath": list(dict.fromkeys(clean(part) for part in (shown.benchmark, shown.title, category))),
        "status": STATUS[case.status],
        "start": milliseconds(max(0.0, case.finished - case.seconds)),
        "stop": milliseconds(case.finished),
        "parameters": [{"name": name, "value": value} for name, value in parameters.items()],
        "labels": [{"name": name, "value": line(value, 200)} for name, value in dict.fromkeys(labels)],
        "links": [{"name": url, "url": url, "type": "link"}],
    }


def _attempted(one: str, task: Task, record: Record, attachments: Attachments, scoring: Scoring) -> dict[str, Any]:
    """Description, steps, times and attachments of a case that was attempted."""
    recorded = record.transcript
    if recorded is None:
        return {}
    shows = record.score and recorded.output is not None
    artifacts = task.shown.artifacts(recorded.output, record.score, scoring) if shows else ()
    shown = [artifact.path for artifact in artifacts if artifact.path]
    if not shown and record.status != "passed":
        shown = _pictures(recorded.events)
    files, left_out = attachments.files(one, record, shown)
    usage = recorded.usage
    facts = (
        f"{usage.requests} requests, {usage.prompt_tokens} + {usage.completion_tokens} tokens, {recorded.seconds:.1f} s"
    )
    facts += (
        f", {waited:.1f} s of them waiting for a slot" if (waited := recorded.times.get("slots", 0.0)) >= 0.05 else ""
    )
    facts += f", {usage.usd:.4f} US dollars" if usage.usd else ""
    pages = [artifact.html for artifact in artifacts if artifact.html]
    described: dict[str, Any] = {
        "descriptionHtml": clean("".join([*pages, *(f"<p>{escape(text)}</p>" for text in (facts, *left_out))])),
        "attachments": [
            attachments.text(
                one, "transcript", _transcript_text(record, recorded.events, attachments.limits.transcript)
            ),
            *files,
        ],
    }
    if recorded.events:
        start = milliseconds(recorded.events[0].start)
        described["steps"] = steps(recorded.events, attachments.limits.steps)
        described |= {"start": start, "stop": start + milliseconds(recorded.seconds)}
    return described


def _transcript_text(record: Record, events: Sequence[Event], limit: int) -> str:
    verdict = record.error or (record.score.explanation if record.score else "")
    title = f"{record.task} {record.sample}, attempt {record.attempt}: {record.status}"
    head = cut(f"{title}\n{verdict}".rstrip(), limit // 3)
    return f"{head}\n\n{transcript(events, limit - len(head))}\n"


def _pictures(events: Sequence[Event]) -> list[str]:
    """Pictures that tools made."""
    outputs = (output for event in events for output in event.detail.get("result", ()))
    return [str(output["content"]) for output in outputs if output["type"] == "image"]


def page(run: Run, folder: Path) -> str:
    """The run's ``report.html`` as seen from a report of the dashboard below ``folder``."""
    there = (folder / DASHBOARD / "report").absolute()
    return quote(Path(os.path.relpath((run.path / "report.html").absolute(), there)).as_posix(), errors="replace")


def _digest(text: str) -> str:
    return hashlib.md5(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
