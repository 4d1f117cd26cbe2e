"""What a case's replies say about why it is wrong."""

from __future__ import annotations

import pytest

from agentgauge.core.reply_ends import with_ends
from agentgauge.core.types import Event, Score


@pytest.mark.parametrize(
    ("finishes", "says"),
    [
        (["stop"], ""),
        (["length"], "the reply was cut at max_tokens 48"),
        (["length", "stop"], "reply 1 of 2 was cut at max_tokens 48"),
        (["length", "stop", "length"], "replies 1 and 3 of 3 were cut at max_tokens 48"),
        (["length"] * 2, "both replies were cut at max_tokens 48"),
        (["length"] * 3, "all 3 replies were cut at max_tokens 48"),
        (["length"] * 5, "all 5 replies were cut at max_tokens 48"),
        (["length"] * 4 + ["stop"], "4 of 5 replies were cut at max_tokens 48"),
    ],
)
def test_replies_that_were_cut_are_told_in_one_way(finishes: list[str], says: str) -> None:
    details = [{"reply": "x", "finish_reason": finish, "max_tokens": 48} for finish in finishes]
    events = [Event("model", "m", 0, 1, detail) for detail in details]
    assert with_ends(Score(False), events).explanation == says
