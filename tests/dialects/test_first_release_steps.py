"""What Hammer, xLAM, Gorilla and GLM-4 send within a task, as WildToolBench's first release does."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.chat import ChatReply
from agentgauge.core.types import Sample, Scoring, Usage
from bench_wild.prompts import Sending
from bench_wild.run import EMPTY, run_task
from tests.dialects.first_release.session import SESSION, final
from tests.dialects.test_first_release import changed, last, solved
from tests.wild.scoring import ask, node, tool
from tests.wild.test_run import Scripted

QUESTION = " Plant something."


def ends(model: Scripted, request: int, count: int) -> list[tuple[str, str]]:
    """The last messages of a request."""
    return [(one["role"], one["content"]) for one in model.requests[request].messages[-count:]]


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("Where?", "Where?"),
        ("", ""),
        ('```json\n[{"name": "plant"', '```json\n[{"name": "plant"'),
        ('```\n[{"name": "plant"', None),
    ],
)
def test_hammers_question_stays_as_it_was_but_for_a_broken_list(written: str, kept: str | None, tmp_path: Path) -> None:
    result, model = solved("hammer", "en", 1, tmp_path, written, "Hm.")
    said = [] if kept is None else [("assistant", kept)]
    assert ends(model, 1, 3)[1 if said else 2 :] == [*said, ("user", " In B4.")]
    assert ends(model, 1, len(said) + 2)[0] == ("user", QUESTION)
    assert len(model.requests) == 2 and last(result)["error_reason"] != EMPTY


def test_hammers_results_stay_the_users_after_a_question(tmp_path: Path) -> None:
    """Of the running task, with non-ASCII escaped; in other benchmarks they are a tool's then."""
    gold = [{**node("list_beds"), "observation": "café"}, ask(0), final("Done.", 1)]
    data = changed(answer_list=[gold, SESSION["english_answer_list"][1]])
    called = '```\n[{"name": "list_beds", "arguments": {}}]\n```'
    _, model = solved("hammer", "en", 0, tmp_path, called, "Which?", "Done.", data=data)
    assert ends(model, 2, 4) == [
        ("assistant", called),
        ("user", '[{"name": "list_beds", "results": "caf\\u00e9"}]'),
        ("assistant", "Which?"),
        ("user", "B4"),
    ]


def steps(model: Scripted, request: int) -> list[Any]:
    content: str = model.requests[request].messages[0]["content"]
    listed: list[Any] = json.loads(content.splitlines()[-2])
    return listed


def test_xlams_steps_have_what_the_model_wrote(tmp_path: Path) -> None:
    called = '{"tool_calls": [{"arguments": {"bed": "B4"}, "name": "plant", "why": 1}], "more": 2}'
    _, model = solved("xlam", "en", 1, tmp_path, '{"tool_calls": []}', called, "Done.")
    asked, reply, call = steps(model, 2)[-3:]
    assert (asked["thought"], asked["tool_calls"]) == ("use  to solve user problem", [[]])
    assert (reply["thought"], reply["user_input"], reply["tool_calls"]) == ("In B4.", "In B4.", [])
    assert (call["thought"], call["user_input"]) == ("use plant to solve user problem", "")
    assert json.dumps(call["tool_calls"]) == '[[{"arguments": {"bed": "B4"}, "name": "plant", "why": 1}]]'


@pytest.mark.parametrize(
    ("written", "thought"),
    [('{"no_tool_calls": [1]}', {"no_tool_calls": [1]}), ('"tool_calls"', "tool_calls"), ('{"calls": []}', None)],
)
def test_xlams_reply_in_json_without_calls_is_a_value_in_its_step(written: str, thought: Any, tmp_path: Path) -> None:
    result, model = solved("xlam", "en", 1, tmp_path, written, "Hm.")
    said = steps(model, 1)[-2]
    assert (said["thought"], said["tool_calls"]) == (written if thought is None else thought, [])
    assert result["inference_log"]["step_0"]["inference_output"]["content"] == written


def test_an_empty_list_of_xlam2_is_a_question_and_goes_back_as_it_was_read(tmp_path: Path) -> None:
    _, model = solved("xlam2", "en", 1, tmp_path, "[]", "Hm.")
    assert ends(model, 1, 2) == [("assistant", "use  to solve user problem"), ("user", "In B4.")]


@pytest.mark.parametrize("lacking", ["description", "parameters"])
def test_xlams_tools_have_a_description_and_parameters(lacking: str, tmp_path: Path) -> None:
    plain = tool("read")
    function = {name: value for name, value in plain["function"].items() if name != lacking}
    result, model = solved("xlam", "en", 0, tmp_path, "Hm.", data=changed(tools=[{**plain, "function": function}]))
    assert (model.requests, last(result)["error_reason"]) == (
        [],
        "the published code needs a description and parameters of every tool",
    )


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ('{"tool_calls": null}', EMPTY),
        ('{"tool_calls": [{"arguments": {}}]}', EMPTY),
        (
            '{"tool_calls": [{"name": "read"}, {"name": "list_beds", "arguments": {}}]}',
            "parse tool_calls failed, error: 'arguments'",
        ),
    ],
)
def test_wrong_calls_of_xlam_are_no_question(written: str, reason: str, tmp_path: Path) -> None:
    for task in (0, 1):
        result, model = solved("xlam", "en", task, tmp_path, written)
        assert (last(result)["error_reason"], len(model.requests)) == (reason, 1)


@pytest.mark.parametrize(
    ("family", "written", "label"),
    [
        ("glm4", '\nplant\n{"bed": "B4"}', "correct"),
        ("glm4", "plant\n5", "error"),
        ("glm4", "plant\nfive", "correct"),
        ("gorilla", "<<function>>plant(bed='B4') and more", "correct"),
        ("gorilla", "<<function>>plant(bed='B4')", "error"),
        ("gorilla", " \n", "error"),
    ],
)
def test_whether_a_reply_is_a_question(family: str, written: str, label: str, tmp_path: Path) -> None:
    result, model = solved(family, "en", 1, tmp_path, written, "Hm.")
    assert len(model.requests) == (2 if label == "correct" else 1), last(result)


def test_gorilla_loses_the_call_before_a_comma_and_knows_no_dotted_name(tmp_path: Path) -> None:
    for written in ("<<function>>read(bed='B1'), <<function>>list_beds()", "<<function>>garden.list_beds()"):
        result, _ = solved("gorilla", "en", 0, tmp_path, written, "Hm.")
        names = [
            call["function"]["name"] for call in result["inference_log"]["step_0"]["inference_output"]["tool_calls"]
        ]
        assert names == (["list_beds"] if "," in written else ["<ast.Attribute object>"])


@pytest.mark.parametrize(
    ("family", "sending", "wish", "reply", "names"),
    [
        ("gorilla", Sending(), "User: Plant something.", "User: In B4.", 4),
        ("gorilla", Sending(roles=False), QUESTION, "User: In B4.", 2),
        ("glm4", Sending(), QUESTION, "In B4.", 0),
        ("hammer", Sending(), QUESTION, " In B4.", 0),
        ("xlam", Sending(roles=False), QUESTION, "In B4.", 0),
        ("prompt", Sending(), QUESTION, " In B4.", 0),
    ],
)
def test_speakers_names(family: str, sending: Sending, wish: str, reply: str, names: int, tmp_path: Path) -> None:
    _, model = solved(family, "en", 1, tmp_path, "Where?", "Hm.", sending=sending)
    sent = "\n".join(one["content"] for one in model.requests[1].messages)
    assert wish in sent and reply in sent and sent.count("User:") == names


@pytest.mark.parametrize("family", ["xlam", "gorilla", "glm4", "prompt"])
def test_descriptions_are_escaped_but_for_the_prompt(family: str, tmp_path: Path) -> None:
    plain = tool("read")
    tools = [{**plain, "function": {**plain["function"], "description": "café"}}]
    _, model = solved(family, "en", 0, tmp_path, "Hm.", data=changed(tools=tools))
    sent = "".join(one["content"] for one in model.requests[0].messages)
    assert ("café" in sent, "caf\\u00e9" in sent) == (family == "prompt", family != "prompt")


def counted(text: str, prompt: int, completion: int, limit: int | None = 2500) -> ChatReply:
    return ChatReply(text, usage=Usage(1, prompt, completion), max_tokens=limit)


@pytest.mark.parametrize(
    ("replies", "limits", "content"),
    [
        ([counted("Where?", 2400, 100)], [2500], "Where?"),
        ([counted("Where is it?", 2400, 101), counted("Where is", 2400, 100, 100)], [2500, 100], "Where is"),
        ([counted("Where?", 2500, 1)], [2500], ""),
        ([counted("Where?", 9000, 0)], [2500], ""),
        ([counted("Where?", 9000, 9, limit=4000)], [2500], "Where?"),
        ([ChatReply("Where?", max_tokens=2500)], [2500], "Where?"),
    ],
)
def test_glm4_has_2500_tokens_for_request_and_reply(
    replies: list[ChatReply], limits: list[int], content: str, tmp_path: Path
) -> None:
    model = asked("parity", tmp_path, replies)
    assert [request.usual.max_tokens for request in model.requests[: len(limits)]] == limits
    assert [request.usual.temperature for request in model.requests[: len(limits)]] == [0.0] * len(limits)
    answered = [one["content"] for one in model.requests[-1].messages[-2:]]
    assert answered == [content, "In B4."] if content else len(model.requests) == 1


def test_glm4_under_strict_has_the_servers_limit(tmp_path: Path) -> None:
    (request, *_) = asked("strict", tmp_path, [counted("Where?", 9000, 9)]).requests
    assert request.usual.max_tokens is None


def asked(scoring: Scoring, place: Path, replies: list[ChatReply]) -> Scripted:
    model = Scripted(*replies, counted("Hm.", 1, 1))
    sample = Sample("s", "wild", (), {"session": SESSION, "task": 1, "language": "en"}, place)
    asyncio.run(run_task(Case(sample, 1, 0, CaseSettings("glm4", scoring), model, None, place)))
    return model
