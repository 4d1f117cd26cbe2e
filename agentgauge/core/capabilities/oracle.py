"""Gold replies, which the embedded model ``oracle`` gives."""

from __future__ import annotations

from abc import ABC, abstractmethod

from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.types import Sample


class Oracle(ABC):
    """Capability: the task can be run with ``--model=oracle``, the upper bound and a check of the data."""

    @abstractmethod
    def oracle(self, sample: Sample, request: ChatRequest, *, one_call: bool = False) -> ChatReply:
        """Answer a request with the gold: text and native calls, which the server puts into the run's dialect.

        ``one_call``: that dialect allows one call a reply.
        """
