"""The expected answer of a case: from its record, else from the task's oracle and the data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from agentgauge.core.capabilities import Oracle
from agentgauge.core.chat import CaseKey, ChatRequest
from agentgauge.core.errors import UsageProblem
from agentgauge.core.index import Index, Row
from agentgauge.core.task import Task
from agentgauge.core.task_registry import configure_tasks, known_tasks
from agentgauge.core.types import Record
from agentgauge.data.find import find_used_data, refuse_other_data
from agentgauge.store import RunFolder
from agentgauge_reports.formats.conversation import written
from agentgauge_reports.load import Run
from agentgauge_reports.page.gold import side_by_side


class Gold:
    """The gold of a run's cases. ``note``: a sentence on why the data set could not be read; else empty."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._indices: dict[str, tuple[Index, Mapping[str, Row]]] = {}
        self.note = ""

    @cached_property
    def _roots(self) -> Mapping[str, Path]:
        """Task → its data. The tasks are configured as in the run."""
        about = self._run.about
        try:
            configure_tasks(about["settings"]["options"])
            roots, _ = find_used_data(about, Path.cwd())
            refuse_other_data(RunFolder(self._run.path), about, roots)
        except UsageProblem as problem:
            self.note = f"the gold of the data set is left out: {problem}"
            return {}
        return roots

    def of(self, record: Record) -> str:
        """The expected calls and answers, a line each; empty if they are not known."""
        output = record.transcript.output if record.transcript else None
        return "\n".join(_recorded(output)) or self._answered(record)

    def _answered(self, record: Record) -> str:
        """What the oracle answers to the last request to the tested model."""
        task = known_tasks().get(record.task)
        events = record.transcript.events if record.transcript else ()
        models = [event for event in events if event.kind == "model"]
        asked = [turn for turn, event in enumerate(models) if not event.detail.get("role")]
        if not isinstance(task, Oracle) or not asked or record.task not in self._roots:
            return ""
        index, rows = self._index(task)
        if record.sample not in rows:
            return ""
        sample = task.data.load(index, rows[record.sample], record.task)
        messages = tuple(models[asked[-1]].detail.get("messages", ()))
        key = CaseKey(record.task, record.sample, record.attempt, asked[-1])
        reply = task.oracle(sample, ChatRequest(messages, case=key))
        calls = [f"{call.name}({call.arguments})" for call in reply.tool_calls]
        return "\n".join([reply.text] * bool(reply.text) + calls)

    def _index(self, task: Task) -> tuple[Index, Mapping[str, Row]]:
        if task.name not in self._indices:
            index = task.data.index(self._roots[task.name])
            self._indices[task.name] = index, {row.id: row for row in index.rows}
        return self._indices[task.name]


def _recorded(output: Any) -> Iterator[str]:
    for row in side_by_side(output):
        for act in row["expected"]:
            yield act["text"] if "text" in act else written(act["name"], act["arguments"])
