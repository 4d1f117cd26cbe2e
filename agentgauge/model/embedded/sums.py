"""Rules of ``baseline`` for problems with numbers: one operation, named by a word of the problem, over all its numbers.

The same operation answers a problem in mathematics, stands in a program for a contest, and says what such a program
prints.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from agentgauge.model.embedded.words import numbers

OPERATIONS = (
    (r"remainder|modulo|left over", "numbers[0] % numbers[1]"),
    (r"greatest common|highest common", "math.gcd(*numbers)"),
    (r"least common|lowest common|smallest common", "math.lcm(*numbers)"),
    (r"percent|%", "numbers[0] * numbers[1] / 100"),
    (r"probability", "numbers[0] / numbers[1]"),
    (r"average|mean\b", "sum(numbers) / len(numbers)"),
    (r"product|multipl\w+|area", "math.prod(numbers)"),
    (r"difference|fewer|subtract|how many more|how much more", "numbers[0] - numbers[1]"),
    (r"greatest|largest|biggest|highest|maximum|most\b|longest", "max(numbers)"),
    (r"smallest|least|lowest|minimum|shortest|closest", "min(numbers)"),
    (r"each\b|every\b|per\b", "math.prod(numbers)"),
    (r"sum\b|total|altogether|in all|together|add\b", "sum(numbers)"),
)
"""The first whose words the problem has is taken. ``numbers`` holds the numbers of the problem or of the input."""

_ARITHMETIC = re.compile(  # no run of blanks or brackets is looked at twice
    r"(?:(?<!\()\(++\s*+)?-?\d{1,18}(?:\.\d{1,18})?\s*+\)*+"
    r"(?:\s*+(?:\*\*|[-+*/^])\s*+\(*+\s*+\d{1,18}(?:\.\d{1,18})?\s*+\)*+)+"
)
_TRUTH = re.compile(r"\b(true|yes)\b\W+(?:or|and|/)\W*\b(?:false|no)\b", re.IGNORECASE)
_PROBLEM = re.compile(r"#(?:PROBLEM|QUESTION)#:?\s*")
_GAP = re.compile(r"\n\s*")
_INPUT = re.compile(r"#?\binput#?:?[ \t]*\n(.*?)(?:\n\s*\n|\n#|\Z)", re.DOTALL | re.IGNORECASE)
_BOX = re.compile(r"^\(\s*-?\d+(?:\s*,\s*-?\d+){3}\s*\)(?:, score \d+)?\s*", re.MULTILINE)
_SYMBOLS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_MOST = 1_000  # numbers of a text that are looked at

PROGRAM = """\
```python
import math

lines = []
try:
    while True:
        lines.append(input())
except EOFError:
    text = lines[-1] if lines else ""
numbers = [int(word) for line in lines for word in line.split() if word.lstrip("-").isdigit()]
try:
    print({code})
except Exception:
    print(text)
```"""


def problem_of(text: str) -> str:
    """The problem in a prompt, without what the prompt asks around it: up to a line that begins with a mark, or one
    with a mark below an empty line."""
    if (found := _PROBLEM.search(text)) is None:
        return text
    for gap in _GAP.finditer(text, found.end()):
        mark, end = text.find("#", gap.end()), text.find("\n", gap.end())
        if mark < 0:
            break
        below_empty = gap[0].count("\n") > 1 and (mark < end or end < 0)
        if below_empty or (gap[0] == "\n" and mark == gap.end()):
            return text[found.end() : gap.start()]
    return text[found.end() :]


def arithmetic_in(text: str) -> str | None:
    """The first sum, product and so on that the text writes out."""
    for found in _ARITHMETIC.finditer(text):
        expression = found.group().strip().replace("^", "**")
        if re.search(r"\d\W*[-+*/]", expression) and evaluate(expression) is not None:
            return expression
    return None


def answer(text: str) -> str:
    """The answer to a problem in mathematics, behind the mark that the prompt asks for."""
    problem = problem_of(text)
    return f"#THOUGHTS# {_thought(problem)}\n#ANSWER#: {_solved(problem)}"


def output(text: str) -> str:
    """What the program for a contest prints for an input."""
    found = _INPUT.search(text)
    given = found.group(1) if found else ""
    code = _code(problem_of(text))
    result = _operate(code, given) if code else None
    last = given.strip().rpartition("\n")[2]  # as the program does
    return f"#THOUGHTS# {_thought(problem_of(text))}\n#ANSWER#: {last if result is None else result}"


def program(text: str, tries: int = 0) -> str:
    """A program for a contest. After failures the next operation is tried; without any the last line is echoed, since
    the first ones mostly say how long it is."""
    return PROGRAM.format(code=_code(problem_of(text), tries) or "text")


def plan(text: str) -> str:
    """A plan in words for a problem."""
    return f"1. Read all that is given. 2. {_thought(problem_of(text))} 3. Print or state the result alone."


def expression_for(query: str, observation: str) -> str:
    """The arithmetic in the question, else the sum of the numbers that were seen last, without those of boxes."""
    seen = numbers(_BOX.sub("", observation))
    return arithmetic_in(query) or "+".join(seen or numbers(query) or ["0"])


def evaluate(expression: str) -> Fraction | None:
    """The value of an expression with + - * / and small powers, or None."""
    try:
        return _value(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return None


def _value(node: ast.expr) -> Fraction:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return Fraction(str(node.value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _SYMBOLS:
        found: Fraction = _SYMBOLS[type(node.op)](_value(node.left), _value(node.right))
        return found
    raise ValueError("not plain arithmetic")


def _solved(problem: str) -> str:
    if truth := _TRUTH.search(problem):
        return truth.group(1)  # the class that is named first
    expression = arithmetic_in(problem)
    if expression:
        value = evaluate(expression)
        return _written(value, "." in expression) if value is not None else expression
    found = numbers(problem)
    code = _code(problem)
    result = _operate(code, problem) if code else None
    return result if result is not None else (found or ["0"])[-1]


def _code(problem: str, tries: int = 0) -> str | None:
    fitting = _fitting(problem)
    return fitting[tries] if tries < len(fitting) else None


@lru_cache(maxsize=4)  # a reply asks several times for that of its problem
def _fitting(problem: str) -> Sequence[str]:
    low = problem.lower()  # searches that ignore the case take three times as long
    return [code for words, code in OPERATIONS if re.search(words, low)]


def _thought(problem: str) -> str:
    code = _code(problem)
    return f"Take the numbers and work out {code}." if code else "Repeat what is given."


def _operate(code: str, text: str) -> str | None:
    found = [Fraction(number) for number in numbers(text)[:_MOST]]
    whole = [int(number) if number.denominator == 1 else number for number in found]
    try:
        result = eval(code, {"math": math, "numbers": whole})  # of the table above
    except (ArithmeticError, IndexError, TypeError, ValueError):
        return None
    return _written(Fraction(result), "." in text)


def _written(value: Fraction, decimal: bool) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    return f"{float(value):.10g}" if decimal else str(value)
