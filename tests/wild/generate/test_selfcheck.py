"""Each planted defect is found, by its kind and place; sound records and the bundled ones say nothing that matters."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench_wild.generate.evaluation.record import record_of
from bench_wild.generate.evaluation.selfcheck import Finding, check_one, duplicates
from tests.wild.generate.talks import chat, clarify, dialogue, mixed, serial, single

BUNDLED = Path(__file__).parents[3] / "bench_wild" / "mini" / "Wild-Tool-Bench.jsonl"

Record = dict[str, Any]


def sound() -> Record:
    record, _ = record_of(dialogue(serial(), mixed("Open all of them."), clarify(), single()), 0)
    return record


def arguments(record: Record, place: int, node: int) -> dict[str, Any]:
    found: dict[str, Any] = record["english_answer_list"][place][node]["action"]["arguments"]
    return found


def planted(defect: Callable[[Record], object]) -> list[Finding]:
    record: Record = json.loads(json.dumps(sound()))
    defect(record)
    return check_one(record)


def note(**given: Any) -> Callable[[Record], object]:
    """Puts a call of sendNote in the place of the first task's call."""

    def defect(record: Record) -> None:
        record["english_answer_list"][0][0]["action"] = {"name": "sendNote", "arguments": given}

    return defect


NOTE = "task 1, action 0 (sendNote): "
DUARTE = {"to": "Ines Duarte", "text": "Ines Duarte"}


def test_a_sound_record_has_no_findings():
    assert check_one(sound()) == []


@pytest.mark.parametrize(
    ("defect", "kind", "text"),
    [
        (
            lambda one: one["english_tasks"].pop(),
            "run",
            "english_tasks must have 4 entries, one for each task; it has 3",
        ),
        (
            lambda one: one["english_answer_list"][0][0].update(dependency_list=[1]),
            "run",
            "english_answer_list[0] has actions that wait for each other: 0, 1, 2",
        ),
        (lambda one: [one.pop(name) for name in ("english_tasks", "english_tools")], "run", "it has no tasks"),
        (note(to="Ines Duarte"), "arguments", NOTE + "lacks the required argument 'text'"),
        (
            note(**DUARTE, cc="Ines Duarte"),
            "arguments",
            NOTE + "has the argument 'cc', which the tool does not declare",
        ),
        (
            note(to=["Ines Duarte"], text="Ines Duarte"),
            "arguments",
            NOTE + 'to = ["Ines Duarte"] does not fit the schema: nested args type inconsistent',
        ),
        (
            note(**DUARTE, copies="Ines Duarte"),
            "arguments",
            NOTE + 'copies = "Ines Duarte" does not fit the schema: nested args type inconsistent',
        ),
        (
            lambda one: one["english_answer_list"][0][0].update(
                action={"name": "cancelOrder", "arguments": {"order_id": "Ines", "reason": "Duarte"}}
            ),
            "arguments",
            'task 1, action 0 (cancelOrder): reason = "Duarte" does not fit the schema: nested args value not in enum',
        ),
        (
            lambda one: one["english_answer_list"][0][0]["action"].update(name="findParcels"),
            "arguments",
            "task 1, action 0 (findParcels): the session has no such tool",
        ),
        (
            lambda one: one["english_answer_list"][0][1].update(dependency_list=[]),
            "order",
            (
                "task 1, action 1 (getOrder): order_id = 'ord-5519' comes from the result of action 0, for which it"
                " does not wait"
            ),
        ),
        (
            lambda one: one["english_answer_list"][2][2].update(dependency_list=[]),
            "alone",
            "task 3, action 2 (prepare_to_answer): may come beside action 0, 1; it must stand alone",
        ),
        (
            lambda one: one["english_answer_list"][2][1].update(dependency_list=[]),
            "alone",
            "task 3, action 0 (ask_user_for_required_parameters): may come beside action 1, 2; it must stand alone",
        ),
        (
            note(to="Ines Duarte", text="Meet me in Lisbon"),
            "invented",
            NOTE + "text = 'meet me in lisbon' is in nothing that was said or found before",
        ),
        (
            lambda one: arguments(one, 0, 0).update(limit=250),
            "invented",
            "task 1, action 0 (findOrders): limit = '250' is in nothing that was said or found before",
        ),
        (
            note(to="Ines Duarte", text="2031-11-20"),
            "invented",
            NOTE
            + "text = '2031-11-20' is in nothing that was said or found before (it may follow from the current time)",
        ),
        (
            lambda one: one["english_answer_list"][0][0]["observation"].update(status_code=404),
            "failed call",
            "task 1, action 0 (findOrders): its result is an error (status 404), so the gold holds a call that failed",
        ),
    ],
)
def test_a_planted_defect_is_found(defect, kind, text):
    assert Finding(kind, text) in planted(defect)


def test_gold_that_nothing_can_reach_is_found():
    """Its arguments do not fit the schema, so that the evaluator refuses even the gold."""
    found = [one.text for one in planted(note(**DUARTE, cc="Ines Duarte")) if one.kind == "run"]
    assert len(found) == 1
    assert found[0].startswith("task 1: no path that the evaluator accepts:")


@pytest.mark.parametrize(
    "value",
    [
        "ines  DUARTE",  # blanks and case
        "Duarte order",  # words that were said, in another order
        10,  # the schema's default
    ],
)
def test_values_from_what_was_said_or_from_the_schema_are_not_invented(value):
    name = "limit" if isinstance(value, int) else "customer"
    assert planted(lambda one: arguments(one, 0, 0).update({name: value})) == []


def test_words_that_were_said_before_are_duplicates():
    one, _ = record_of(dialogue(single("Hello."), chat("Really?"), chat("Bye."), chat("hello. ")), 0)
    two, _ = record_of(dialogue(single("Good day."), chat("Really?"), chat("Off I go."), chat("Gone.")), 1)
    assert [[found.text for found in mine] for mine in duplicates([one, two])] == [
        ["task 4: the user's words are those of task 1 of wild_tool_bench_0"],
        ["task 2: the user's words are those of task 2 of wild_tool_bench_0"],
    ]


def test_the_bundled_sessions_have_few_doubts_and_no_defects():
    """Measured: 204 calls in two languages; what is doubted in them are values that follow from the date or from
    knowledge."""
    records = [json.loads(line) for line in BUNDLED.read_text(encoding="utf-8").splitlines()]
    found = Counter(one.kind for record in records for one in check_one(record))
    assert set(found) <= {"invented"}
    assert found.total() <= 10
    assert not any(duplicates(records))
