"""Apple MMAU's tasks with gold that is wrong for every other record: ``-p benchmarks.half_wrong --model oracle``.

The programs of a problem differ from one another, as those that a model draws do.
"""

from __future__ import annotations

import json
from copy import copy
from dataclasses import replace
from zlib import crc32

from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.task_registry import announce, known_tasks
from agentgauge.core.types import Sample
from bench_mmau.task import MmauTask

_PROGRAM, _CELLS, _END = "```python\n", "```json\n", "\n```"


class HalfWrong(MmauTask):
    """A task of Apple MMAU, but for its gold."""

    def oracle(self, sample: Sample, request: ChatRequest, *, one_call: bool = False) -> ChatReply:
        return altered(super().oracle(sample, request, one_call=one_call), sample.id, request)


def altered(gold: ChatReply, record: str, request: ChatRequest) -> ChatReply:
    """The reply to a request about a record: programs of their own, and for half of the records wrong ones."""
    wrong = crc32(record.encode()) % 2 == 1
    if gold.text.startswith(_PROGRAM):
        program = gold.text.removesuffix(_END)
        if wrong:
            program = program.replace("print(", "print(0, ")
        return replace(gold, text=f"{program}\n# {request.case.turn if request.case else 0}{_END}")
    if not wrong or (request.case and request.case.role):  # judges are not in the wrong
        return gold
    if gold.text.startswith(_CELLS):
        cells = json.loads(gold.text.removeprefix(_CELLS).removesuffix(_END))
        cells[-1]["source"] = ["raise ValueError(cells)\n"]
        return ChatReply(_CELLS + json.dumps(cells) + _END)
    return ChatReply("I do not know.")


def _half_wrong(task: MmauTask) -> HalfWrong:
    made = copy(task)
    made.__class__ = HalfWrong
    assert isinstance(made, HalfWrong)
    return made


announce(*(_half_wrong(task) for task in list(known_tasks().values()) if isinstance(task, MmauTask)))
