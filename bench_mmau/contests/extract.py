"""Extracts a program or an answer from a reply, and compares outputs with the expected ones (MMAU spec 6.1, 6.3,
6.7).
"""

from __future__ import annotations

import ast
import math
import re

from bench_mmau.fixes import PARITY, Fixes

_TICKS = "```"
_OPEN = "```python"
_GUARD = "if __name__"
MARKER = "#ANSWER#"
_RELAXED = "ANSWER"
_TOLERANCE = 1e-6  # relative and absolute, strict only; usual for contest checkers

_FENCE = re.compile(r"^[ \t]*```[ \t]*(\w*)[^\n]*$", re.MULTILINE)
_PROGRAM = ("", "python", "python3", "py", "py3")  # what may stand after an opening fence, strict only
_ANY_MARKER = re.compile(r"[#*_`]*\bANSWER\b[#*_`]*[ \t]*:?[#*_`]*")


def extract_code(text: str, fixes: Fixes = PARITY) -> str:
    """The program in a reply, stripped; "" if there is none (MMAU spec 6.1 [Q12])."""
    code = _first_block(text) if fixes.any_fence else _python_fence(text)
    if _GUARD in code and not fixes.main_guard:
        code = _without_guard(code)
    return code.strip()


def _python_fence(text: str) -> str:
    """What is between the first ```python and the next one, up to any three backticks. No fence: the whole text."""
    if _OPEN in text:
        text = text.split(_OPEN)[1]
    return text.split(_TICKS)[0]


def _without_guard(code: str) -> str:
    """Drop lines that contain the guard, anywhere in the line; every later line loses its first four characters."""
    kept, inside = [], False
    for line in code.split("\n"):
        if _GUARD in line:
            inside = True
        else:
            kept.append(line[4:] if inside else line)
    return "\n".join(kept)


def _first_block(text: str) -> str:
    """The first fenced block of Python. A reply may end before its fence closes, or go on in one that the prompt
    opened."""
    fences = list(_FENCE.finditer(text))
    if fences and len(fences) % 2 and not fences[0][1] and _is_program(text[: fences[0].start()]):
        return text[: fences[0].start()]
    for opening, closing in zip(fences[::2], [*fences[1::2], None], strict=False):
        if opening[1].lower() in _PROGRAM:
            return text[opening.end() : closing.start() if closing else len(text)]
    return "" if fences else text


def origin(text: str, fixes: Fixes = PARITY) -> str:
    """What of a reply's form may be why its program fails, for an explanation; empty: nothing."""
    if not text.strip():
        return "the reply has no text"
    before, *rest = text.split(_TICKS)
    if not rest:
        return "the reply has no code fence, so that its whole text was taken for the program"
    if len(rest) == 1 and _is_program(before):
        return ""  # it closes the fence that the prompt has opened
    opened = _OPEN in text
    if fixes.any_fence:
        opened = any(fence[1].lower() in _PROGRAM for fence in list(_FENCE.finditer(text))[::2])
    if not opened and fixes.any_fence:
        return "no code fence of the reply is one of Python"
    if not opened:
        return f"no code fence of the reply begins with {_OPEN}, so that the text before all fences was taken for it"
    return "the reply's code fence is not closed" if len(rest) % 2 else ""


def _is_program(text: str) -> bool:
    try:
        return bool(ast.parse(text).body)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False


def parse_answer(text: str, fixes: Fixes = PARITY) -> str:
    """The answer of the parsing task; "" if there is none (MMAU spec 6.7 [Q23])."""
    if fixes.whole_answer:
        found = list(_ANY_MARKER.finditer(text))
        return text[found[-1].end() :] if found else ""
    if MARKER in text:
        return text.split(f"{MARKER}:")[-1]  # without the colon nothing splits: the whole reply
    if _RELAXED not in text:
        return ""
    rest = text.split(_RELAXED)[-1]
    return rest.split("\n")[1] if "\n" in rest else rest


def answer_is_empty(text: str, fixes: Fixes = PARITY) -> bool:
    """Whether a reply has an answer marker and no answer behind it."""
    return not parse_answer(text, fixes) and bool(_ANY_MARKER.search(text) if fixes.whole_answer else _RELAXED in text)


def output_match(printed: str, expected: str, fixes: Fixes = PARITY) -> bool:
    """Whether a program's output is right. Parity ignores blanks everywhere and no other difference (MMAU spec 6.3
    [Q17])."""
    if fixes.words:
        return _same_words(printed, expected)
    return printed.strip().replace(" ", "") == expected.strip().replace(" ", "")


def _same_words(printed: str, expected: str) -> bool:
    ours, theirs = printed.split(), expected.split()
    return len(ours) == len(theirs) and all(
        one == two or _close(one, two) for one, two in zip(ours, theirs, strict=True)
    )


def _close(printed: str, expected: str) -> bool:
    """Only where a fraction is expected: an integer that is not the right one is wrong, however long."""
    if not any(sign in expected for sign in ".eE"):
        return False
    try:
        one, two = float(printed), float(expected)
    except ValueError:
        return False
    return math.isfinite(one) and math.isclose(one, two, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)


def understand_match(answer: str, expected: str) -> bool:
    """Line by line as texts, without empty lines; a line of blanks is none of those (MMAU spec 6.7)."""
    ours, theirs = ([line.strip() for line in text.split("\n") if line] for text in (answer, expected))
    return ours == theirs
