"""The rules for plans and tool results: each rejects the defect that it is there for, and none rejects a sound plan."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench_wild.generate.checker import PlanVerdict, check_plan, needs_judge, read_judgement
from bench_wild.generate.play import check_results
from bench_wild.generate.texts import pseudo_tools
from bench_wild.generate.transcript import fence
from bench_wild.labels import ASK, PREPARE


def tool(name: str, required: list[str], *optional: str) -> dict[str, Any]:
    properties = {key: {"type": "string"} for key in (*(key for key in required if key != "ghost"), *optional)}
    schema = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": schema}}


TOOLS = [
    tool("getTide", ["port", "day"], "unit"),
    tool("listPorts", []),
    tool("linkChecker", []),
    tool("odd", ["ghost", "port"]),
    *pseudo_tools("en"),
]

TIDE = {"name": "getTide", "arguments": {"port": "Brest", "day": "2024-05-01"}}
ANSWER = {"name": PREPARE, "arguments": {"answer_type": "tool"}}
CHAT = {"name": PREPARE, "arguments": {"answer_type": "chat"}}


def ask(name: Any = "getTide", missing: Any = ("day",)) -> dict[str, Any]:
    return {
        "name": ASK,
        "arguments": {"tool_name": name, "missing_required_parameters": list(missing) if missing else missing},
    }


def tide(**changes: Any) -> dict[str, Any]:
    return {"name": "getTide", "arguments": {**TIDE["arguments"], **changes}}


def plan(
    *actions: Any, thought: str = "The tide is wanted.", steps: str = "Now: getTide.", mark: str = "Planner:"
) -> str:
    return f"{mark}\n{fence({'Mission_Finish': 'no', 'Thought': thought, 'Plan': steps, 'Action_List': list(actions)})}"


ENDLESS = (
    "call" * 50_000,
    "run " * 50_000,
    "simulate" + " " * 100_000,
    "call " + "a" * 200_000,
    "一" * 200_000,
    "1" * 200_000,
    "串行" * 50_000,
)
"""A model that repeats itself: what must be read in no time."""

SOUND = {
    **{f"endless {text[:8]!r}": plan(TIDE, thought=text) for text in ENDLESS},
    "one call": plan(TIDE),
    "one call with the Chinese mark": plan(TIDE, mark="Planner："),
    "two calls": plan(TIDE, tide(port="Roscoff")),
    "an optional parameter": plan(tide(unit="m")),
    "no required parameters": plan({"name": "listPorts", "arguments": {}}),
    "a required name that the tool does not declare": plan({"name": "odd", "arguments": {"port": "Brest"}}),
    "a question": plan(ask()),
    "a question for both": plan(ask(missing=["port", "day"])),
    "an answer": plan(ANSWER),
    "a Chinese plan": plan(TIDE, thought="需要潮汐。", steps="现在：getTide。"),
    "a tool that simulates is spoken of": plan(TIDE, thought="The user wants to simulate a storm."),
    "a tool that is called a checker": plan(
        {"name": "linkChecker", "arguments": {}}, thought="linkChecker fits.", steps="Now: linkChecker."
    ),
    "a spellchecker is spoken of": plan(TIDE, thought="No spellchecker is needed."),
    "several times, step by step": plan(TIDE, steps="Now: getTide, serial. Later: getTide for the next 2 ports."),
    "no mark": plan(TIDE, mark=""),
    "another speaker": plan(TIDE, mark="Agent:"),
    "words before and behind": f"I think.\n{plan(TIDE)}\nSo be it.",
    "two questions": plan(ask(), ask(missing=["port"])),
    "a question for nothing": plan(ask(missing=[])),
}

DEFECTS: dict[str, tuple[str, str, str]] = {  # plan, part of the verdict, a word of it
    "without a fence": (
        "Planner: " + json.dumps({"Thought": "", "Plan": "", "Action_List": [TIDE]}), "format", "fence"
    ),
    "a fence without its label": (plan(TIDE).replace("```json", "```"), "format", "fence"),
    "a fence without an end": (plan(TIDE)[:-4], "format", "fence"),
    "a fence in a text of the JSON": (plan(TIDE, thought="So: ```it```."), "format", "fence"),
    "no JSON": ("Planner: I call getTide.", "format", "JSON"),
    "broken JSON": (plan(TIDE)[:-9] + "```", "format", "JSON"),
    "a comment in JSON": (plan(TIDE).replace('"Plan"', '// now\n"Plan"'), "format", "JSON"),
    "a list instead of an object": ("Planner: " + fence([TIDE]), "format", "JSON"),
    "no action list": (fence({"Thought": "", "Plan": ""}), "format", "Action_List"),
    "actions that are names": (plan("getTide"), "format", "Action_List"),
    "an action without arguments": (plan({"name": "getTide"}), "format", "Action_List"),
    "arguments as text": (plan({"name": "getTide", "arguments": "{}"}), "format", "Action_List"),
    "simulated execution": (plan(TIDE, thought="After the simulated execution I know."), "thought", "simulated"),
    "simulated calls": (plan(TIDE, steps="Simulate the tool calls now."), "thought", "Simulate"),
    "executed as simulated": (plan(TIDE, thought="The call has been simulated already."), "thought", "simulated"),
    "simulation in Chinese": (plan(TIDE, thought="先模拟执行工具。"), "thought", "模拟执行"),
    "the checker": (plan(TIDE, thought="The Checker said no."), "thought", "Checker"),
    "the checker in Chinese": (plan(TIDE, thought="按照Checker的意见修改。"), "thought", "Checker"),
    "the checker in the plan": (plan(TIDE, steps="Satisfy Checker_Planner."), "thought", "Checker"),
    "nothing to do": (plan(), "call", "empty"),
    "an unknown tool": (plan({"name": "getMoon", "arguments": {}}), "call", "getMoon"),
    "an unknown tool among known": (plan(TIDE, {"name": "getMoon", "arguments": {}}), "call", "getMoon"),
    "a question beside a call": (plan(TIDE, ask()), "call", "alone"),
    "an answer beside a call": (plan(TIDE, ANSWER), "call", "alone"),
    "a question beside an answer": (plan(ask(), CHAT), "call", "alone"),
    "serially so many times": (plan(TIDE, steps="Now: call getTide serially 3 times."), "call", "serially 3 times"),
    "so many times in words": (plan(TIDE, steps="Serial calls of getTide, three times."), "call", "three times"),
    "so many times serially": (plan(TIDE, steps="Call getTide 2 times serially."), "call", "2 times"),
    "so many times in Chinese": (plan(TIDE, steps="串行调用getTide3次。"), "call", "串行"),
    "so many times in Chinese words": (plan(TIDE, steps="现在：串行调用三次getTide。"), "call", "三次"),
    "an unknown parameter": (plan(tide(depth="3")), "parameters", "depth"),
    "a required parameter is missing": (plan({"name": "getTide", "arguments": {"port": "Brest"}}), "parameters", "day"),
    "a required parameter is empty": (plan(tide(day="")), "parameters", "empty"),
    "the second call lacks a parameter": (
        plan(TIDE, {"name": "getTide", "arguments": {"day": "2024-05-01"}}), "parameters", "port"
    ),
    "a question about no tool": (plan(ask("getMoon")), "parameters", "getMoon"),
    "a question about a pseudo tool": (plan(ask(PREPARE, ["answer_type"])), "parameters", PREPARE),
    "a question about a tool that is no text": (plan(ask(["getTide"])), "parameters", "no tool"),
    "a question for an optional parameter": (plan(ask(missing=["unit"])), "parameters", "unit"),
    "a question for an unknown parameter": (plan(ask(missing=["day", "depth"])), "parameters", "depth"),
    "a question with a text for the list": (
        plan({"name": ASK, "arguments": {"tool_name": "getTide", "missing_required_parameters": "day"}}),
        "parameters", "no list"
    ),
    "a question about null": (plan(ask(None)), "parameters", "no tool"),
    "a question about an empty list": (plan(ask([])), "parameters", "no tool"),
    "a question for null": (plan(ask(missing=None)), "parameters", "no list"),
    "an answer of kind null": (
        plan({"name": PREPARE, "arguments": {"answer_type": None}}), "parameters", "answer_type is None"
    ),
    "an answer of kind list": (
        plan({"name": PREPARE, "arguments": {"answer_type": ["tool"]}}), "parameters", "answer_type is"
    ),
    "a question without a tool": (
        plan({"name": ASK, "arguments": {"missing_required_parameters": ["day"]}}), "parameters", "tool_name"
    ),
    "another kind of answer": (plan({"name": PREPARE, "arguments": {"answer_type": "poem"}}), "parameters", "poem"),
    "no kind of answer": (plan({"name": PREPARE, "arguments": {}}), "parameters", "answer_type"),
}  # fmt: skip


@pytest.mark.parametrize("content", SOUND.values(), ids=SOUND)
@pytest.mark.parametrize("after_tool", [False, True])
def test_a_sound_plan_is_accepted(content: str, after_tool: bool) -> None:
    assert check_plan(content, TOOLS, after_tool=after_tool) == PlanVerdict()


@pytest.mark.parametrize(("content", "part", "word"), DEFECTS.values(), ids=DEFECTS)
def test_a_planted_defect_is_refused_in_its_part(content: str, part: str, word: str) -> None:
    verdict = check_plan(content, TOOLS, after_tool=False)
    assert not verdict.accepted and verdict.to_json()["correct"] == "no"
    assert word in getattr(verdict, part)
    assert [name for name in ("format", "thought", "call", "parameters") if getattr(verdict, name)] == [part]


@pytest.mark.parametrize("after_tool", [False, True])
def test_of_several_equal_answers_each_must_be_sound(after_tool: bool) -> None:
    assert check_plan(plan(ANSWER, ANSWER), TOOLS, after_tool=after_tool).accepted
    assert check_plan(plan(ANSWER, CHAT), TOOLS, after_tool=after_tool).accepted is not after_tool


@pytest.mark.parametrize("mark", ["Planner:", "Planner："])
def test_small_talk_right_after_a_result_is_refused_with_either_colon(mark: str) -> None:
    assert check_plan(plan(CHAT, mark=mark), TOOLS, after_tool=False).accepted
    assert "must be tool" in check_plan(plan(CHAT, mark=mark), TOOLS, after_tool=True).call


@pytest.mark.parametrize(
    ("content", "judged"),
    [
        (plan(TIDE), False),
        (plan(TIDE, tide(port="Roscoff")), True),
        (plan(TIDE, thought="These go in parallel."), True),
        (plan(TIDE, steps="Serially: getTide."), True),
        (plan(TIDE, thought="先串行。"), True),
        (plan(TIDE, steps="并行调用。"), True),
    ],
)
def test_the_judge_is_asked_about_several_actions_or_words_of_order(content: str, judged: bool) -> None:
    assert needs_judge(content) is judged


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (fence({"tool_call_analysis": "fine", "correct": "yes"}), ("fine", True)),
        (fence({"tool_call_analysis": "wait", "correct": "no"}), ("wait", False)),
        ("Checker_Planner：" + fence({"tool_call_analysis": "fine", "correct": "yes"}), ("fine", True)),
        ("fine, yes", None),
        (fence({"correct": "yes"}), None),
        (fence({"tool_call_analysis": "fine", "correct": "maybe"}), None),
        (fence(["yes"]), None),
    ],
)
def test_a_judgement_is_read_or_not_taken(reply: str, found: tuple[str, bool] | None) -> None:
    assert read_judgement(reply) == found


def results(count: int) -> str:
    return "Tool:\n" + fence({"Observation_List": [{"status_code": 200, "response": {}}] * count})


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (results(2), ""),
        (results(2).replace("Tool:", "Tool："), ""),
        (results(1), "1 observations for 2 actions"),
        (results(3), "3 observations for 2 actions"),
        (results(0), "0 observations for 2 actions"),
        (results(2).replace("Tool:", ""), ""),
        ("Tool: it worked", "no ```json fence"),
        ('Tool: {"Observation_List": [1, 2]}', "no ```json fence"),
        (results(2).replace("```json", "```"), "no ```json fence"),
        (results(2)[:-8], "no ```json fence"),
        ("Tool:" + fence([1, 2]), "no ```json fence"),
        ("Tool:" + fence({"Observation_List": "two"}), "no ```json fence"),
    ],
)
def test_results_are_refused_that_cannot_be_read_or_do_not_match_the_actions(reply: str, why: str) -> None:
    found = check_results(reply, 2)
    assert why in found and bool(found) == bool(why)
