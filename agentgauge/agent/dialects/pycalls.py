"""Calls written as Python: ``f(a=1, b="x"), g()``, the syntax of ToolACE, watt-tool and Gorilla (wild spec 8)."""

from __future__ import annotations

import ast
import keyword
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice

from agentgauge.agent.dialects.format import ParsedCall, ParsedReply, as_json, value_of
from agentgauge.agent.dialects.lenient import find_calls, parse_python, read_leniently
from agentgauge.core.types import Json

_LIMIT = 100_000
"""Characters of a text that is worth parsing: a syntax tree takes hundreds of times the memory of its text."""

_REGIONS = 64  # opening brackets tried in one text; each is followed to its end
_MASK = "_reserved_"  # stands before a parameter's name that Python keeps for itself

_STRINGS = r'"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'"
_RESERVED = re.compile(rf"\\.|{_STRINGS}|(?<![\w.])({'|'.join(keyword.kwlist)})(?=\s*=(?!=))", re.DOTALL)
_BRACKETS = re.compile(rf"\\.|{_STRINGS}|[\[\](){{}}]", re.DOTALL)
_OPERATIONS: Mapping[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_OPENING = re.compile(r"\[\s*[^\W\d][\w.]*\(")
_BARE = re.compile(r"[^\W\d][\w.]*\(.*\)", re.DOTALL)


def parse(text: str, *, positional: str | None = None, tolerant: bool = False) -> list[ParsedCall]:
    """The outermost calls of a Python expression. Raises ValueError for another text, and for a value outside of the
    grammar.

    Positional arguments are dropped unread, or collected in a list under the name ``positional``. With ``tolerant``,
    parameters may have the names of Python's keywords (``from``), and ``null`` is no text.
    """
    try:
        if len(text) > _LIMIT:
            raise ValueError("too long")
        masked = _RESERVED.sub(lambda found: _MASK + found[1] if found[1] else found[0], text) if tolerant else text
        tree = parse_python(masked.strip())
        return [_Reader(positional, tolerant).call(node) for node in _outermost(tree)]
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        raise ValueError(f"not calls in Python's syntax: {error}") from None


def _outermost(node: ast.AST) -> Iterator[ast.Call]:
    if isinstance(node, ast.Call):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _outermost(child)


class _Reader:
    """Reads a call of the tree. What is not in the grammar is a ValueError."""

    def __init__(self, positional: str | None, tolerant: bool) -> None:
        self._positional = positional
        self._tolerant = tolerant

    def call(self, node: ast.Call) -> ParsedCall:
        arguments: dict[str, Json] = {}
        for given in node.keywords:
            if given.arg is None:
                raise ValueError("arguments behind **")
            name = given.arg.removeprefix(_MASK) if self._tolerant else given.arg
            arguments[name] = self._value(given.value)
        if self._positional is not None and node.args:
            arguments[self._positional] = [self._value(given) for given in node.args]
        return ParsedCall(_name(node.func), as_json(arguments))

    def _value(self, node: ast.expr) -> Json:
        match node:
            case ast.Constant(value=None | str() | bool() as constant):
                return constant
            case ast.Constant(value=int() | float() as number):
                return _finite(number)
            case ast.Name(id=name):
                known: dict[str, Json] = {"true": True, "false": False} | ({"null": None} if self._tolerant else {})
                return known.get(name.lower(), name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _finite(-_number(self._value(operand)))
            case ast.BinOp(left=left, op=op, right=right):
                return _computed(self._value(left), op, self._value(right))
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self._value(item) for item in items]
            case ast.Dict(keys=keys, values=values):
                return {self._key(key): self._value(value) for key, value in zip(keys, values, strict=True)}
        raise ValueError(f"{type(node).__name__} is no value")

    def _key(self, node: ast.expr | None) -> str:
        """A key as JSON writes it. There is none where a dict is spread with ``**``."""
        key = self._value(node) if node else []
        if isinstance(key, list | dict):
            raise ValueError("not a key")
        return key if isinstance(key, str) else as_json(key)


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name() | ast.Attribute() as before, attr=name):
            _name(before)  # only a dotted name
            return name
    raise ValueError(f"{type(node).__name__} is no function's name")


def _computed(left: Json, op: ast.operator, right: Json) -> Json:
    """Texts and lists can be joined, numbers computed. Nothing else: no value grows beyond the text that it is
    written in."""
    if isinstance(op, ast.Add) and isinstance(left, str) and isinstance(right, str):
        return left + right
    if isinstance(op, ast.Add) and isinstance(left, list) and isinstance(right, list):
        return left + right
    if type(op) not in _OPERATIONS:
        raise ValueError(f"{type(op).__name__} is no operation of the grammar")
    return _finite(_OPERATIONS[type(op)](_number(left), _number(right)))


def _number(value: Json) -> int | float:
    if isinstance(value, int | float):
        return value
    raise ValueError("only numbers can be computed")


def _finite(number: int | float) -> int | float:
    if isinstance(number, float) and not math.isfinite(number):
        raise ValueError("JSON has no infinite numbers")
    return number


def find(text: str) -> list[ParsedCall]:
    """Calls somewhere in a text: lists of calls in brackets; else a bare call, be it the whole text or a line of it."""
    calls: list[ParsedCall] = []
    end = 0
    for opening in islice(_OPENING.finditer(text), _REGIONS):
        if opening.start() >= end and (closed := _closing(text, opening.start())):
            found = _if_calls(text[opening.start() : closed])
            calls += found
            end = closed if found else end
    if calls:
        return calls
    whole = text.strip()
    if _BARE.fullmatch(whole) and (found := _if_calls(whole)):
        return found
    lines = (line.strip().rstrip(",;") for line in text.splitlines())
    return [call for line in lines if _BARE.fullmatch(line) for call in _if_calls(line)]


def _closing(text: str, start: int) -> int:
    """Where the bracket that opens at ``start`` has been closed; 0 if it is not."""
    depth = 0
    for found in _BRACKETS.finditer(text, start, start + _LIMIT):
        if found[0] in "([{":
            depth += 1
        elif found[0] in ")]}":
            depth -= 1
            if not depth:
                return found.end()
    return 0


def _if_calls(text: str) -> list[ParsedCall]:
    try:
        return parse(text, tolerant=True)
    except ValueError:
        return []


def render_history(calls: Sequence[ParsedCall]) -> str:
    """Calls as the history shows them: texts in double quotes and not escaped, as published. Some of them cannot be
    parsed again.

    The published code fails on a null; here it is Python's None. Arguments that are no JSON object stand as they are.
    """
    return ", ".join(_call(call, _quoted) for call in calls)


def render(calls: Sequence[ParsedCall]) -> str:
    """Calls as a model writes them, so that ``parse`` returns the same calls: texts are escaped where necessary.

    Raises ValueError for a name that is no identifier or a keyword of Python, and for arguments that are no JSON
    object.
    """
    # one by one: a name like "f(), g" must not pass for a call
    if not all(map(_holds, calls)):
        raise ValueError(f"calls that cannot be written in Python's syntax: {render_history(calls)}")
    return ", ".join(_call(call, as_json) for call in calls)  # the escapes of JSON are escapes of Python


def _holds(call: ParsedCall) -> bool:
    try:
        return parse(_call(call, as_json)) == [call.normal]
    except (ValueError, RecursionError):
        return False


def _quoted(text: str) -> str:
    return f'"{text}"'


def _call(call: ParsedCall, quote: Callable[[str], str]) -> str:
    values, written = value_of(call.arguments), call.arguments
    if isinstance(values, dict):
        with suppress(RecursionError):
            written = ", ".join(f"{name}={_written(value, quote)}" for name, value in values.items())
    return f"{call.name}({written})"


def _written(value: Json, quote: Callable[[str], str]) -> str:
    match value:
        case str():
            return quote(value)
        case list():
            return f"[{', '.join(_written(item, quote) for item in value)}]"
        case dict():
            items = (f"{_written(name, quote)}: {_written(item, quote)}" for name, item in value.items())
            return f"{{{', '.join(items)}}}"
    return repr(value)


def read_anywhere(text: str) -> ParsedReply:
    """The tolerant reading: calls in Python's syntax or in JSON, wherever they stand, else text."""
    return read_leniently(text, lambda answer: find(answer) or find_calls(answer))
