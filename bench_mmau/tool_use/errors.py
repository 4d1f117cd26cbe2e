"""Errors of the Apple MMAU scoring."""

from __future__ import annotations

from agentgauge.core.errors import DataProblem
from agentgauge.core.text import cut


class NotScorable(DataProblem):
    """A record for which the published evaluator raises: no number may stand in for it (MMAU spec 10).

    ``record_id`` names the record, ``""`` if the whole file is meant; ``reason`` is the problem, ``str()`` the whole
    sentence.
    """

    def __init__(self, record_id: str, text: str) -> None:
        super().__init__(f"Apple MMAU record {cut(record_id)!r}: {text}" if record_id else f"Apple MMAU: {text}")
        self.record_id, self.reason = record_id, text


class StopsOnReply(NotScorable):
    """A model's reply on which the published evaluator stops (MMAU spec 10).

    The metrics raise it as that evaluator raises. Cases and ``agentgauge score`` catch it: they score the reply as that
    evaluator scores an invalid one, and count it (``agentgauge.core.types.Score.stops``).
    """
