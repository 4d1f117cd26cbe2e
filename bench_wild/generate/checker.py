"""The rules of the planner's checker, which a plan must follow (docs/benchmarks/wild.md#agents). Pure.

A verdict has one sentence for each of the four parts of the original's answer; an empty one means nothing is wrong
there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentgauge.core.types import Json
from bench_wild.generate.transcript import DialogueError, fenced_json, strict_json, without_mark
from bench_wild.labels import ASK, PREPARE, PSEUDO

# what may be repeated is bounded: a model that writes "callcallcall..." without end must not hold the others up
_STAGED = re.compile(
    r"simulat\w{0,9}\s+(?:the\s+|a\s+)?(?:tool\s+)?(?:execut|call|run|result|respons|invo)"
    r"|(?:execut|call|run|invo)\w{0,9}\s+(?:\w+\s+){0,2}simulated|模拟(?:工具)?(?:执行|调用|运行|返回)|(?<![a-z])checker(?![a-z])",
    re.IGNORECASE,
)
_ORDER = re.compile(r"(?<![a-z])(?:serial|parallel)|串行|并行", re.IGNORECASE)
_NUMBER = (
    r"(?:\d{1,9}|two|three|four|five|six|seven|eight|nine|ten|several|multiple|N|[一二两三四五六七八九十多几]{1,9})"
)
_SERIAL_TIMES = re.compile(
    rf"\bserial(?:ly)?\b[^.;\n]{{0,40}}\b{_NUMBER}\s+times|\b{_NUMBER}\s+times\s+(?:\w+\s+)?serial(?:ly)?\b"
    rf"|串行[^。；\n]{{0,20}}{_NUMBER}\s*次"
    rf"|{_NUMBER}\s*次串行",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class PlanVerdict:
    """The problems of a plan, by part. An empty text means no problem."""

    format: str = ""
    thought: str = ""
    call: str = ""
    parameters: str = ""
    judged: str = ""  # what the judge found, also where it agrees
    refused: bool = False  # by the judge

    @property
    def accepted(self) -> bool:
        return not (self.format or self.thought or self.call or self.parameters or self.refused)

    def why(self) -> str:
        return "; ".join(
            filter(None, (self.format, self.thought, self.call, self.parameters, self.judged if self.refused else ""))
        )

    def with_judgement(self, analysis: str, agrees: bool) -> PlanVerdict:
        return replace(self, judged=analysis, refused=not agrees)

    def to_json(self) -> dict[str, str]:
        return {
            "format_analysis": self.format,
            "thought_and_plan_analysis": self.thought,
            "tool_call_analysis": self.call or self.judged,
            "parameter_input_analysis": self.parameters,
            "correct": "yes" if self.accepted else "no",
        }


def check_plan(content: str, tools: Sequence[Mapping[str, Any]], *, after_tool: bool) -> PlanVerdict:
    """The rules. ``content`` is the planner's message; ``tools`` has the pseudo tools; ``after_tool`` says that the
    plan follows a tool's result. Raises DialogueError for a plan without Thought or Plan."""
    plan = strict_json(content)
    if not isinstance(plan, dict):
        return PlanVerdict(format="there is no ```json fence with a JSON object")
    if missing := next((name for name in ("Thought", "Plan") if plan.get(name) is None), ""):
        raise DialogueError("incomplete plan", f"the planner wrote a plan without {missing}")
    actions = plan.get("Action_List")
    if not isinstance(actions, list) or not all(_is_action(action) for action in actions):
        return PlanVerdict(format="Action_List is no list of objects with a name and arguments")
    story = _story(plan)
    staged = _STAGED.search(_without_names(story, tools))
    return PlanVerdict(
        thought=f"Thought and Plan must not speak of {staged[0]!r}" if staged else "",
        call="; ".join(_calls(actions, tools, story, after_tool)),
        parameters="; ".join(text for action in actions for text in _parameters(action, tools)),
    )


def needs_judge(content: str) -> bool:
    """Whether a model must judge a plan that keeps the rules: it has several actions, or mentions their order."""
    plan = strict_json(content)
    return len(plan["Action_List"]) > 1 or bool(_ORDER.search(_story(plan)))


def read_judgement(reply: str) -> tuple[str, bool] | None:
    """The analysis of a judge's reply and whether it agrees; None for any other text."""
    found = fenced_json(without_mark(reply))
    if not isinstance(found, dict) or "tool_call_analysis" not in found or found.get("correct") not in ("yes", "no"):
        return None
    return str(found["tool_call_analysis"]), found["correct"] == "yes"


def _story(plan: Mapping[str, Json]) -> str:
    return f"{plan['Thought']}\n{plan['Plan']}"


def _without_names(text: str, tools: Sequence[Mapping[str, Any]]) -> str:
    """A tool may be called grammarChecker; to speak of it is no mistake."""
    for tool in tools:
        text = text.replace(tool["function"]["name"], "")
    return text


def _is_action(action: Json) -> bool:
    return (
        isinstance(action, dict) and isinstance(action.get("name"), str) and isinstance(action.get("arguments"), dict)
    )


def _calls(
    actions: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], text: str, after_tool: bool
) -> Iterator[str]:
    names = [action["name"] for action in actions]
    if not names:
        yield "Action_List is empty"
    for name in dict.fromkeys(names):
        if _tool(name, tools) is None:
            yield f"there is no tool {name}"
    if len(set(names)) > 1:
        yield from (f"{name} must stand alone in Action_List" for name in dict.fromkeys(names) if name in PSEUDO)
    for action in actions:
        if action["name"] == PREPARE and after_tool and action["arguments"].get("answer_type") == "chat":
            yield "right after a tool's result the answer_type must be tool"
    if found := _SERIAL_TIMES.search(text):
        yield f"a call that is repeated is planned step by step, not as {found[0]!r}"


def _parameters(action: Mapping[str, Any], tools: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    name, arguments = action["name"], action["arguments"]
    tool = _tool(name, tools)
    if tool is None:
        return
    for argument in arguments:
        if argument not in _properties(tool):
            yield f"{name} has no parameter {argument}"
    for wanted in required(tool):
        if wanted not in arguments:
            yield f"{name} lacks the required parameter {wanted}"
        elif arguments[wanted] == "":
            yield f"{name} has an empty text for the required parameter {wanted}"
    if name == ASK:
        yield from _asked(arguments, tools)
    if name == PREPARE and (kind := arguments.get("answer_type", "")) not in ("", "tool", "chat"):
        yield f"answer_type is {kind!r}; it is tool or chat"


def _asked(arguments: Mapping[str, Any], tools: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    about, missing = arguments.get("tool_name", ""), arguments.get("missing_required_parameters", "")
    if "" in (about, missing):
        return  # said already
    tool = _tool(about, tools) if isinstance(about, str) and about not in PSEUDO else None
    if tool is None:
        yield f"{ASK} names {about!r}, which is no tool"
        return
    if not isinstance(missing, list):
        yield f"{ASK} names no list of missing parameters"
        return
    for name in missing:
        if name not in required(tool):
            yield f"{ASK} names {name!r}, which {about} does not require"


def _tool(name: str, tools: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The tool of a name; of several, the first."""
    return next((tool["function"] for tool in tools if tool["function"]["name"] == name), None)


def _schema(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    schema = tool.get("parameters")
    return schema if isinstance(schema, Mapping) else {}


def _properties(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    found = _schema(tool).get("properties")
    return found if isinstance(found, Mapping) else {}


def required(tool: Mapping[str, Any]) -> Sequence[str]:
    """Required names. One that the tool does not declare could never be given, so it is not asked for."""
    names = _schema(tool).get("required")
    return [name for name in names if name in _properties(tool)] if isinstance(names, list) else []
