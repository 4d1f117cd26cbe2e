"""``oracle``: answers every request with the gold of its sample. The upper bound, and a check of the data and of
AgentGauge.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agentgauge.core import capabilities
from agentgauge.core.chat import CaseKey, ChatReply, ChatRequest
from agentgauge.core.errors import UsageProblem
from agentgauge.core.index import Index, Row
from agentgauge.core.task import Task
from agentgauge.core.task_registry import find_task


class OracleModel:
    """Finds the sample by the case key of a request and lets its task answer. Indexes are read once."""

    def __init__(self, data: Mapping[str, Path], *, one_call: bool = False) -> None:
        self._one_call = one_call  # the dialect has room for one call a reply
        self._data = data  # data set name to folder; others: the bundled set
        self._indexes: dict[tuple[str, Path], tuple[Index, dict[str, Row]]] = {}

    def answer(self, request: ChatRequest, case: CaseKey) -> ChatReply:
        """Raises UsageProblem for an unknown task or sample."""
        task = find_task(case.task)
        root = self._data.get(task.data.name, task.data.bundled)
        index, rows = self._index(task, root)
        if case.sample not in rows:
            raise UsageProblem(
                f"{task.name} has no sample {case.sample!r} in {root}; start the server with --data"
                f" {task.data.name}=DIR"
            )
        if not isinstance(task, capabilities.Oracle):
            raise UsageProblem(f"{task.name} has no gold replies; give --model another model than oracle")
        sample = task.data.load(index, rows[case.sample], task.name)
        return task.oracle(sample, request, one_call=self._one_call)

    def _index(self, task: Task, root: Path) -> tuple[Index, dict[str, Row]]:
        known = self._indexes.get((task.name, root))
        if known is None:
            index = task.data.index(root)
            known = self._indexes[task.name, root] = index, {row.id: row for row in index.rows}
        return known
