"""What a case's test is told of its outcome."""

from __future__ import annotations

import pytest

from agentgauge.core.types import Record, Score
from agentgauge.pytest_plugin.fixtures import Outcome


@pytest.mark.parametrize(
    ("status", "score", "told"),
    [
        ("passed", Score(True, {}), ""),
        ("wrong", Score(False, {}, explanation="expected 3, got 4"), "expected 3, got 4"),
        ("wrong", Score(False, {}), "wrong; the task gave no explanation"),
        ("broken", None, "no score"),
    ],
)
def test_an_outcome_explains_itself(status, score, told):
    assert Outcome(Record("t", "s", 1, "c", status, score=score)).explanation == told
