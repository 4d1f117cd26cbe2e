"""``baseline``: fixed rules without any learning. The floor that a model should exceed.

It sees only the request. Without tools it answers in the form that the request asks for: ``FORMS`` says which rule
answers which form. With tools it calls the one whose name and description share most words with the question, with
arguments that are copied from the question, the files and the results; asks for what it does not find; and at last
answers with the results.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from agentgauge.core.chat import ChatReply, ChatRequest, ToolCall
from agentgauge.core.text import parse_json
from agentgauge.model.embedded import choices, deliverables, notebook, sums
from agentgauge.model.embedded.arguments import EXPRESSIONS, FILE_WORDS, fill, repeated
from agentgauge.model.embedded.view import Failed, OfferedTool, RequestView, look
from agentgauge.model.embedded.words import stems, stems_of_name

FORMS: Sequence[tuple[str, Callable[[RequestView], str]]] = (
    (r"Chosen Plan:", lambda view: choices.plan_number(view.asked[-1])),
    (r"multiple-choice", lambda view: choices.letters(view.asked[-1])),
    (r"#INPUT#", lambda view: sums.output(view.asked[-1])),
    (r"#ANSWER#", lambda view: sums.answer(view.asked[-1])),
    (r"Write a plan\b", lambda view: sums.plan(view.asked[-1])),
    (r"#PLAN#:?\s*\Z", lambda view: sums.plan(view.asked[-1])),
    (r"```python", lambda view: sums.program(view.asked[0], len(view.asked) - 1)),
    (r'"cell_type"', lambda view: notebook.cells(view.asked[0])),
)
"""A mark of the form that the last message asks for, without tools, and its rule. The first that fits is taken."""

MAX_CALLS = 4  # of tools for one question
_ENOUGH = 0.5  # score that a tool must reach
_LONGEST = 600  # characters of an answer

_ARITHMETIC_WORDS = re.compile(
    r"\b(how (?:much|many|long)|total|altogether|together|sum|each|per|share|pay|costs?)\b", re.IGNORECASE
)
_BLOCK = re.compile(r"^\(\s*-?\d+(?:\s*,\s*-?\d+){3}\s*\)(?:, score \d+)?\s*", re.MULTILINE)
_KINDS = (
    ("jpg jpeg png gif", "image picture photo"),
    ("mp3 wav flac ogg m4a", "audio sound"),
    ("mp4 mov avi", "video"),
)


def baseline_reply(request: ChatRequest) -> ChatReply:
    """The next reply. Deterministic."""
    view = look(request)
    if not view.tools:
        asked = view.asked[-1] if view.asked else ""
        rule = next((rule for mark, rule in FORMS if re.search(mark, asked)), answer)
        return ChatReply(text=rule(view))
    if view.failed and (again := _again(view.failed, view)):
        return again
    tool = choose(view)
    if tool is None:
        return _said(answer(view), "This should do.", view)
    arguments, lacking = fill(tool, view)
    if lacking:
        asked = " and the ".join(name.replace("_", " ") for name in lacking)
        return _said(f"Could you tell me the {asked}?", "Something is missing.", view)
    several = [arguments] if view.react or view.files else repeated(arguments, view.query)
    return _called(tool.name, [json.dumps(one, ensure_ascii=False) for one in several], view)


def _called(name: str, arguments: Sequence[str], view: RequestView) -> ChatReply:
    if view.react:
        return ChatReply(text=f"Thought: {name} fits the question best.\nAction: {name}\nAction Input: {arguments[0]}")
    return ChatReply(tool_calls=tuple(ToolCall(name, one) for one in arguments), finish_reason="tool_calls")


def _said(text: str, thought: str, view: RequestView) -> ChatReply:
    return ChatReply(text=f"Thought: {thought}\nFinal Answer: {text}" if view.react else text)


def _again(failed: Failed, view: RequestView) -> ChatReply | None:
    """A call that failed: the same one after an error that may pass, else with new arguments, if they are others."""
    tool = next((tool for tool in view.tools if tool.name == failed.name), None)
    if tool is None or view.called.count(failed.name) > 1 or view.react:
        return None
    if failed.passes:
        return _called(failed.name, [failed.arguments], view)
    try:
        old = parse_json(failed.arguments)
    except ValueError:
        old = {}
    arguments, lacking = fill(tool, view)
    new = {**(old if isinstance(old, dict) else {}), **arguments}
    if new == old or any(name not in new for name in lacking):
        return None
    return _called(failed.name, [json.dumps(new, ensure_ascii=False)], view)


def choose(view: RequestView) -> OfferedTool | None:
    """The best tool not yet called, or None when it is time to answer. After the first one it must lack nothing."""
    if view.must_answer or len(view.called) >= MAX_CALLS:
        return None
    words = stems(view.query)
    ranked = [
        (score(tool, words) + _fit(tool, view), -number, tool)
        for number, tool in enumerate(view.tools)
        if tool.name not in view.called
    ]
    ranked.sort(key=lambda item: item[:2], reverse=True)
    enough = 0.0 if view.files and not view.called else _ENOUGH
    best = next((tool for points, _, tool in ranked if points >= enough), None)
    return None if best is None or (view.called and fill(best, view)[1]) else best


def score(tool: OfferedTool, words: frozenset[str]) -> float:
    """The number of shared words. A word in the name counts twice; the length of the description does not matter. Half
    as much count a parameter's name and a choice of it."""
    description = stems(tool.description)
    points = 2.0 * len(stems_of_name(tool.name) & words) + 4.0 * len(description & words) / (4.0 + len(description))
    for one in tool.parameters:
        named = stems_of_name(one.name) & words or any(stems(str(choice)) & words for choice in one.choices)
        points += 0.5 * bool(named)
    return points


def _fit(tool: OfferedTool, view: RequestView) -> float:
    """Files are read before anything else, each by a tool for its kind, and files that are asked for are made last; a
    tool that takes an expression needs numbers."""
    needed = {one.name.lower() for one in tool.parameters if one.is_required}
    if deliverables.is_maker(tool):
        suffix = deliverables.suffix_of(tool)
        return 2.0 if suffix and deliverables.is_asked(suffix, view) else -20.0
    if needed & set(EXPRESSIONS):
        if sums.arithmetic_in(view.query):
            return 2.0
        seen = sums.expression_for("", " ".join(view.observations[-1:]))
        return -2.0 if seen == "0" else float("+" in seen and bool(_ARITHMETIC_WORDS.search(view.query)))
    if not view.files:
        return 0.0
    takes = " ".join(f"{one.name} {one.description}" for one in tool.parameters if one.is_required).lower()
    if not any(word in takes for word in FILE_WORDS):
        return 0.0
    suffixes = {path.rpartition(".")[2].lower() for path in view.files}
    if deliverables.suffix_of(tool) in suffixes:
        return 0.0 if view.called else 6.0
    for known, words in _KINDS:
        if any(word in takes for word in words.split()):
            return (0.0 if view.called else 1.0) if suffixes & set(known.split()) else -20.0
    return -20.0 if deliverables.suffix_of(tool) else 0.0


def answer(view: RequestView) -> str:
    """The results as running text, the newest first: boxes in front of recognised lines are left out."""
    texts = (" ".join(_BLOCK.sub("", observation).split()) for observation in reversed(view.observations))
    return "; ".join(text for text in texts if text)[:_LONGEST] or "I could not find this out."
