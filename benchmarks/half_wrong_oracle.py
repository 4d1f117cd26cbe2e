"""Apple MMAU's tasks with the gold of ``benchmarks.half_wrong``: ``-p benchmarks.half_wrong_oracle --model oracle``.

Importing it announces them in the place of the real ones.
"""

from __future__ import annotations

from copy import copy

from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.task_registry import announce, known_tasks
from agentgauge.core.types import Sample
from bench_mmau.task import MmauTask
from benchmarks.half_wrong import altered


class HalfWrong(MmauTask):
    """A task of Apple MMAU, but for its gold."""

    def oracle(self, sample: Sample, request: ChatRequest, *, one_call: bool = False) -> ChatReply:
        return altered(super().oracle(sample, request, one_call=one_call), sample.id, request)


def _half_wrong(task: MmauTask) -> HalfWrong:
    made = copy(task)
    made.__class__ = HalfWrong
    assert isinstance(made, HalfWrong)
    return made


announce(*(_half_wrong(task) for task in list(known_tasks().values()) if isinstance(task, MmauTask)))
