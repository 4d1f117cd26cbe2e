"""Explains why a task is wrong: labels for reports, and the expected and actual calls, argument by argument."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from agentgauge.core.text import compared, cut, load_arguments, looks_like_call, shown, shown_call, shown_text
from agentgauge.core.types import Json
from bench_wild.labels import ASK, EMPTY, PREPARE
from bench_wild.release2025.evaluator import BadCall
from bench_wild.steps import CORRECT, ERROR, Call, Step

SHOWN = 3
"""Candidates of a step, and wrong steps of a task, that are spelled out; the rest is counted."""

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
    blocks = [_action(step, offered) if step.action == ERROR else _arguments(step) for step in wrong[:SHOWN]]
    if len(wrong) > SHOWN:
        blocks.append(f"and {len(wrong) - SHOWN} more wrong steps")
    return "\n".join(blocks)


def explain_softly(error: str | None, bad: Sequence[BadCall]) -> str:
    """The earlier evaluator's class, and the bad calls beside the best of their counterparts."""
    if error is None:
        return ""
    lines = [error]
    for one in bad[:SHOWN]:
        lines.append(f"reply {one.reply + 1}, {one.call.name}: {', '.join(one.kinds)} (score {one.score:.2f})")
        lines += side_by_side(load_arguments(one.gold.arguments), load_arguments(one.call.arguments))
    if len(bad) > SHOWN:
        lines.append(f"and {len(bad) - SHOWN} more wrong calls")
    return "\n".join(lines)


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
        lines += side_by_side(load_arguments(gold.arguments), load_arguments(call.arguments))
    return "\n".join(lines)


def side_by_side(wanted: Json, came: Json) -> Iterator[str]:
    """One line for each argument; those that differ are marked."""
    if not isinstance(came, Mapping) or not isinstance(wanted, Mapping):
        yield from (f"  expected: {shown(wanted)}", f"  got:      {shown(came)}")
        return
    names = list(dict.fromkeys([*wanted, *came]))
    width = max(map(len, names), default=0)
    for name in names:
        expected = shown(wanted[name]) if name in wanted else "nothing"
        got = shown(came[name]) if name in came else "nothing"
        same = expected == got
        yield f"  {' ' if same else '!'} {name:<{width}}  {expected}" + ("" if same else f"   got {got}")


def _shown_action(call: Call) -> str:
    if call.name == PREPARE:
        return "the final answer"
    if call.name != ASK:
        return shown_call(call.name, call.arguments)
    asked = load_arguments(call.arguments)
    if not isinstance(asked, Mapping) or not isinstance(names := asked.get("missing_required_parameters"), list):
        return f"a question to the user ({shown(asked)})"
    return cut(f"a question to the user for {', '.join(map(str, names))} of {asked.get('tool_name')}")
