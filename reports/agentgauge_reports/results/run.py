"""A finished run, read again from its folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.reply_ends import TESTED
from agentgauge.core.types import Event, Record
from agentgauge.store.jsonl import UNREADABLE, CaseId
from agentgauge_reports.load import CaseOutline, Reader, Run, load_run
from agentgauge_reports.results.metrics import Metrics
from agentgauge_reports.results.rows import CallResult, SampleResult
from agentgauge_reports.results.table import RowList, Table
from agentgauge_reports.taxonomy import kind_of
from agentgauge_reports.unshown import Unshown


def read_run(folder: str | PathLike[str]) -> FinishedRun:
    """Read a finished run: its figures and, in outline, its cases. Transcripts are read while ``calls`` is iterated.

    Raises UsageProblem if the folder holds no finished run, and for a damaged record.
    """
    return FinishedRun(load_run(Path(folder)))


class FinishedRun:
    """A finished run.

    ``metrics``: its figures, by key or by iteration. ``samples``: the outcome of each case, in the order of the plan,
    including cases that were not attempted. ``calls``: the exchanges with models and tools, case by case.
    """

    def __init__(self, run: Run, unshown: Unshown | None = None) -> None:
        """``unshown``: collects the cases whose record cannot be read; without it they raise UsageProblem."""
        self._run = run
        self._unshown = unshown
        self.path = run.path
        self.model = run.model
        self.summary: Mapping[str, Any] = run.summary  # what summary.json holds
        self.about: Mapping[str, Any] = run.about  # what run.json holds
        self.metrics = Metrics(run.summary)
        self.samples = RowList(SampleResult, len(run.cases), lambda place: _sample(run.cases[place]))
        self.calls: Table[CallResult] = Table(CallResult, self._calls)

    def __repr__(self) -> str:
        return f"<run of {self.model} in {self.path}: {len(self._run.cases)} cases>"

    def record(self, sample: SampleResult) -> Record:
        """The full record of a case: its transcript, and its score with the explanation.

        Raises UsageProblem for a case that was not attempted, and for a record that cannot be read.
        """
        name = (sample.task, sample.sample, sample.attempt)
        case = self._cases.get(name)
        if case is None or case.start < 0:
            raise UsageProblem(f"{self.path} has no record of {' '.join(map(str, name))}, which was not attempted")
        with self._run.reading() as read:
            return _read(read, case)

    @cached_property
    def _cases(self) -> Mapping[CaseId, CaseOutline]:
        return {case.id: case for case in self._run.cases}

    def _calls(self) -> Iterator[CallResult]:
        with self._run.reading() as read:
            for case in self._run.cases:
                yield from self._calls_of(case, read) if case.start >= 0 else ()

    def _calls_of(self, case: CaseOutline, read: Reader) -> list[CallResult]:
        try:
            transcript = _read(read, case).transcript
            events = transcript.events if transcript else ()
            return [_call(case, number, event) for number, event in enumerate(events, 1)]
        except (UsageProblem, *UNREADABLE) as error:
            problem = error if isinstance(error, UsageProblem) else _unreadable(case, error)
            if self._unshown is None:
                raise problem from None
            self._unshown.add(f"{case.task} {case.sample}", problem)
            return []


def _read(read: Reader, case: CaseOutline) -> Record:
    try:
        return read(case)
    except ValueError as error:
        raise _unreadable(case, error) from None


def _unreadable(case: CaseOutline, error: Exception) -> UsageProblem:
    return UsageProblem(
        f"{case.file}: the record of {case.task} {case.sample}, attempt {case.attempt}, cannot be read: {error};"
        " run this case again with --resume"
    )


def _sample(case: CaseOutline) -> SampleResult:
    ended = case.status in ("passed", "wrong")
    return SampleResult(
        task=case.task,
        sample=case.sample,
        attempt=case.attempt,
        status=case.status,
        passed=case.status == "passed" if ended else None,
        labels=case.score.labels if case.score else (),
        kind=kind_of(case),
        tags=case.tags,
        values=case.score.values if case.score else {},
        group=case.score.group if case.score else "",
        error=case.error,
        requests=case.usage.requests,
        cut_replies=sum(tested.get("cut", {}).values()) if (tested := case.replies.get(TESTED)) else None,
        prompt_tokens=case.usage.prompt_tokens,
        completion_tokens=case.usage.completion_tokens,
        usd=case.usage.usd,
        seconds=case.seconds,
        working_seconds=case.working,
        finished=case.finished,
    )


def _call(case: CaseOutline, number: int, event: Event) -> CallResult:
    detail, is_tool = event.detail, event.kind == "tool"
    texts = [str(each.get("content")) for each in detail.get("result", ()) if each.get("type") == "text"]
    return CallResult(
        task=case.task,
        sample=case.sample,
        attempt=case.attempt,
        number=number,
        is_tool=is_tool,
        name=event.name,
        role=str(detail.get("role", "")).removeprefix("--"),
        start=event.start,
        seconds=event.seconds,
        arguments=_json(detail.get("arguments")),
        output="\n".join(texts) if is_tool else str(detail.get("reply") or ""),
        tool_calls=_json(detail.get("tool_calls")),
        error=event.error,
    )


def _json(value: Any) -> str | None:
    return json.dumps(value, ensure_ascii=False) if value else None
