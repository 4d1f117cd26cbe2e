"""``oracle``: answers every request with the gold of its sample. The upper bound, and a check of the data and of
AgentGauge.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agentgauge.agent.dialects.format import Format, ParsedCall, ParsedReply
from agentgauge.agent.dialects.registry import format_of
from agentgauge.agent.native import render_reply
from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.errors import Fault, UsageProblem
from agentgauge.core.index import Index, Row
from agentgauge.core.registry import Registry
from agentgauge.core.task import Task


class Oracle:
    """Finds the sample by the case of a request and lets its task answer. Indexes are read once."""

    def __init__(self, tasks: Registry, data: Mapping[str, Path], dialect: str = "native") -> None:
        """``data``: data set → folder; of others the bundled set. ``dialect``: in which it answers."""
        self._tasks = tasks
        self._data = data
        self._dialect = dialect
        self._format = None if dialect == "native" else format_of(dialect)
        self._one_call = self._format is not None and not _holds_two_calls(self._format)  # a reply
        self._indexes: dict[tuple[str, Path], tuple[Index, dict[str, Row]]] = {}

    def answer(self, request: ChatRequest) -> ChatReply:
        """Raises UsageProblem for a request without a case, and for an unknown task or sample."""
        case = request.case
        if case is None:
            raise UsageProblem(
                "this model answers by case and needs the header x-agentgauge-case: task/sample/attempt/turn"
            )
        task = self._tasks[case.task]
        root = self._data.get(task.data.name, task.data.bundled)
        index, rows = self._index(task, root)
        if case.sample not in rows:
            raise UsageProblem(
                f"{task.name} has no sample {case.sample!r} in {root}; serve-model takes --data {task.data.name}=DIR"
            )
        if task.oracle is None:
            raise UsageProblem(f"{task.name} has no gold replies; give --model another model than oracle")
        sample = task.data.load(index, rows[case.sample], task.name)
        reply = task.oracle(sample, request, one_call=self._one_call)
        if not isinstance(reply, ChatReply):
            raise Fault(f"{task.name}: oracle returned {reply!r}; return a ChatReply", cause="internal error")
        # what another role is asked is not in the dialect, such as what a simulated user is to say next
        is_spoken = not case.role and self._dialect in task.dialects
        return render_reply(self._format, reply) if self._format and is_spoken else reply

    def _index(self, task: Task, root: Path) -> tuple[Index, dict[str, Row]]:
        known = self._indexes.get((task.name, root))
        if known is None:
            index = task.data.index(root)
            known = self._indexes[task.name, root] = index, {row.id: row for row in index.rows}
        return known


def _holds_two_calls(format: Format) -> bool:
    try:
        format.write(ParsedReply(None, (ParsedCall("a", "{}"), ParsedCall("b", "{}"))))
    except ValueError:
        return False
    return True
