"""What a task's ``score`` returns is looked at, since figures are made of it when all requests are paid for."""

from __future__ import annotations

import re

import pytest

from agentgauge.core.errors import Fault
from agentgauge.core.types import Score
from agentgauge.run.solve import checked
from tests.plugin.toy import Toy


def test_a_score_is_passed_on() -> None:
    assert checked(Toy(), score := Score(True, {"right": True, "all": 1}, ("late",))) is score


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        (None, "toy.say: score returned None; return a Score"),
        ({"right": 1.0}, "toy.say: score returned {'right': 1.0}; return a Score"),
        (
            Score(True, {"right": float("nan")}),
            "returned a Score with right nan among its values; these are numbers up to",
        ),
        (Score(True, {"right": 1e300}), "returned a Score with right 1e+300 among its values; these are numbers up to"),
        (Score(True, {"right": "yes"}), "returned a Score with right 'yes' among its values; these are numbers"),
        (Score(True, [("right", 1.0)]), "returned a Score whose values are not a mapping"),
        (Score(False, {}, "wrong_tool"), "or whose labels are not a tuple of texts"),
    ],
)
def test_anything_else_breaks_the_case(returned, sentence) -> None:
    with pytest.raises(Fault, match=re.escape(sentence)):
        checked(Toy(), returned)
