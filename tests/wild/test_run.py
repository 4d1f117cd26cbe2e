"""Solving tasks through the harness, with the gold and otherwise."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.chat import CaseKey, ChatReply, ChatRequest, ToolCall
from agentgauge.core.errors import ModelFault, UsageProblem
from agentgauge.core.estimate import estimate
from agentgauge.core.types import Sample, Scoring, Usage
from agentgauge.model.spec import ModelSpec
from agentgauge.model.wire import read_reply
from bench_wild.data import Session, build_session, sample_id
from bench_wild.labels import ASK, EMPTY, NOT_EXPECTED
from bench_wild.options import WildOptions
from bench_wild.oracle import answers, gold_reply, native_reply, play, unreachable
from bench_wild.prompts import RELEASES, Sending, convert_tools, opening
from bench_wild.run import FAILED, run_task, with_inputs
from bench_wild.source import WildData
from bench_wild.task import WILD, wild
from tests.wild.test_data import chinese, earlier, final, node, record, write


class Scripted:
    """A model that answers with given replies, in order, and keeps the requests."""

    name = "scripted"

    def __init__(self, *replies: ChatReply) -> None:
        self.replies = list(replies)
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        if not self.replies:
            raise ModelFault("no more replies", cause="test")
        return self.replies.pop(0)

    async def close(self) -> None: ...


def sample(place: int, data: dict[str, Any] | None = None, language: str = "en") -> Sample:
    data = data or record()
    payload = {"session": data, "task": place, "language": language}
    return Sample(sample_id(data["id"], place), "wild", (), payload, Path())


def run(one: Sample, model: Scripted, *, scoring: Scoring = "parity", dialect: str = "native") -> Any:
    return asyncio.run(run_task(Case(one, 1, 0, CaseSettings(dialect, scoring), model, None, Path())))


def said(text: str) -> ChatReply:
    return ChatReply(text, usage=Usage(1, 100, 10))


def called(*calls: tuple[str, Any], text: str = "") -> ChatReply:
    made = (ToolCall(name, json.dumps(arguments), f"c{place}") for place, (name, arguments) in enumerate(calls))
    return ChatReply(text, tuple(made), usage=Usage(1, 100, 10))


def log(result: Any) -> list[Any]:
    return [step for key, step in result["inference_log"].items() if key.startswith("step_")]


def test_a_task_that_goes_well() -> None:
    model = Scripted(called(("readMenu", {}), ("bookTable", {"guests": 3})), said("Soup."))
    result = run(sample(1), model)
    assert (result["action_name_label"], result["is_optimal"]) == ("correct", True)
    assert (result["input_token_count"], result["output_token_count"], len(result["latency"])) == (
        [100, 100],
        [10, 10],
        2,
    )
    first, second = model.requests
    assert [message["role"] for message in first.messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert first.tools == tuple(convert_tools(record()["english_tools"]))
    assert first.case == CaseKey("wild", "wild_tool_bench_0-t2", 1, 0)
    # results are sorted by name and handed out by place: the calls here came in another order
    assert [(message.get("tool_call_id"), message["content"]) for message in second.messages[-2:]] == [
        ("c0", "7"),
        ("c1", "soup"),
    ]
    assert second.messages[-3]["content"] is None


def test_history_quotes_texts_and_a_running_task_does_not() -> None:
    data = record()
    history = [
        message["content"]
        for message in opening(build_session(data), build_session(data).tasks[3])
        if message["role"] == "tool"
    ]
    assert history == ['{"ok": true}', '"soup"', "7", "[5]"]
    model = Scripted(called(("readMenu", {})))
    with pytest.raises(ModelFault):
        run(sample(1), model)
    assert model.requests[1].messages[-1]["content"] == "soup"


def test_a_question_is_answered_by_the_user() -> None:
    model = Scripted(said("What?"), called(("bookTable", {"guests": 5})), said("Done."))
    result = run(sample(2), model)
    assert result["action_name_label"] == "correct"
    assert model.requests[1].messages[-2:] == (
        {"role": "assistant", "content": "What?"},
        {"role": "user", "content": "Five."},
    )
    assert log(result)[0]["inference_answer"]["candidate_0_answer_function_list"]["user_input"] == "Five."


@pytest.mark.parametrize(
    ("place", "replies", "reason"),
    [
        (0, [said("")], EMPTY),
        (0, [said("I will not.")], NOT_EXPECTED),
        (0, [called(("readMenu", {}))], NOT_EXPECTED),
        (0, [called(("bookTable", {}), ("bookTable", {}))], NOT_EXPECTED),
        (0, [called(("bookTable", {})), called(("bookTable", {}))], NOT_EXPECTED),
        (0, [called(("bookTable", {})), said("")], EMPTY),
        (2, [called(("bookTable", {"guests": 5}))], NOT_EXPECTED),
        (3, [called(("prepare_to_answer", {})), called(("readMenu", {}))], "current step: 1, idx_list is None"),
    ],
)
def test_what_ends_a_task(place: int, replies: Sequence[ChatReply], reason: str) -> None:
    model = Scripted(*replies)
    result = run(sample(place), model)
    assert (result["action_name_label"], result["is_optimal"]) == ("error", False)
    assert len(model.requests) == len(log(result)) == len(replies)
    assert log(result)[-1]["inference_output"]["error_reason"] == reason


def test_blank_text_is_text() -> None:
    assert run(sample(3), Scripted(said(" ")))["action_name_label"] == "correct"


def test_serial_calls_are_correct_but_not_optimal() -> None:
    model = Scripted(called(("bookTable", {})), called(("readMenu", {})), said("Soup."))
    result = run(sample(1), model)
    assert (result["action_name_label"], result["is_optimal"]) == ("correct", False)


def test_a_reply_that_stops_upstream() -> None:
    """Parity loses the session; strict makes it the task's error."""
    replies = (called(("prepare_to_answer", {})), said("Hm."))
    output = run(sample(3), Scripted(*replies))
    assert output == f"{FAILED}1"
    score = WILD.score(sample(3), output, "parity", "trigram")
    assert not score.passed and score.labels == ("session_fails",) and score.group == "wild_tool_bench_0"
    result = run(sample(3), Scripted(*replies), scoring="strict")
    assert log(result)[-1]["inference_output"]["error_reason"] == "current step: 1, idx_list is None"


def test_a_refusal_is_text_under_strict_only() -> None:
    reply = ChatReply(refusal="I must not.")
    assert run(sample(3), Scripted(reply))["action_name_label"] == "error"
    assert run(sample(3), Scripted(reply), scoring="strict")["action_name_label"] == "correct"


def test_an_unknown_dialect() -> None:
    with pytest.raises(UsageProblem, match="'unheard'"):
        run(sample(0), Scripted(), dialect="unheard")


def received(**message: Any) -> ChatReply:
    """An assistant message as the client reads it."""
    reply = read_reply(
        {"choices": [{"message": {"role": "assistant", **message}}]}, ModelSpec("m", "openai", "m", "openai")
    )
    assert isinstance(reply, ChatReply)
    return reply


MENU = {"name": "readMenu", "arguments": "{}"}
REST = [called(("bookTable", {"guests": 3})), said("Soup.")]


@pytest.mark.parametrize(
    "call",
    [{"id": None}, {"id": ""}, {}, {"id": "c", "type": None}, {"id": 7}],
    ids=["null", "empty", "missing", "no type", "a number"],
)
@pytest.mark.parametrize("scoring", ["parity", "strict"])
def test_a_call_needs_no_id(call: dict[str, Any], scoring: str) -> None:
    model = Scripted(received(content=None, tool_calls=[{**call, "function": MENU}]), *REST)
    result = run(sample(1), model, scoring=scoring)
    assert WILD.score(sample(1), result, "parity", "").passed
    came, answered = model.requests[1].messages[-2:]
    assert answered["tool_call_id"] == came["tool_calls"][0]["id"]
    if scoring == "parity":
        assert came["tool_calls"] == [{"id": None, "type": None, **call, "function": MENU}]
    else:
        assert came["tool_calls"][0]["id"]


@pytest.mark.parametrize("function", [{"name": "readMenu"}, {"name": "readMenu", "arguments": None}])
def test_a_call_without_arguments_stops_the_evaluator_and_is_read_under_strict(
    function: dict[str, Any],
) -> None:
    broken = received(content="", tool_calls=[{"id": "c", "type": "function", "function": function}])
    result = run(sample(1), Scripted(broken, *REST))
    assert result["action_name_label"] == "correct"
    score = WILD.score(sample(1), result, "parity", "")
    assert (score.passed, score.stops) == (False, "TypeError")
    strict = run(sample(1), Scripted(broken, *REST), scoring="strict")
    assert strict["inference_log"]["step_0"]["inference_output"]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert WILD.score(sample(1), strict, "strict", "").stops == ""


def test_arguments_that_are_an_object_stay_one_under_parity() -> None:
    broken = received(
        content=None,
        tool_calls=[{"id": "c", "type": "function", "function": {"name": "readMenu", "arguments": {"a": 1}}}],
    )
    result = run(sample(1), Scripted(broken, *REST))
    (call,) = result["inference_log"]["step_0"]["inference_output"]["tool_calls"]
    assert call["function"]["arguments"] == {"a": 1}
    assert WILD.score(sample(1), result, "parity", "").stops == "TypeError"


@pytest.mark.parametrize(
    ("calls", "outcome"),
    [
        (
            [{"id": "c", "function": {"name": None, "arguments": "{}"}}],
            "action name not in candidate_answer_function_list",
        ),
        ([{"id": "c", "function": {"arguments": "{}"}}], "action name not in candidate_answer_function_list"),
        ([{"id": "c", "function": MENU}, {"id": "d", "function": {"name": None, "arguments": "{}"}}], "session"),
        ([{"id": "c", "function": None}], "parse tool_calls failed"),
        ([{"id": "c"}], "parse tool_calls failed"),
        (["readMenu"], "parse tool_calls failed"),
        (7, "session"),
        ([], "tool_calls and content are None or empty"),
    ],
    ids=[
        "null name",
        "no name",
        "null name beside another",
        "null function",
        "no function",
        "a text",
        "a number",
        "empty list",
    ],
)
def test_calls_of_odd_shapes_end_as_in_the_original(calls: Any, outcome: str) -> None:
    reply = received(content=None, tool_calls=calls)
    result = run(sample(1), Scripted(reply))
    score = WILD.score(sample(1), result, "parity", "")
    assert not score.passed
    if outcome == "session":
        assert isinstance(result, str) and result.startswith(FAILED) and score.stops
        return
    output = result["inference_log"]["step_0"]["inference_output"]
    assert output["error_reason"].startswith(outcome) and score.stops == (
        "" if "answer_function" in outcome else "KeyError"
    )
    assert WILD.score(sample(1), run(sample(1), Scripted(reply), scoring="strict"), "strict", "").values


SIGNED = {
    "id": "c",
    "type": "function",
    "function": MENU,
    "index": 0,
    "extra_content": {"google": {"thought_signature": "s"}},
}


@pytest.mark.parametrize(
    ("message", "sent"),
    [
        ({"content": ""}, {"content": ""}),
        ({"content": None}, {"content": None}),
        ({}, {"content": None}),
        ({"content": "So.", "reasoning_content": ""}, {"content": "So.", "reasoning_content": ""}),
        ({"content": "So.", "reasoning_content": "Hm."}, {"content": "So.", "reasoning_content": "Hm."}),
        ({"content": "So.", "reasoning": "Hm.", "reasoning_content": None}, {"content": "So.", "reasoning": "Hm."}),
        ({"content": "So.", "reasoning_details": [{"id": 1}]}, {"content": "So.", "reasoning_details": [{"id": 1}]}),
        ({"content": [{"type": "thinking", "thinking": []}]}, {"content": [{"type": "thinking", "thinking": []}]}),
    ],
)
def test_a_message_goes_back_as_it_came(message: dict[str, Any], sent: dict[str, Any]) -> None:
    model = Scripted(received(**message, tool_calls=[SIGNED]), *REST)
    result = run(sample(1), model)
    assert model.requests[1].messages[-2] == {"role": "assistant", **sent, "tool_calls": [SIGNED]}
    whole = with_inputs(build_session(record()), build_session(record()).tasks[1], result)
    assert log(whole)[1]["inference_input"]["messages"] == list(model.requests[1].messages)


def test_the_log_keeps_an_empty_list_of_calls() -> None:
    result = run(sample(3), Scripted(received(content="Fine.", tool_calls=[])))
    output = log(result)[0]["inference_output"]
    assert (output["tool_calls"], result["action_name_label"]) == ([], "correct")


def test_pseudo_candidates_of_a_wrong_step_have_their_observation() -> None:
    """As in right steps (docs/benchmarks/wild.md#task-results)."""
    result = run(sample(3), Scripted(called(("readMenu", {}))))
    (candidate,) = log(result)[0]["inference_answer"].values()
    assert [one["name"] for one in candidate["action"]] == ["prepare_to_answer"] and isinstance(
        candidate["observation"], str
    )
    result = run(sample(2), Scripted(called(("nothing", {}))))
    asked = [
        one for one in log(result)[0]["inference_answer"].values() if one["action"][0]["name"].startswith("ask_user")
    ]
    assert all(set(one) == {"action", "observation", "user_input"} for one in asked)


def test_requests_are_restored_from_the_replies() -> None:
    model = Scripted(called(("readMenu", {})), called(("bookTable", {}), text="Now the table."), said("Soup."))
    result = run(sample(1), model)
    session = build_session(record())
    whole = with_inputs(session, session.tasks[1], result)
    assert [step["inference_input"]["messages"] for step in log(whole)] == [
        list(request.messages) for request in model.requests
    ]
    assert all("inference_input" not in step for step in log(result))


def test_observations_cannot_change_the_data() -> None:
    data = record()
    before = json.dumps(data)
    run(sample(1, data), Scripted(called(("readMenu", {})), said("")))
    assert json.dumps(data) == before


# -- the gold


@pytest.mark.parametrize("data", [record(), chinese(), earlier()], ids=["2026", "both languages", "2025"])
def test_the_gold_is_right(data: dict[str, Any]) -> None:
    session = build_session(data)
    assert unreachable(session) == []
    for task in session.tasks:
        result = play(session, task, answers(task))
        assert not isinstance(result, str)
        assert (result["action_name_label"], result["is_optimal"]) == ("correct", True)


@pytest.mark.parametrize("scoring", ["parity", "strict"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_oracle_is_right_through_the_harness(scoring: Scoring, language: str) -> None:
    task = wild(WildOptions(language=language))

    class Oracle(Scripted):
        async def complete(self, request: ChatRequest) -> ChatReply:
            assert request.case is not None
            return gold_reply(sample(int(request.case.sample[-1]) - 1, chinese(), language), request)

    scores = []
    for place in range(4):
        one = sample(place, chinese(), language)
        scores.append(task.score(one, run(one, Oracle(), scoring=scoring), scoring, "trigram"))
    assert all(score.passed for score in scores)
    figures = estimate(scores, task.metrics(scoring))
    assert (figures["Task"].value, figures["Session"].value, figures["Optimal"].value) == (100, 100, 100)


def test_the_oracle_speaks_where_the_gold_is_silent() -> None:
    data = record()
    data["english_answer_list"][3] = [final("")]
    session = build_session(data)
    assert native_reply(answers(session.tasks[3])[0]).text
    assert unreachable(session) == []


def mixed() -> Session:
    data = record()
    question = node("ask_user_for_required_parameters", {}, "For how many?", user_input="Five.")
    data["english_answer_list"][2] = [
        node("readMenu", {}, "soup"),
        question,
        node("bookTable", {"guests": 5}, 5, 0, 1),
        final("Done.", 2),
    ]
    return build_session(data)


def test_gold_that_nothing_reaches() -> None:
    data = record()
    data["english_answer_list"][0][0]["action"]["name"] = "flyAway"
    data["english_answer_list"][1][1]["action"]["arguments"] = {"guests": "three"}
    found = unreachable(build_session(data))
    assert len(found) == 2
    assert all("no path that the evaluator accepts" in one for one in found)
    assert [one.split(":")[0] for one in found] == [f"session 'wild_tool_bench_0', task {number}" for number in (1, 2)]


def test_a_question_that_may_come_beside_a_tool() -> None:
    found = unreachable(mixed())
    assert "task 3" in found[0] and "groups a pseudo action with a tool" in found[0]
    assert "task 4" in found[1] and "history" in found[1]
    session = mixed()
    tolerant = opening(session, session.tasks[3], tolerant=True)
    third = ["user", "assistant", "tool", "assistant", "user", "assistant", "tool", "assistant"]
    assert [message["role"] for message in tolerant[-9:]] == [*third, "user"]
    assert play(session, session.tasks[3], answers(session.tasks[3])) == FAILED


# -- the task


def test_data_is_found_where_the_release_has_it(tmp_path: Path) -> None:
    (tmp_path / "wild" / "data").mkdir(parents=True)
    assert WildData().find(tmp_path) is None
    write(tmp_path / "wild" / "data", record())
    assert WildData().find(tmp_path) == tmp_path / "wild"
    assert WildData().check(tmp_path / "wild")[0] == []


def test_check_names_broken_lines_too(tmp_path: Path) -> None:
    bad = record("bad")
    del bad["english_tasks"]
    write(tmp_path, record(), bad)
    problems, _ = WildData().check(tmp_path)
    assert [("line 2" in one, "'bad'" in one) for one in problems] == [(True, True)]
    with pytest.raises(UsageProblem, match="holds none of"):
        WildData().check(tmp_path / "none")


def test_a_case_is_told_under_its_session() -> None:
    assert WILD.shown.category_of(("chat", "fourth", "structure-none", "wild_tool_bench_0")) == "wild_tool_bench_0"


QUESTION = {"tool_name": "bookTable", "missing_required_parameters": ["guests"]}


def beside(*names: str) -> dict[str, Any]:
    """A session whose first task has these actions side by side, and the final answer."""
    data = record()
    nodes = [
        node(
            name,
            QUESTION if name == ASK else {},
            "Which?",
            **({"user_input": "Five."} if name == ASK else {}),
        )
        for name in names
    ]
    data["english_answer_list"][0] = [*nodes, final("Done.", *range(len(nodes)))]
    return data


@pytest.mark.parametrize(
    ("names", "replies", "lost"),
    [
        # two questions: the path that asks both in one message beside the call is over by then
        (("readMenu", ASK, ASK), [said("A?"), said("B?"), called(("readMenu", {}))], True),
        (("readMenu", ASK), [said("A?"), said("B?"), called(("readMenu", {}))], False),
        (("readMenu", ASK), [said("A?"), called(("readMenu", {})), said("Done.")], False),
        (("readMenu", ASK, ASK), [said("A?"), called(("readMenu", {}))], False),
        (("readMenu", ASK, ASK), [called(("readMenu", {})), said("A?"), said("B?"), said("Done.")], False),
    ],
)
def test_a_call_after_two_questions_beside_it_loses_the_session(
    names: Sequence[str], replies: Sequence[ChatReply], lost: bool
) -> None:
    """As upstream, whose questions bind no path: its index is out of the range of the shorter ones."""
    expected = f"{FAILED}list index out of range" if lost else None
    found = run(sample(0, beside(*names)), Scripted(*replies, said("Done.")))
    assert (found if isinstance(found, str) else None) == expected
    strict = run(sample(0, beside(*names)), Scripted(*replies, said("Done.")), scoring="strict")
    assert not isinstance(strict, str)


@pytest.mark.parametrize(
    ("release", "scoring", "date", "temperature", "schema"),
    [
        ("2026", "parity", "Current Date: ", 0.0, {"type": "int", "default": 1}),
        ("2025", "parity", "Current Date:2", 0.1, {"type": "integer"}),
        ("2025", "strict", "Current Date: ", 0.0, {"type": "int", "default": 1}),
    ],
)
def test_what_a_model_with_calls_of_its_own_gets(
    release: Any, scoring: Any, date: str, temperature: float, schema: dict[str, Any]
) -> None:
    data = record()
    for tool in data["english_tools"]:
        tool["function"]["parameters"] = {"type": "object", "properties": {"x": {"type": "int", "default": 1}}}
    model = Scripted(said("Hi."))
    case = Case(sample(3, data), 1, 0, CaseSettings("native", scoring), model, None, Path())
    asyncio.run(run_task(case, sending=Sending(release=release)))
    (request,) = model.requests
    assert request.messages[0]["content"].startswith(date)
    assert request.usual.temperature == temperature
    assert request.tools[0]["function"]["parameters"]["properties"]["x"] == schema


JSON_VALUES = [None, True, 0, 1.5, "", "bookTable", [], ["bookTable"], {}, {"name": "bookTable"}]


@pytest.mark.parametrize("scoring", ["parity", "strict"])
@pytest.mark.parametrize("field", ["id", "function", "name", "arguments", "type"])
def test_no_value_in_a_call_breaks_a_case(field: str, scoring: Any) -> None:
    """Names are compared with those of the gold, whatever they are; two that cannot be sorted lose the session."""
    one = sample(0)
    tasks = [wild(WildOptions(evaluator=release)) for release in RELEASES]
    for value in JSON_VALUES:
        for more in (0, 1):
            call: dict[str, Any] = {"id": "c", "type": "function", "function": {"name": "bookTable", "arguments": "{}"}}
            (call["function"] if field in ("name", "arguments") else call)[field] = value
            reply = received(content=None, tool_calls=[call] * (1 + more))
            result = run(one, Scripted(reply, said("Done.")), scoring=scoring)
            scores = [each.score(one, result, scoring, "") for each in tasks]
            if field == "name" and value != "bookTable":
                assert not any(score.passed for score in scores)
