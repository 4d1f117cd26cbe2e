"""Calls written as Python: ``f(a=1, b="x"), g()``, the syntax of ToolACE, watt-tool and Gorilla
(docs/benchmarks/wild.md#python-calls).

``parse`` is strict; ``read_python`` reads from a position, with the usual mistakes of models, for ``--scoring strict``.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from agentgauge.agent.dialects.call_values import Offered, offered_name, types_of
from agentgauge.agent.dialects.format import ParsedCall, as_json, value_of
from agentgauge.agent.model_json import NoValue, decode, skip_blanks
from agentgauge.core.types import Json

_LIMIT = 100_000
"""Characters of a text that is worth parsing: a syntax tree takes hundreds of times the memory of its text."""

_OPERATIONS: Mapping[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_WORDS: Mapping[str, Json] = {"true": True, "false": False}

_quiet = threading.Lock()  # the filters of warnings are the process's: two parsers must not restore each other's


def parse(text: str) -> list[ParsedCall]:
    """The outermost calls in Python's syntax. Raises ValueError for another text, and for a value outside of the
    grammar.

    Positional arguments are dropped unread; what stands behind ``**`` has the name ``null``.
    """
    tree = _tree(text, "exec")
    try:
        return [ParsedCall(_name(node.func), as_json(_keywords(node))) for node in _outermost(tree)]
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"not calls in Python's syntax: {error}") from None


def first_call(text: str) -> ParsedCall:
    """The call that is the value of the first statement, as Gorilla's published runs read it: positional arguments are
    a list under the name ``None``, and a name with dots is one that no tool has. Raises ValueError as ``parse``."""
    statements = _tree(text, "exec").body
    node = getattr(statements[0], "value", None) if statements else None
    if not isinstance(node, ast.Call):
        raise ValueError("not a call in Python's syntax")
    try:
        given = [_value(one) for one in node.args]
        arguments = _keywords(node) | ({"None": given} if given else {})
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"not a call in Python's syntax: {error}") from None
    name = node.func.id if isinstance(node.func, ast.Name) else f"<ast.{type(node.func).__name__} object>"
    return ParsedCall(name, as_json(arguments))


def evaluate(text: str) -> Json:
    """The value of an expression of the grammar, with ``null`` as a value. Raises ValueError."""
    try:
        return _value(_tree(text).body, {**_WORDS, "null": None})
    except (ArithmeticError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _tree(text: str, mode: str = "eval") -> Any:
    """Raises ValueError for what is no expression or, in the mode ``exec``, no program."""
    try:
        if len(text) > _LIMIT:
            raise ValueError("too long")
        with _quiet, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of "\\d" and of 1if
            return ast.parse(text.strip(), mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"not calls in Python's syntax: {error}") from None


def _outermost(node: ast.AST) -> Iterator[ast.Call]:
    if isinstance(node, ast.Call):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _outermost(child)


def _keywords(node: ast.Call) -> dict[str, Json]:
    arguments: dict[str, Json] = {}
    for given in node.keywords:
        arguments[given.arg or "null"] = _value(given.value)
    return arguments


def _value(node: ast.expr, words: Mapping[str, Json] = _WORDS) -> Json:
    match node:
        case ast.Constant(value=None | str() | bool() as constant):
            return constant
        case ast.Constant(value=int() | float() as number):
            return _finite(number)
        case ast.Name(id=name):
            return words.get(name.lower(), name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _finite(-_number(_value(operand, words)))
        case ast.BinOp(left=left, op=op, right=right):
            return _computed(_value(left, words), op, _value(right, words))
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, words) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {_key(key, words): _value(value, words) for key, value in zip(keys, values, strict=True)}
    raise ValueError(f"{type(node).__name__} is no value")


def _key(node: ast.expr | None, words: Mapping[str, Json]) -> str:
    """A key as JSON writes it. There is none where a dict is spread with ``**``."""
    key = _value(node, words) if node else []
    if isinstance(key, list | dict):
        raise ValueError("not a key")
    return key if isinstance(key, str) else as_json(key)


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
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


def render_history(calls: Sequence[ParsedCall]) -> str:
    """Calls as the history shows them: texts in double quotes and not escaped, as published. Some of them cannot be
    parsed again.

    Arguments that are no JSON object stand as they are.
    """
    return ", ".join(_call(call, _quoted) for call in calls)


def render_published(calls: Sequence[ParsedCall]) -> str:
    """Calls as the published runs show them in the history: booleans are ``true`` and ``false``. Raises ValueError for
    a null, and for arguments that are no JSON object: the published code fails on them."""
    for call in calls:
        if not isinstance(value_of(call.arguments), dict):
            raise ValueError(f"its arguments are no object: {call.arguments:.80}")
    return ", ".join(_call(call, _quoted, _lower) for call in calls)


def _lower(value: Json) -> str:
    if value is None:
        raise ValueError("an argument is null")
    return repr(value).lower() if isinstance(value, bool) else str(value)


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


def _call(call: ParsedCall, quote: Callable[[str], str], plain: Callable[[Json], str] = repr) -> str:
    values, written = value_of(call.arguments), call.arguments
    if isinstance(values, dict):
        with suppress(RecursionError):
            written = ", ".join(f"{name}={_written(value, quote, plain)}" for name, value in values.items())
    return f"{call.name}({written})"


def _written(value: Json, quote: Callable[[str], str], plain: Callable[[Json], str]) -> str:
    match value:
        case str():
            return quote(value)
        case list():
            return f"[{', '.join(_written(item, quote, plain) for item in value)}]"
        case dict():
            items = (f"{quote(name)}: {_written(item, quote, plain)}" for name, item in value.items())
            return f"{{{', '.join(items)}}}"
    return plain(value)


_NAME = re.compile(r"([^\W\d][\w.-]*)\s*\(")
_PARAMETER = re.compile(r"([^\W\d][\w.-]*)\s*=(?!=)\s*")
_PIECE = re.compile(r"\"(?:\\.|[^\"\\])*+\"|'(?:\\.|[^'\\])*+'|[\[({\])},]", re.DOTALL)
_UNCLEAR = re.compile(r"\d[-/]\d")
"""A date, a telephone number, a fraction: what stands so without quotes is no sum."""

_EXPRESSION = 10_000  # characters


def read_python(text: str, place: int, offered: Offered) -> tuple[list[ParsedCall], int]:
    """The calls that begin at ``place``, joined by commas, in brackets or not, and their end. Raises NoValue.

    Values are those of ``near_json``, else what Python computes from numbers and joins from texts. A positional object
    holds the arguments, unless only an object fits the tool's first parameter; other positional values go to the
    parameters in their order. The last bracket of a reply may be missing.
    """
    bracketed = text.startswith("[", place)
    place = skip_blanks(text, place + 1) if bracketed else place
    calls: list[ParsedCall] = []
    while True:
        call, end = _read_call(text, place, offered)
        calls.append(call)
        place = skip_blanks(text, end)
        if text.startswith(",", place):
            place = skip_blanks(text, place + 1)
            if _NAME.match(text, place):
                continue
        if not bracketed:
            return calls, end
        if text.startswith("]", place):
            return calls, place + 1
        if text[end:place].strip() or (place < len(text) and not text.startswith("<|", place)):
            raise NoValue(place)
        return calls, end


def _read_call(text: str, place: int, offered: Offered) -> tuple[ParsedCall, int]:
    named = _NAME.match(text, place)
    if not named:
        raise NoValue(place)
    name = offered_name(named[1], offered)
    if name not in offered:
        name = name.removesuffix(".call").rpartition(".")[2]
    given: dict[str, Json] = {}
    positional: list[Json] = []
    place = skip_blanks(text, named.end())
    while not text.startswith(")", place):
        parameter = _PARAMETER.match(text, place)
        value, place = _argument(text, parameter.end() if parameter else place)
        if parameter:
            given[parameter[1]] = value
        else:
            positional.append(value)
        if text.startswith(",", place):
            place = skip_blanks(text, place + 1)
    try:
        return ParsedCall(name, as_json(_named(positional, given, offered.get(name, {})))), place + 1
    except (ValueError, RecursionError):
        raise NoValue(place) from None


def _named(positional: list[Json], given: dict[str, Json], parameters: Mapping[str, Any]) -> dict[str, Json]:
    """All arguments by name. Raises ValueError where a positional one has none."""
    names = list(parameters)
    if len(positional) == 1 and isinstance(held := positional[0], dict) and not set(held) & set(given):
        takes_object = bool(names) and "object" in types_of(parameters[names[0]])
        if set(held) <= set(names) or not takes_object:
            return held | given
    if len(positional) > len(names) or set(names[: len(positional)]) & set(given):
        raise ValueError("a positional argument without a name")
    return dict(zip(names, positional, strict=False)) | given


def _argument(text: str, place: int) -> tuple[Json, int]:
    """A value, and the comma or bracket behind it."""
    try:
        value, end = decode(text, place, python=True)
        end = skip_blanks(text, end)
        if text[end : end + 1] in (",", ")"):
            return value, end
        read_to = end
    except NoValue as error:
        read_to = error.place
    end = _expression_end(text, place)
    try:
        expression = text[place:end]
        if end and not _UNCLEAR.search(expression):
            return evaluate(expression), end
    except ValueError:
        pass
    raise NoValue(max(read_to, end or place + _EXPRESSION))


def _expression_end(text: str, place: int) -> int:
    """Where the expression meets a comma or the bracket of its call; 0 if it does not."""
    depth = 0
    for piece in _PIECE.finditer(text, place, place + _EXPRESSION):
        if piece[0] in "([{":
            depth += 1
        elif depth == 0 and piece[0] in "])},":
            return piece.start() if piece[0] in ",)" else 0
        elif piece[0] in ")]}":
            depth -= 1
    return 0
