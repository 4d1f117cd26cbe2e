"""A run as Allure results, and the dashboard that Allure makes of them.

The results are written from the run's folder alone, so that a run with ``--alluredir`` and ``agentgauge report
--allure`` leave the same files. Names and ids are computed from the cases, so results that are written again replace
the earlier ones.
"""

from __future__ import annotations

import json
import os
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import write_whole
from agentgauge.core.registry import Registry
from agentgauge.core.task import Task
from agentgauge.core.text import clean, counted
from agentgauge.core.tracebacks import traceback_text
from agentgauge.core.types import Event, Record, Scoring
from agentgauge.run.hooks import hooks_of
from agentgauge.store.jsonl import CaseOutline
from agentgauge_reports.allure.content import SPACE, Attachments, milliseconds, steps
from agentgauge_reports.allure.dashboard import make_dashboard
from agentgauge_reports.allure.identity import Identity, allure_id, digest
from agentgauge_reports.allure.own import OwnContent
from agentgauge_reports.allure.run_files import DASHBOARD, JsonFile, run_files
from agentgauge_reports.case_text import content_text, transcript
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
    return "\n".join([f"Allure results of {counted(count, 'case')} are in {folder}", *dashboard])


def write_run(
    run: Path,
    folder: Path,
    tell: Tell = lambda **_: None,
    *,
    tasks: Registry,
    omitted: Omitted | None = None,
    is_live: bool = False,
) -> int:
    """Write the results of every planned case, and what they share. Returns the number of cases.

    ``tell`` is called with each ``result`` and its ``record`` before the result is written, and may change it.
    ``tasks``: all that are known. ``is_live``: in the run's own session, where allure-pytest writes the results of a
    project's own tests.

    A case that cannot be shown gets a result with the reason; ``omitted`` collects these cases.

    Raises UsageProblem where ``run`` is no finished run or ``folder`` cannot be written.
    """
    loaded = load_run(run, tasks=tasks, tolerant=True)
    omitted = Omitted() if omitted is None else omitted
    omitted.problems += loaded.problems
    try:
        folder.mkdir(parents=True, exist_ok=True)
        cases = [case for case in loaded.cases if not (is_live and loaded.tasks[case.task].data.in_run_folder)]
        writer = CaseWriter(loaded, folder, Counter(case.task for case in cases), is_live=is_live)
        with loaded.reading() as read:
            for case in cases:
                try:
                    data = writer.result(case, read, tell)
                    text = _encoded(data)
                except Exception as error:  # whatever is in a record, the others are shown
                    data = writer.omitted(case, omitted.add(f"{case.task} {case.sample}", error))
                    text = _encoded(data)
                (folder / f"{data['uuid']}-result.json").write_bytes(text)
        for name, content in chain(writer.containers(cases), run_files(loaded, writer.identity, folder)):
            text = content.encode("utf-8") if isinstance(content, str) else _encoded(content, indent=2)
            write_whole(folder / name, text)
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


class CaseWriter:
    """Makes the results of a run's cases, and copies their attachments."""

    def __init__(self, run: Run, folder: Path, cases: Mapping[str, int], *, is_live: bool) -> None:
        """``cases``: task → number of its cases. ``is_live``: see ``write_run``."""
        self.run = run
        self.identity = Identity.of(run)
        self._page = page(run, folder)
        self._attachments = Attachments(run, folder, cases)
        self._own = OwnContent(run.path, folder, is_live=is_live)

    def result(self, case: CaseOutline, read: Reader, tell: Tell) -> dict[str, Any]:
        """The result of a case as Allure reads it. Its attachments are written."""
        run, limits = self.run, self._attachments.limits
        data = self._outline(case)
        if case.status == "missing":
            why = run.summary.get("why_missing")  # runs of earlier versions do not say it
            data["statusDetails"] = {"message": line(f"not attempted: {why}", 500) if why else "not attempted"}
        else:
            record = read(case)
            if kind := kind_of(case, run.tasks):
                explanation = record.error if case.status == "broken" else record.score and record.score.explanation
                message = cut(f"{TITLES[kind]}: {explanation or 'nothing more is known'}", limits.message)
                trace = cut(traceback_text(record.traceback, "short"), limits.transcript)
                data["statusDetails"] = {"message": message, **({"trace": trace} if trace else {})}
            scoring = run.summary["run"]["scoring"]
            data |= _attempted(data, run.tasks[case.task], record, self._attachments, scoring)
        self._own.add_to(data, case.id)
        if case.status != "missing":
            tell(result=data, record=record)
        return data

    def omitted(self, case: CaseOutline, why: str) -> dict[str, Any]:
        """The result of a case that cannot be shown: its outline, and ``why``."""
        shown = {"statusDetails": {"message": why}, "descriptionHtml": f"<p>{escape(why)}</p>"}
        return self._outline(case) | shown

    def containers(self, cases: Iterable[CaseOutline]) -> Iterator[tuple[str, JsonFile]]:
        """File name → what fixtures of the project did for these cases."""
        uuids = {allure_id(case.id): self._uuid(case) for case in cases}
        for container in self._own.containers(uuids):
            container["uuid"] = str(uuid.uuid5(SPACE, f"{self.identity.digest}/{container['uuid']}"))
            yield f"{container['uuid']}-container.json", container

    def _uuid(self, case: CaseOutline) -> str:
        return str(uuid.uuid5(SPACE, f"{self.identity.digest}/{allure_id(case.id)}"))

    def _outline(self, case: CaseOutline) -> dict[str, Any]:
        run, same = self.run, self.identity
        shown = run.tasks[case.task].shown
        category = shown.category_of(case.tags) if case.tags else shown.title
        url = self._page + anchor(case.id)
        kind = kind_of(case, run.tasks)
        data = dict(same.data).get(case.task, "")
        of = {"model": same.model, "dialect": same.dialect, "data": data, "selection": same.selection}
        attempt = {"attempt": str(case.attempt)} if case.attempt > 1 else {}
        labels = [
            ("ALLURE_ID", allure_id(case.id)), ("severity", shown.severity),
            ("epic", shown.benchmark), ("feature", shown.title), ("story", category),
            *(("parentSuite", name) for name in capabilities_of(case, run.tasks)),
            ("suite", f"{shown.benchmark}: {shown.title}"), ("subSuite", same.name),
            ("task", case.task), *([("fault", kind)] if kind else []),
            *(("why", label) for label in (case.score.labels if case.score else ())),
            *(("tag", tag) for tag in case.tags if tag != category),
            ("environment", same.name), *of.items(), ("framework", "agentgauge"),
        ]  # fmt: skip
        node = clean(run.nodes.get(case.id, ""))
        return {
            "uuid": self._uuid(case),
            "name": line(_title(case), TITLE),  # its task is above it in both trees
            "fullName": node or line(f"{case.task}/{case.sample}", 300),
            "testCaseId": allure_id(case.id),
            "historyId": digest(f"{same.digest}/{allure_id(case.id)}"),
            "titlePath": list(dict.fromkeys(map(clean, (same.name, shown.benchmark, shown.title, category)))),
            "status": STATUS[case.status],
            "start": milliseconds(max(0.0, case.finished - case.seconds)),
            "stop": milliseconds(case.finished),
            "parameters": [{"name": name, "value": value} for name, value in {**of, **attempt}.items()],
            "labels": [{"name": name, "value": line(value, 200)} for name, value in dict.fromkeys(labels)],
            "links": [{"name": url, "url": url, "type": "link"}],
            "descriptionHtml": f"<p><code>{escape(node)}</code></p>" if node else "",
        }


TITLE, QUESTION = 150, 4_000
"""Characters of a title, and bytes of a question."""


def _title(case: CaseOutline) -> str:
    attempt = f" (attempt {case.attempt})" if case.attempt > 1 else ""
    sample = f"sample {case.sample}" if case.sample.isdecimal() else case.sample
    return f"{sample}{attempt}"


def _question(events: Sequence[Event]) -> str:
    """What the tested model was asked: the last message of a user in the first request."""
    messages = next((event.detail.get("messages", ()) for event in events if event.kind == "model"), ())
    asked = [message for message in messages if message["role"] == "user"]
    return content_text(asked[-1].get("content") or "").strip() if asked else ""


def _attempted(
    outline: Mapping[str, Any], task: Task, record: Record, attachments: Attachments, scoring: Scoring
) -> dict[str, Any]:
    """Title, description, steps, times and attachments of a case that was attempted."""
    recorded = record.transcript
    if recorded is None:
        return {}
    shows = record.score and recorded.output is not None
    artifacts = task.shown.artifacts(recorded.output, record.score, scoring) if shows else ()
    shown = [artifact.path for artifact in artifacts if artifact.path]
    if not shown and record.status != "passed":
        shown = _pictures(recorded.events)
    one = outline["uuid"]
    files, left_out = attachments.files(one, record, shown)
    usage = recorded.usage
    tokens = f"{usage.prompt_tokens} + {usage.completion_tokens} tokens"
    facts = f"{counted(usage.requests, 'request')}, {tokens}, {recorded.seconds:.1f} s"
    if (waited := recorded.times.get("slots", 0.0)) >= 0.05:
        facts += f", {waited:.1f} s of them waiting for a slot"
    facts += f", {usage.usd:.4f} US dollars" if usage.usd else ""
    pages = [artifact.html for artifact in artifacts if artifact.html]
    question = _question(recorded.events)
    asked = cut(question, min(QUESTION, attachments.limits.message))
    described: dict[str, Any] = {
        "name": line(f"{outline['name']}: {question}" if question else outline["name"], TITLE),
        "descriptionHtml": clean(
            "".join(
                [
                    *([f'<p style="white-space: pre-wrap">{escape(asked)}</p>'] if asked else []),
                    *pages,
                    *(f"<p>{escape(text)}</p>" for text in (facts, *left_out)),
                    outline["descriptionHtml"],
                ]
            )
        ),
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
