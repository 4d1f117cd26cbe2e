"""Explains why a task is wrong: labels for reports, and the expected and actual calls, argument by argument."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from agentgauge.core.types import Json
from bench_wild.labels import ASK, NOT_EXPECTED, PREPARE
from bench_wild.release2025.evaluator import BadCall
from bench_wild.steps import CORRECT, ERROR, Call, Step

SHOWN = 3
"""Candidates of a step, and wrong steps of a task, that are spelled out; the rest is counted."""

_LONGEST = 200  # characters of one value

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

_ARGUMENTS_SAID: Mapping[str, str] = {
    "invalid_json": "its arguments are not valid JSON",
    "missing_argument": "a required argument is missing",
    "unknown_argument": "an argument that the tool does not have",
    "wrong_type": "a value of the wrong type",
    "not_in_enum": "a value that the tool does not accept",
    "other_arguments": "other arguments than expected",
    "wrong_value": "a wrong value",
}
_ACTIONS_SAID: Mapping[str, str] = {NOT_EXPECTED: "the reply is none of the actions that fit here"}
"""The evaluator's own words, which the log keeps, as sentences."""


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
    if not step.calls:
        if not step.content:
            return "empty_reply"
        return "stopped_early" if step.place else "no_call"
    if step.reason.startswith("parse"):
        return "unreadable_call"
    if any(name not in offered for name in came):
        return "unknown_tool"
    if wanted and all(names.keys() == {ASK} for names in wanted):
        return "no_question"
    if not wanted or all(names.keys() == {PREPARE} for names in wanted):
        return "needless_call"
    if any(came < names for names in wanted):
        return "missing_call"
    return "extra_call" if any(names < came for names in wanted) else "wrong_tool"


def explain(steps: Sequence[Step]) -> str:
    """The explanation; empty if no step is wrong."""
    wrong = [step for step in steps if step.action == ERROR or step.arguments == ERROR]
    blocks = [_action(step) if step.action == ERROR else _arguments(step) for step in wrong[:SHOWN]]
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
        lines += side_by_side(_loaded(one.gold.arguments), _loaded(one.call.arguments))
    if len(bad) > SHOWN:
        lines.append(f"and {len(bad) - SHOWN} more wrong calls")
    return "\n".join(lines)


def _action(step: Step) -> str:
    groups = list(dict.fromkeys(" + ".join(map(shown_call, group)) for group in step.candidates))
    lines = [f"step {step.place + 1}: {_ACTIONS_SAID.get(step.reason, step.reason)}"]
    for number, group in enumerate(groups[:SHOWN]):
        lines.append(f"  {'or:      ' if number else 'expected:'} {group}")
    if len(groups) > SHOWN:
        lines.append(f"            and {len(groups) - SHOWN} more candidates")
    if not groups:
        lines.append("  expected: nothing more")
    came = " + ".join(map(shown_call, step.calls)) or (
        f"the text {_shown(step.content)}" if step.content else "nothing"
    )
    return "\n".join([*lines, f"  got:      {came}"])


def _arguments(step: Step) -> str:
    lines = []
    for call, gold, outcome in zip(step.calls, step.candidates[0], step.outcomes, strict=True):
        if outcome == CORRECT:
            continue
        lines.append(f"step {step.place + 1}, {gold.name}: {_ARGUMENTS_SAID[_argument_label(outcome)]}")
        lines += side_by_side(_loaded(gold.arguments), _loaded(call.arguments))
    return "\n".join(lines)


def side_by_side(wanted: Json, came: Json) -> Iterator[str]:
    """One line for each argument; those that differ are marked."""
    if not isinstance(came, Mapping) or not isinstance(wanted, Mapping):
        yield from (f"  expected: {_shown(wanted)}", f"  got:      {_shown(came)}")
        return
    names = list(dict.fromkeys([*wanted, *came]))
    width = max(map(len, names), default=0)
    for name in names:
        expected = _shown(wanted[name]) if name in wanted else "nothing"
        got = _shown(came[name]) if name in came else "nothing"
        same = expected == got
        yield f"  {' ' if same else '!'} {name:<{width}}  {expected}" + ("" if same else f"   got {got}")


def shown_call(call: Call) -> str:
    if call.name == PREPARE:
        return "the final answer"
    arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)
    return _cut(f"a question to the user {arguments}" if call.name == ASK else f"{call.name} {arguments}")


def _loaded(arguments: Json) -> Json:
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return arguments


def _shown(value: Json) -> str:
    return _cut(json.dumps(value, ensure_ascii=False))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
