"""From dialogues to gold graphs: types, order, and what is said of what was not determined."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench_wild.data import build_session
from bench_wild.generate.evaluation.actions import NoRecord
from bench_wild.generate.evaluation.record import SUBTYPE_OF, record_of
from bench_wild.labels import ASK, PREPARE
from bench_wild.oracle import unreachable
from tests.wild.generate.talks import (
    TOOLS,
    Task,
    chat,
    clarify,
    dialogue,
    find,
    get,
    mixed,
    ok,
    parallel,
    serial,
    single,
)


def with_three(task: Task) -> Any:
    return dialogue(chat("Good morning to you."), task, chat("How do stars burn?"), chat("Thanks and goodbye."))


def gold(task: Task) -> tuple[list[list[int]], str, list[str]]:
    """Dependencies, type, and what was not determined, of a task among chats."""
    record, notes = record_of(with_three(task), 0)
    assert unreachable(build_session(record)) == []
    return (
        [node["dependency_list"] for node in record["english_answer_list"][1]],
        record["english_task_types"][1],
        notes,
    )


def task(meant: Any = "MT", text: str = "Please see to it.") -> Task:
    return Task(meant, text)


THREE = ok(items=[{"shelf_id": 7}, {"shelf_id": 12}])


@pytest.mark.parametrize(
    ("told", "waits", "type"),
    [
        (single(), [[], [0]], "Single-Tool"),
        (parallel(), [[], [], [0, 1]], "Parallel Multi-Tool"),
        (serial(), [[], [0], [1]], "Sequential Multi-Tool"),
        (mixed(), [[], [0], [0], [1, 2]], "Mixed Multi-Tool"),
        (clarify(), [[], [0], [1]], "Clarify"),
        (chat(), [[]], "Chat"),
        # asked twice, because the user evaded
        (
            task("CQ").ask("Which?", "Guess.").ask("Which order?", "ORD-3003").call(get("ORD-3003")).say("Here."),
            [[], [0], [1], [2]],
            "Clarify",
        ),
        # found, then asked which, then opened: the value comes from the reply
        (
            task("CQ").call(find("me")).ask("Which?", "ORD-5519").call(get("ORD-5519")).say("Here."),
            [[], [0], [1], [2]],
            "Clarify",
        ),
        # a value from before a question keeps its edge beside that to the question
        (
            task("CQ")
            .call(find("me"))
            .ask("Why?", "late")
            .call(("cancelOrder", {"order_id": "ORD-5519", "reason": "late"}, ok()))
            .say("Done."),
            [[], [0], [0, 1], [2]],
            "Clarify",
        ),
        # two after one, one after both: the join waits for the two its text quotes
        (
            task()
            .call(find())
            .call(get("ORD-5519", ok(carrier="Blue Parcel")), get("ORD-6620", ok(carrier="Green Van")))
            .call(("sendNote", {"to": "Ines", "text": "Look out for Blue Parcel and Green Van!"}, ok()))
            .say("Sent."),
            [[], [0], [0], [1, 2], [3]],
            "Mixed Multi-Tool",
        ),
        # the later call uses the first result, not the second: both may come next
        (
            task().call(find()).call(get("ORD-5519")).call(get("ORD-6620")).say("Here."),
            [[], [0], [0], [1, 2]],
            "Mixed Multi-Tool",
        ),
        # an order's number that only its own call repeats is no source
        (
            task(text="ORD-1 then note ORD-1").call(get("ORD-1")).call(get("ORD-2", ok(order_id="ORD-2"))).say("x"),
            [[], [0], [1]],
            "Sequential Multi-Tool",
        ),
        # a small number counts under its own name
        (
            task()
            .call(("findOrders", {"customer": "me"}, THREE))
            .call(("getShelf", {"shelf_id": 7}, ok()), ("getShelf", {"shelf_id": 12}, ok()))
            .say("x"),
            [[], [0], [0], [1, 2]],
            "Mixed Multi-Tool",
        ),
        # within one list a value that the planner could not have seen still flows
        (task().call(find(), get("ORD-6620")).say("x"), [[], [0], [1]], "Sequential Multi-Tool"),
        # but a date of the same list says nothing, nor what a sibling was handed too
        (
            task().call(get("2024-05-02", ok(day="2024-05-02", next="2024-05-03")), get("2024-05-03")).say("x"),
            [[], [], [0, 1]],
            "Parallel Multi-Tool",
        ),
    ],
)
def test_the_gold_of_every_type_and_structure(told, waits, type):
    found = gold(told)
    assert found[:2] == (waits, type)


def test_actions_come_as_accepted_with_their_results_and_words():
    record, _ = record_of(dialogue(clarify(rejected=True), single(), parallel(), chat()), 3)
    assert record["id"] == "wild_tool_bench_3"
    assert record["english_tasks"][0] == "Where is my parcel?"
    answer = {"name": PREPARE, "arguments": {"answer_type": "tool"}}
    assert record["english_answer_list"][0] == [
        {
            "idx": 0,
            "action": {
                "name": ASK,
                "arguments": {"tool_name": "getOrder", "missing_required_parameters": ["order_id"]},
            },
            "observation": "Which order is it?",
            "user_input": "It is ORD-3003.",
            "dependency_list": [],
        },
        {
            "idx": 1,
            "action": {"name": "getOrder", "arguments": {"order_id": "ORD-3003"}},
            "observation": ok(order_id="ORD-3003", carrier="Blue Parcel"),
            "dependency_list": [0],
        },
        {"idx": 2, "action": answer, "observation": "With Blue Parcel.", "dependency_list": [1]},
    ]


@pytest.mark.parametrize(("language", "twin", "day"), [("en", "english_", "Wednesday"), ("zh", "", "星期三")])
def test_fields_are_those_of_the_language(language, twin, day):
    record, _ = record_of(dialogue(single("a"), parallel("b"), clarify("c"), chat("d"), language=language), 0)
    fields = {f"{twin}{name}" for name in ("env_info", "tools", "tasks", "answer_list", "task_types", "turn_subtypes")}
    assert set(record) == {"id", "unverified", "generated", *fields}
    assert record[f"{twin}env_info"] == f"2024-05-01 09:12:44 {day}"
    assert record[f"{twin}tools"] == TOOLS[:-2]
    assert record["unverified"] is True
    assert record["generated"] == {
        "sequence": "ST-MT-CQ-CC",
        "language": language,
        "seed": 7,
        "kinds": ["first", *["short_name"] * 3],
    }


def test_every_group_of_follow_up_tasks_has_a_subtype():
    shown = {}
    for group in list(SUBTYPE_OF)[1:]:
        record, _ = record_of(dialogue(single(), chat("b", group=group), chat("c"), chat("d")), 0)
        shown[group] = record["english_turn_subtypes"][0]
    assert shown == {
        "reply": "Coreferential Reference",
        "reference": "Coreferential Reference",
        "omission": "Partial Information",
        "addition": "Partial Information",
        "modification": "Partial Information",
        "follow_up": "Partial Information",
        "topic": "Long-Range Dependency",
    }


def test_without_a_value_that_flows_the_planned_order_stays_and_is_named():
    told = (
        task(text="Open ORD-1001, and when that is done ORD-1002.").call(get("ORD-1001")).call(get("ORD-1002")).say("x")
    )
    waits, type, notes = gold(told)
    assert (waits, type) == ([[], [0], [1]], "Sequential Multi-Tool")
    assert notes == ["task 2, action 1 (getOrder): no value comes from an earlier result; it waits for 0, as planned"]


def test_a_value_in_two_results_waits_for_both_and_is_named():
    told = task().call(find("a", ok(id="ORD-9")), find("b", ok(id="ORD-9"))).call(get("ORD-9")).say("x")
    waits, _, notes = gold(told)
    assert waits == [[], [], [0, 1], [2]]
    assert notes == [
        "task 2, action 2 (getOrder): order_id = 'ord-9' is in the results of 0, 1; it waits for all of them"
    ]


def test_a_value_that_an_earlier_task_had_is_named():
    later = Task("MT", "Search again, open the first.").call(find("Rui Melo")).call(get("ORD-5519")).say("x")
    record, notes = record_of(dialogue(single(), later, chat(), chat("b")), 0)
    assert record["english_answer_list"][1][1]["dependency_list"] == [0]
    known = "order_id = 'ord-5519' is known from an earlier task as well; it waits for the result in this one"
    assert notes == [f"task 2, action 1 (getOrder): {known}"]


@pytest.mark.parametrize(
    ("told", "note"),
    [
        (
            task("MT").call(get("ORD-1")).say("x"),
            "task 2: meant as MT, but the transcript shows Single-Tool, which is taken",
        ),
        (
            task("ST").ask("Which?", "ORD-1").call(get("ORD-1")).say("x"),
            "task 2: meant as ST, but the transcript shows Clarify, which is taken",
        ),
        (task("CQ").say("x", "chat"), "task 2: meant as CQ, but the transcript shows Chat, which is taken"),
    ],
)
def test_a_task_that_contradicts_its_type_takes_what_the_transcript_shows(told, note):
    assert gold(told)[2] == [note]


def rewritten(old: str, new: str) -> Any:
    told = with_three(serial())
    return replace(told, messages=[{**one, "content": one["content"].replace(old, new)} for one in told.messages])


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (dialogue(single(), chat()), "the number of its tasks is 2; a record has 4"),
        (with_three(Task("ST", "x").call(find())), "task 2 ends where a final answer should come"),
        (with_three(Task("ST", "x")), "task 2 ends where its words are followed"),
        (with_three(Task("ST", "").say("x")), "task 2 has an empty message of user"),
        (with_three(single().say("And more.")), "task 2 continues after its final answer"),
        (rewritten('"Action_List"', '"Actions"'), "task 1 has an accepted plan without a list of actions"),
        (rewritten('"Observation_List"', '"Results"'), "task 2 has 1 calls and no list of results"),
        (
            rewritten('"name": "findOrders"', '"name": 5'),
            "task 2 has an accepted action without a name or without an object of arguments",
        ),
        (
            rewritten("Tool: ", "Agent: "),
            "task 2 has a message of agent where tools were called; one of tool is needed",
        ),
    ],
)
def test_what_cannot_become_a_record_is_named_with_the_reason(told, reason):
    with pytest.raises(NoRecord) as problem:
        record_of(told, 0)
    assert str(problem.value) == reason


def test_a_question_in_one_list_with_a_call_is_refused():
    told = rewritten('"name": "findOrders",', f'"name": "{ASK}", "arguments": {{}}}}, {{"name": "findOrders",')
    with pytest.raises(NoRecord, match="must stand alone"):
        record_of(told, 0)
