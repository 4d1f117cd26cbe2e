"""The form of explanations, the same for every benchmark: a sentence, what was expected and what came instead, with
calls, values and texts cut to a readable length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from agentgauge.core.types import Json

_LONGEST = 200  # characters of a text, or of a value that stands alone
_ARGUMENT = 120  # characters of an argument's value in a call, so that the other arguments stay in sight
_CALL = 400


def compared(sentence: str, expected: str, got: str) -> str:
    """What is wrong, and below it what was expected and what came instead."""
    return f"{sentence}\n  expected: {expected}\n  got:      {got}"


def shown_call(name: str, arguments: Json) -> str:
    """A call as ``name(argument=value, ...)``. ``arguments``: an object, its JSON text, or whatever a model gave
    instead, which is shown as it is."""
    loaded = load_arguments(arguments)
    if not isinstance(loaded, Mapping):
        return f"{name}({cut(arguments if isinstance(arguments, str) else shown(arguments))})"
    return cut(f"{name}({', '.join(f'{key}={shown(value, _ARGUMENT)}' for key, value in loaded.items())})", _CALL)


def load_arguments(arguments: Json) -> Json:
    """The arguments of a call, decoded where they are JSON text."""
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return arguments


_CALL_MARKS = re.compile(
    r"""
    <(?:tool_?call|function[_=]|\|python_tag\|)  # of families that mark calls
    | \[TOOL_CALLS\] | ^functools\[
    | ^Action:[ \t]*\w                           # ReAct
    | \{\s*"(?:name|function|tool)"\s*:\s*"?\w    # a call as JSON
    | ^\s*\[?\w+\(\w+\s*=                        # a call as Python
    """,
    re.VERBOSE | re.MULTILINE,
)


def looks_like_call(text: str | None) -> bool:
    """Whether a text from which no call was read looks like one: cut, faulty, or in another dialect than the run's."""
    return bool(text and _CALL_MARKS.search(text))


def shown_text(text: str | None) -> str:
    """A reply without calls, such as ``the text 'Good morning'``."""
    return f"the text {cut(text.strip())!r}" if text and text.strip() else "an empty text"


def shown(value: Json, most: int = _LONGEST) -> str:
    """A value as JSON."""
    try:
        return cut(json.dumps(value, ensure_ascii=False), most)
    except RecursionError:
        return "a value that is nested too deeply to be shown"


def cut(text: str, most: int = _LONGEST) -> str:
    """The beginning of a text; ``…`` stands for the rest."""
    return text if len(text) <= most else text[: most - 1] + "…"
