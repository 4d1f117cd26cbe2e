"""Whatever models write: a dialogue ends or fails, and nothing else; what ended can be written, cleaned and made a
record or refused."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bench_wild.generate.folder import ENDINGS, Ledger, write_outputs
from bench_wild.generate.records import write_records
from bench_wild.generate.transcript import DIALOGUES, MARKS, SWITCH, TYPES, DialogueError, fence, speaker
from bench_wild.labels import ASK, PREPARE
from tests.costly import COSTLY
from tests.wild.generate.stage import ASKS, CALL, CHAT, DONE, Stage, judge, plan, result, tasks

pytestmark = pytest.mark.slow

ODD: tuple[Any, ...] = (
    None,
    [],
    {},
    "",
    "tool",
    ["port"],
    {"port": ["port"]},
    7,
    True,
    "getTide",
    ASK,
    PREPARE,
    1e999,
    "\u2028|`<b>",
)

SOUND = {
    "user": (tasks(), "User: the tide at Brest?", "User: Brest"),
    "planner": (plan(CALL), plan(CALL, CALL), plan(ASKS), plan(DONE), plan(CHAT)),
    "tool": (result(), result(2)),
    "agent": ("Agent: 4 metres.", "```markdown\nAgent: Where?\n```"),
    "checker": (judge("yes"), judge("no")),
}


@some.composite
def actions(draw: some.DrawFn) -> Any:
    odd = some.sampled_from(ODD)
    name = draw(some.sampled_from(["getTide", ASK, PREPARE]) | odd)
    keys = some.sampled_from(["port", "tool_name", "missing_required_parameters", "answer_type"])
    return draw(some.just({"name": name, "arguments": draw(some.dictionaries(keys, odd, max_size=3) | odd)}) | odd)


WORDS = (
    some.builds(lambda listed: plan(*listed), some.lists(actions(), max_size=3))
    | some.builds(
        lambda listed: "Tool: " + fence({"Observation_List": listed}), some.lists(some.sampled_from(ODD), max_size=2)
    )
    | some.builds(lambda found: fence({"Task 1": found}), some.sampled_from(ODD))
    | some.builds(
        lambda mark, text: f"{mark} {text}",
        some.sampled_from([*MARKS["en"].values(), *MARKS["zh"].values(), *SWITCH.values(), "<think>", "```", ""]),
        some.sampled_from(
            ["", "hm", fence({"correct": "no"}), fence({"correct": "yes"}), fence(7), "</think>", "\x00\ud800"]
        ),
    )
)


class AnyWords(Stage):
    """At times what is not wanted; else what can be."""

    def __init__(self, odd: list[str], seed: int) -> None:
        super().__init__([], seed=seed)
        self._odd, self._chance = odd, random.Random(seed)

    async def _ask(self, part: str, name: str, messages: Any) -> str:
        if self._odd and self._chance.random() < 0.3:
            return self._odd.pop()
        return self._chance.choice(SOUND[part])


@given(odd=some.lists(WORDS, max_size=12), seed=some.integers(0, 10_000))
@COSTLY
def test_any_words_end_or_fail_a_dialogue_and_nothing_else(tmp_path_factory: Any, odd: list[str], seed: int) -> None:
    stage = AnyWords(odd, seed)
    try:
        dialogue = stage.play(*TYPES)
    except DialogueError:
        return
    out: Path = tmp_path_factory.mktemp("out")
    Ledger(out).add(dialogue, stage.state.kept)
    write_outputs(out, "now", Ledger(out))
    (clean,) = map(
        json.loads, (out / f"now{ENDINGS[1]}").read_bytes().splitlines()
    )  # of a text, U+2028 ends a line too
    said = sum(speaker(message["content"]) == "user" for message in clean["messages"])
    assert said >= len(TYPES), "no word of the user is lost"
    made = write_records(out)
    assert made.sessions + len(made.left_out) == 1
    assert (out / DIALOGUES).is_file()
