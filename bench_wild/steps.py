"""Parses a task's log, the model's reply and the expected actions at each step (docs/benchmarks/wild.md#task-results),
and explains why it is wrong: labels for reports, and the expected and actual calls, argument by argument.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentgauge.core.text import compared, cut, load_arguments, looks_like_call, shown, shown_call, shown_text
from agentgauge.core.types import Json
from bench_wild.labels import ASK, EMPTY, PREPARE, PSEUDO

CORRECT = "correct"
ERROR = "error"


STOPS: Mapping[str, str] = {"absent": "KeyError", "unreadable": "TypeError", "unhashable": "TypeError"}
"""Why a name cannot be looked up → the exception with which the earlier evaluator stops there."""


@dataclass(frozen=True, slots=True)
class LoggedCall:
    name: str
    arguments: Json  # JSON text; whatever the model gave, where that is none
    unnamed: str = ""  # why the earlier evaluator cannot look the name up: a key of STOPS; mostly it can


@dataclass(frozen=True, slots=True)
class Step:
    """One reply of the model."""

    place: int  # number in the log, from 0
    action: str  # "correct" or "error"
    reason: str  # why the action is wrong; empty where it is not
    content: str | None
    calls: tuple[LoggedCall, ...]  # in the order given; a scorer may sort them
    candidates: tuple[
        tuple[LoggedCall, ...], ...
    ]  # expected: the matched group alone, or all of the step; duplicates stay
    answered: bool  # whether the log holds ``inference_answer``: upstream's evaluator stops where it does not
    outcomes: tuple[str, ...] = ()  # for each call "correct" or an error text; empty: arguments were not checked

    @property
    def key(self) -> str:
        return f"step_{self.place}"

    @property
    def arguments(self) -> str | None:
        """``correct``, ``error``, or None where they were not checked."""
        if not self.outcomes:
            return None
        return CORRECT if all(outcome == CORRECT for outcome in self.outcomes) else ERROR


def read_steps(log: Mapping[str, Json]) -> list[Step]:
    """The steps of an ``inference_log``, in order."""
    return [_step(int(key.removeprefix("step_")), entry) for key, entry in log.items() if key.startswith("step_")]


def _step(place: int, entry: Mapping[str, Json]) -> Step:
    output = entry["inference_output"]
    answer = entry.get("inference_answer")
    return Step(
        place,
        output["current_action_name_label"],
        output.get("error_reason") or "",
        _shown(output.get("content")),
        tuple(read_calls(output.get("tool_calls"))),
        tuple(
            tuple(LoggedCall(one["name"], one["arguments"]) for one in group["action"])
            for group in (answer or {}).values()
        ),
        answer is not None,
    )


def _shown(content: Json) -> str | None:
    """The content of a reply as a text, for people to read."""
    return content if isinstance(content, str | None) else json.dumps(content, ensure_ascii=False)


def read_calls(calls: Json) -> Iterator[LoggedCall]:
    """Calls as they came; a name that is no text is empty, and arguments that are missing are null. A number or a
    boolean in place of the list is a call that cannot be read."""
    for call in calls if isinstance(calls, list) else [None] if isinstance(calls, int | float) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        function = function if isinstance(function, Mapping) else {}
        name = function.get("name")
        yield LoggedCall(name if isinstance(name, str) else "", function.get("arguments"), _unnamed(call))


def _unnamed(call: Json) -> str:
    """A text or a list lacks a name as an object does, anything else is unreadable: as upstream."""
    for key in ("function", "name"):
        if not isinstance(call, dict | list | str):
            return "unreadable"
        if key not in call:
            return "absent"
        if not isinstance(call, dict):
            return "unreadable"
        call = call[key]
    return "unhashable" if isinstance(call, dict | list) else ""


SHOWN = 3
"""Candidates of a step that are spelled out; the rest is counted."""

_ARGUMENT_LABELS: tuple[tuple[str, str], ...] = (
    ("error: args invalid json", "invalid_json"),
    ("error_schema: required", "missing_argument"),
    ("error_schema: args not defined", "unknown_argument"),
    ("error_schema: nested args not defined", "unknown_argument"),
    ("error_schema: args type", "wrong_type"),
    ("error_schema: nested args type", "wrong_type"),
    ("error_schema", "not_in_enum"),
    ("error_match: args keys", "other_arguments"),
    ("error_match: value type", "wrong_type"),
    ("error", "wrong_value"),
)
"""Label by the beginning of an outcome; the first that fits."""

_ARGUMENT_SENTENCES: Mapping[str, str] = {
    "invalid_json": "the arguments are not valid JSON",
    "missing_argument": "a required argument is missing",
    "unknown_argument": "the tool does not have an argument of this name",
    "wrong_type": "a value has the wrong type",
    "not_in_enum": "the tool does not accept a value",
    "other_arguments": "the set of arguments is not the expected one",
    "wrong_value": "a value is wrong",
}
_ACTION_SENTENCES: Mapping[str, str] = {
    "empty_reply": "the reply has neither content nor calls",
    "stopped_early": "a text came where a further call was expected",
    "no_call": "a text came where a call was expected",
    "unreadable_call": "no call can be read from the reply, although it looks like one",
    "unknown_tool": "the reply calls a tool that is not offered",
    "no_question": "a call came where a question to the user was expected",
    "needless_call": "a call came where none was needed",
    "missing_call": "a call is missing",
    "extra_call": "there is a call too many",
    "wrong_tool": "the wrong tool was called",
}
"""Labels in words."""


def labels_of(steps: Sequence[Step], offered: Collection[str]) -> tuple[str, ...]:
    """The labels of the wrong steps. ``offered``: the names of the tools."""
    found = []
    for step in steps:
        if step.action == ERROR:
            found.append(_action_label(step, offered))
        found += [_argument_label(outcome) for outcome in step.outcomes if outcome != CORRECT]
    return tuple(dict.fromkeys(found))


def _argument_label(outcome: str) -> str:
    return next(label for start, label in _ARGUMENT_LABELS if outcome.startswith(start))


def _action_label(step: Step, offered: Collection[str]) -> str:
    wanted = [Counter(call.name for call in group) for group in step.candidates]
    came = Counter(call.name for call in step.calls)
    if step.reason.startswith("parse"):
        return "unreadable_call"
    if not step.calls:
        if not step.content:
            return "empty_reply"
        if looks_like_call(step.content):
            return "unreadable_call"
        return "stopped_early" if step.place else "no_call"
    if any(name not in offered for name in came):
        return "unknown_tool"
    if wanted and all(names.keys() == {ASK} for names in wanted):
        return "no_question"
    if not wanted or all(names.keys() == {PREPARE} for names in wanted):
        return "needless_call"
    if any(came < names for names in wanted):
        return "missing_call"
    return "extra_call" if any(names < came for names in wanted) else "wrong_tool"


def explain(steps: Sequence[Step], offered: Collection[str]) -> str:
    """The explanation; empty if no step is wrong. ``offered``: the names of the tools."""
    wrong = [step for step in steps if step.action == ERROR or step.arguments == ERROR]
    return "\n".join(_action(step, offered) if step.action == ERROR else _arguments(step) for step in wrong)


def _action(step: Step, offered: Collection[str]) -> str:
    label = _action_label(step, offered)
    sentence = f"step {step.place + 1}: {_ACTION_SENTENCES[label]}"
    if label == "empty_reply":  # the log does not keep what was expected, but why a request was not sent
        return sentence if step.reason in ("", EMPTY) else f"step {step.place + 1}: {step.reason}"
    groups = list(dict.fromkeys(" + ".join(map(_shown_action, group)) for group in step.candidates))
    more = [f"and {len(groups) - SHOWN} more candidates"] if len(groups) > SHOWN else []
    wanted = "\n  or:       ".join(groups[:SHOWN]) if groups else "nothing more"
    return compared(
        sentence,
        "\n            ".join([wanted, *more]),
        " + ".join(map(_shown_action, step.calls)) or shown_text(step.content),
    )


def _arguments(step: Step) -> str:
    lines = []
    for call, gold, outcome in zip(step.calls, step.candidates[0], step.outcomes, strict=True):
        if outcome == CORRECT:
            continue
        lines.append(f"step {step.place + 1}, {gold.name}: {_ARGUMENT_SENTENCES[_argument_label(outcome)]}")
        lines += side_by_side(gold, call)
    return "\n".join(lines)


def side_by_side(gold: LoggedCall, call: LoggedCall) -> Iterator[str]:
    """One line for each argument, of which those that differ are marked; both calls where arguments cannot be read."""
    wanted, came = load_arguments(gold.arguments), load_arguments(call.arguments)
    if not isinstance(came, Mapping) or not isinstance(wanted, Mapping):
        yield f"  expected: {shown_call(gold.name, gold.arguments)}"
        yield f"  got:      {shown_call(call.name, call.arguments)}"
        return
    names = list(dict.fromkeys([*wanted, *came]))
    width = max(map(len, names), default=0)
    for name in names:
        expected = shown(wanted[name]) if name in wanted else "nothing"
        got = shown(came[name]) if name in came else "nothing"
        same = expected == got
        yield f"  {' ' if same else '!'} {name:<{width}}  {expected}" + ("" if same else f"   got {got}")


def in_words(action: Mapping[str, Json], observation: Json) -> str:
    """An expected pseudo action, with the gold's own text; empty for a call. ``observation``: of its candidate."""
    call = LoggedCall(str(action.get("name")), action.get("arguments"))
    if call.name not in PSEUDO:
        return ""
    own = isinstance(observation, str) and observation.strip()
    return f"{_shown_action(call)}, such as: {own}" if own else _shown_action(call)


def _shown_action(call: LoggedCall) -> str:
    if call.name == PREPARE:
        return "the final answer"
    if call.name != ASK:
        return shown_call(call.name, call.arguments)
    asked = load_arguments(call.arguments)
    if not isinstance(asked, Mapping) or not isinstance(names := asked.get("missing_required_parameters"), list):
        return f"a question to the user ({shown(asked)})"
    return cut(f"a question to the user for {', '.join(map(str, names))} of {asked.get('tool_name')}")
