"""``baseline``: a lexical policy without any learning. The lower bound that a model should exceed.

It sees only the request. It calls the offered tool whose name and description share most words with the query, fills
the arguments from the query, the files note and the last observation, and after at most three calls answers with the
last observation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from agentgauge.core.chat import ChatReply, ChatRequest, ToolCall
from agentgauge.model.embedded import choices, notebook, sums
from agentgauge.model.embedded.view import OfferedTool, RequestView, look

MAX_CALLS = 3
_ENOUGH = 0.5  # score that a second or third tool must reach; the first call takes the best tool whatever it scores

_WORD = re.compile(r"[A-Za-z]+")
_ENDING = re.compile(r"(?<=\w{3})(?:at(?:ions?|ors?|e[ds]?)|ings?|ions?|ers?|e[ds]?|s)$")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")
_ARITHMETIC = re.compile(r"\(*\s*\d+(?:\.\d+)?\s*\)*(?:\s*(?:\*\*|[-+*/^])\s*\(*\s*\d+(?:\.\d+)?\s*\)*)+")
_QUOTED = re.compile(r"[\"“]([^\"”]+)[\"”]|(?<!\w)'([^']+)'(?!\w)")
_PRODUCED = re.compile(r"\[?(?:image|audio|file|video)\]?\(([^)\n]+)\)")
_BLOCK = re.compile(r"^\(\s*-?\d+(?:\s*,\s*-?\d+){3}\s*\)(?:, score \d+)?\s*", re.MULTILINE)
_AMOUNT = re.compile(
    r"\b(how (?:much|many|long)|total|altogether|together|sum|each|per|share|pay|costs?)\b", re.IGNORECASE
)
_COLOUR = re.compile(r"\b(red|green|blue|yellow|black|white|orange|purple|pink|gr[ae]y|brown)\b", re.IGNORECASE)
_EXPRESSIONS = ("expression", "equation", "formula")
_FILE_WORDS = ("image", "picture", "photo", "audio", "video", "file", "path")
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by can do does for from has have he her his how i if in into is it its many me much my"
        " need of on or our please she tell than that the their them there they this to tool us use using was we what"
        " when where which who will with would you your",
    )
)


FORMS: Sequence[tuple[str, Callable[[RequestView], str]]] = (
    (r"Chosen Plan:", lambda view: choices.plan_number(view.asked[-1])),
    (r"multiple-choice|\\nA[.)] |\nA[.)] ", lambda view: choices.letters(view.asked[-1])),
    (r"#INPUT#", lambda view: sums.output(view.asked[-1])),
    (r"#ANSWER#", lambda view: sums.answer(view.asked[-1])),
    (r"\bWrite a plan\b|#PLAN#:?\s*\Z", lambda view: sums.plan(view.asked[-1])),
    (r"```python", lambda view: sums.program(view.asked[0], len(view.asked) - 1)),
    (r'"cell_type"|notebook cells', lambda view: notebook.cells(view.asked[0])),
)
"""The form that the last message asks for, without tools, and the rule for it. The first that fits is taken."""


def baseline_reply(request: ChatRequest) -> ChatReply:
    """The next reply. Deterministic."""
    view = look(request)
    if not view.tools and view.asked:
        for mark, rule in FORMS:
            if re.search(mark, view.asked[-1]):
                return ChatReply(text=rule(view))
    tool = choose(view)
    if tool is None:
        text = answer(view)
        return ChatReply(text=f"Thought: This should do.\nFinal Answer: {text}" if view.react else text)
    arguments = json.dumps(fill(tool, view))
    if view.react:
        return ChatReply(
            text=f"Thought: {tool.name} fits the question best.\nAction: {tool.name}\nAction Input: {arguments}"
        )
    return ChatReply(tool_calls=(ToolCall(tool.name, arguments),), finish_reason="tool_calls")


def choose(view: RequestView) -> OfferedTool | None:
    """The best tool not yet called, or None when it is time to answer."""
    if view.must_answer or len(view.called) >= MAX_CALLS:
        return None
    words = stems(view.query)
    ranked = [
        (score(tool, words) + _fit(tool, view), -number, tool)
        for number, tool in enumerate(view.tools)
        if tool.name not in view.called
    ]
    if not ranked:
        return None
    points, _, best = max(ranked, key=lambda item: item[:2])
    return best if not view.called or points >= _ENOUGH else None


def score(tool: OfferedTool, words: frozenset[str]) -> float:
    """The number of shared words. A word in the name counts twice; the length of the description does not matter."""
    name = stems(" ".join(_CAMEL.findall(tool.name)))
    description = stems(tool.description)
    return 2.0 * len(name & words) + 4.0 * len(description & words) / (4.0 + len(description))


def _fit(tool: OfferedTool, view: RequestView) -> float:
    """A tool that takes a file suits a query about files that no call has read; one that takes an expression needs
    numbers."""
    needed = {name.lower() for name, _ in tool.parameters if name in tool.required}
    if needed & set(_EXPRESSIONS):
        if _ARITHMETIC.search(view.query):
            return 2.0
        seen = _expression("", " ".join(view.observations[-1:]))
        return -2.0 if seen == "0" else float("+" in seen and bool(_AMOUNT.search(view.query)))
    return 1.0 if view.files and not view.called and needed & set(_FILE_WORDS) else 0.0


def stems(text: str) -> frozenset[str]:
    """Words in lower case, without common endings and without stop words."""
    return frozenset(_ENDING.sub("", word) for word in _WORD.findall(text.lower()) if word not in _STOP_WORDS)


def fill(tool: OfferedTool, view: RequestView) -> dict[str, Any]:
    """Arguments for the required parameters, and for a text that the query quotes."""
    quoted = [first or second for first, second in _QUOTED.findall(view.query)]
    return {name: _value(tool, name, kind, view, quoted) for name, kind in tool.parameters if name in tool.required}


def _value(tool: OfferedTool, name: str, kind: str, view: RequestView, quoted: Sequence[str]) -> Any:
    last = view.observations[-1] if view.observations else ""
    numbers = _NUMBER.findall(view.query)
    if kind in ("boolean", "bool"):
        return True
    if kind in ("integer", "number", "float", "int"):
        value = float(numbers[0]) if numbers else 1.0
        return int(value) if value.is_integer() else value
    low = name.lower()
    if any(word in low for word in _FILE_WORDS):
        produced = _PRODUCED.findall(last)
        return (produced or view.files or ("missing",))[0]
    if low == "bbox":
        box = _NUMBER.findall(last)[:4] or numbers[:4]
        return f"({', '.join(box)})" if len(box) == 4 else "(0, 0, 100, 100)"
    if low in _EXPRESSIONS:
        return _expression(view.query, last)
    if low in ("command", "code"):
        return _program(tool, _expression(view.query, last), numbers or _NUMBER.findall(last))
    if low == "position":
        return "mt"
    if low == "color":
        found = _COLOUR.search(view.query)
        return found.group(1).lower() if found else "red"
    return quoted[0] if quoted else " ".join(view.query.split())


def _expression(query: str, observation: str) -> str:
    """The arithmetic in the query, else the sum of the numbers that were seen last."""
    if found := _ARITHMETIC.search(query):
        return found.group().strip().replace("^", "**")
    return "+".join(_NUMBER.findall(_BLOCK.sub("", observation)) or _NUMBER.findall(query) or ["0"])


def _program(tool: OfferedTool, expression: str, numbers: Sequence[str]) -> str:
    if stems(tool.name + " " + tool.description) & stems("plot chart diagram figure draw"):
        plot = f"figure, axes = plt.subplots()\n    axes.plot([{', '.join(numbers[:50] or ['0', '1'])}])"
        return f"```python\nimport matplotlib.pyplot as plt\n\ndef solution():\n    {plot}\n    return figure\n```"
    return f"```python\ndef solution():\n    return {expression}\n```"


def answer(view: RequestView) -> str:
    """The last observation as running text: boxes in front of recognised lines are left out."""
    for observation in reversed(view.observations):
        text = " ".join(_BLOCK.sub("", observation).split())
        if text:
            return text[:300]
    return "I could not find this out."
