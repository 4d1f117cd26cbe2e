"""Calculator: the value of one Python expression, safe by construction.

Names and output are those of the released tool (GTA spec 2: everything public in ``math``, bare and as ``math.x``, and
``max min round sum``; no builtins, so ``abs`` fails and ``pow`` is the one of ``math``). The released tool hands the text
to ``eval``. Here the syntax tree is walked, node by node, and each step has a price, because this runs inside the tool
server: numbers, sequences, texts and the number of steps are bounded, so that an expression can neither hang nor fill
the memory.
"""

from __future__ import annotations

import ast
import math
import operator
import time
from collections.abc import Callable, Iterator
from typing import Any

from harness.errors import ToolError

MAX_CHARACTERS = 10_000
MAX_DEPTH = 100  # of the syntax tree
MAX_BITS = 20_000  # of a whole number: more than the 4300 digits that Python agrees to print
MAX_WEIGHT = 100_000  # of a sequence: an item or a character is 1, and so are 64 bits of a number
MAX_STEPS = 200_000  # nodes evaluated, about half a second
MAX_WORK = 1_000_000  # weight of everything that is made or handed to a function, in all

_MATH: dict[str, Any] = {name: getattr(math, name) for name in dir(math) if not name.startswith("_")}

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: operator.contains(b, a),
    ast.NotIn: lambda a, b: not operator.contains(b, a),
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.MatMult: operator.matmul,
}
_Scope = dict[str, Any]
_TOO_LONG = f"a sequence of the expression has more than about {MAX_WEIGHT} items"


def evaluate(expression: str, *, seconds: float = 2.0) -> str:
    """``str`` of the expression's value.

    Raises ToolError: ``SyntaxError: ...``, ``NameError: ...``, ``ZeroDivisionError: division by zero`` as Python words
    them, or a sentence that names the limit that was exceeded.
    """
    if len(expression) > MAX_CHARACTERS:
        raise ToolError(f"the expression has {len(expression)} characters; at most {MAX_CHARACTERS} are accepted")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
        return _text(_Evaluation(time.monotonic() + seconds, seconds).value(tree.body, {}, 0))
    except ToolError:
        raise
    except RecursionError:
        raise ToolError("the expression is nested too deeply") from None
    except MemoryError:
        raise ToolError("the expression is too large") from None
    except SyntaxError as error:
        raise ToolError(f"SyntaxError: {error.msg}") from None
    except (ArithmeticError, ValueError, TypeError, LookupError, NameError) as error:
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        raise ToolError(f"{type(error).__name__}: {text}") from error


def _text(value: Any) -> str:
    if callable(value):
        return f"<built-in function {value.__name__}>"
    return str(value)


class _MathModule:
    """What the name ``math`` stands for. (The text of the real one may tell a path of this machine.)"""

    def __repr__(self) -> str:
        return "<module 'math' (built-in)>"


class _Evaluation:
    """One walk over a tree, with what is left of its budget."""

    def __init__(self, deadline: float, seconds: float) -> None:
        self._deadline = deadline
        self._seconds = seconds
        self._steps = MAX_STEPS
        self._work = MAX_WORK

    def value(self, node: ast.expr, scope: _Scope, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ToolError("the expression is nested too deeply")
        self._step()
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise ToolError(f"{_described(node)} is not allowed in an expression; use numbers, operators and the functions of math")
        return method(node, scope, depth + 1)

    def _step(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise ToolError(f"the expression needs more than {MAX_STEPS} steps")
        if time.monotonic() > self._deadline:
            raise ToolError(f"the expression took longer than {self._seconds:g} s")

    def _spend(self, value: Any) -> None:
        """Pay for what has been made, or what a function or a comparison may walk through."""
        self._work -= _weight(value, self._work)
        if self._work < 0:
            raise ToolError("the expression makes or works through too many items")

    def _made(self, value: Any) -> Any:
        """The value itself, if it is no larger than is allowed and can be paid for."""
        _check_size(value)
        self._spend(value)
        return value

    # Leaves

    def _constant(self, node: ast.Constant, scope: _Scope, depth: int) -> Any:
        return self._made(node.value)

    def _name(self, node: ast.Name, scope: _Scope, depth: int) -> Any:
        if node.id in scope:
            return scope[node.id]
        if node.id == "math":
            return _MathModule()
        if node.id in _FUNCTIONS:
            return _FUNCTIONS[node.id]
        raise NameError(f"name '{node.id}' is not defined")

    def _attribute(self, node: ast.Attribute, scope: _Scope, depth: int) -> Any:
        if not (isinstance(node.value, ast.Name) and node.value.id == "math" and "math" not in scope):
            raise ToolError(f"the attribute '{node.attr}' is not allowed in an expression; only those of math are")
        if node.attr not in _MATH:
            raise ToolError(f"AttributeError: module 'math' has no attribute '{node.attr}'")
        return _SAFE_MATH[node.attr]

    # Operators

    def _binop(self, node: ast.BinOp, scope: _Scope, depth: int) -> Any:
        chain = [node]  # 1 + 2 + 3 + ... nests to the left: a long sum must not count as deep
        while isinstance(node.left, ast.BinOp):
            node = node.left
            chain.append(node)
        left = self.value(node.left, scope, depth)
        for link in reversed(chain):
            self._step()
            right = self.value(link.right, scope, depth)
            _check_operands(link.op, left, right)
            left = self._made(_BINARY[type(link.op)](left, right))
        return left

    def _unaryop(self, node: ast.UnaryOp, scope: _Scope, depth: int) -> Any:
        return _UNARY[type(node.op)](self.value(node.operand, scope, depth))

    def _boolop(self, node: ast.BoolOp, scope: _Scope, depth: int) -> Any:
        wanted = isinstance(node.op, ast.Or)
        result: Any = None
        for part in node.values:
            result = self.value(part, scope, depth)
            if bool(result) is wanted:
                break
        return result

    def _compare(self, node: ast.Compare, scope: _Scope, depth: int) -> Any:
        left = self.value(node.left, scope, depth)
        result: Any = True
        for kind, part in zip(node.ops, node.comparators, strict=True):
            right = self.value(part, scope, depth)
            self._spend(left)
            self._spend(right)
            result = _COMPARE[type(kind)](left, right)
            if not result:
                break
            left = right
        return result

    def _ifexp(self, node: ast.IfExp, scope: _Scope, depth: int) -> Any:
        return self.value(node.body if self.value(node.test, scope, depth) else node.orelse, scope, depth)

    # Calls

    def _call(self, node: ast.Call, scope: _Scope, depth: int) -> Any:
        function = self.value(node.func, scope, depth)
        arguments: list[Any] = []
        for part in node.args:
            if isinstance(part, ast.Starred):
                arguments.extend(self._items(self.value(part.value, scope, depth)))
            else:
                arguments.append(self.value(part, scope, depth))
        named = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise ToolError("'**' is not allowed in an expression")
            named[keyword.arg] = self.value(keyword.value, scope, depth)
        if not callable(function):
            raise TypeError(f"'{type(function).__name__}' object is not callable")
        for argument in (*arguments, *named.values()):
            if callable(argument):
                raise ToolError("a function is not allowed as an argument in an expression")
            self._spend(argument)
        return self._made(function(*arguments, **named))

    def _items(self, value: Any) -> list[Any]:
        self._spend(value)
        return list(value)

    # Sequences

    def _list(self, node: ast.List, scope: _Scope, depth: int) -> Any:
        return self._made(self._display(node.elts, scope, depth))

    def _tuple(self, node: ast.Tuple, scope: _Scope, depth: int) -> Any:
        return self._made(tuple(self._display(node.elts, scope, depth)))

    def _set(self, node: ast.Set, scope: _Scope, depth: int) -> Any:
        return self._made(set(self._display(node.elts, scope, depth)))

    def _display(self, parts: list[ast.expr], scope: _Scope, depth: int) -> list[Any]:
        found: list[Any] = []
        for part in parts:
            if isinstance(part, ast.Starred):
                found.extend(self._items(self.value(part.value, scope, depth)))
            else:
                found.append(self.value(part, scope, depth))
        return found

    def _subscript(self, node: ast.Subscript, scope: _Scope, depth: int) -> Any:
        value = self.value(node.value, scope, depth)
        return self._made(value[self.value(node.slice, scope, depth)])

    def _slice(self, node: ast.Slice, scope: _Scope, depth: int) -> Any:
        return slice(*(None if part is None else self.value(part, scope, depth) for part in (node.lower, node.upper, node.step)))

    def _listcomp(self, node: ast.ListComp, scope: _Scope, depth: int) -> Any:
        return self._made(list(self._comprehension(node.elt, node.generators, scope, depth)))

    def _generatorexp(self, node: ast.GeneratorExp, scope: _Scope, depth: int) -> Any:
        return self._listcomp(ast.ListComp(node.elt, node.generators), scope, depth)

    def _setcomp(self, node: ast.SetComp, scope: _Scope, depth: int) -> Any:
        return self._made(set(self._comprehension(node.elt, node.generators, scope, depth)))

    def _comprehension(self, element: ast.expr, clauses: list[ast.comprehension], scope: _Scope, depth: int) -> Iterator[Any]:
        if not clauses:
            yield self.value(element, scope, depth)
            return
        clause = clauses[0]
        if clause.is_async:
            raise ToolError("'async' is not allowed in an expression")
        for item in self._items(self.value(clause.iter, scope, depth)):
            self._step()
            inner = scope | _bind(clause.target, item)
            if all(self.value(test, inner, depth) for test in clause.ifs):
                yield from self._comprehension(element, clauses[1:], inner, depth)


def _bind(target: ast.expr, item: Any) -> _Scope:
    if isinstance(target, ast.Name):
        return {target.id: item}
    if isinstance(target, ast.Tuple | ast.List) and all(isinstance(part, ast.Name) for part in target.elts):
        values = list(item) if isinstance(item, list | tuple | str | set) else [item]
        if len(values) != len(target.elts):
            raise ValueError(f"cannot unpack {len(values)} values into {len(target.elts)} names")
        return {part.id: value for part, value in zip(target.elts, values, strict=True) if isinstance(part, ast.Name)}
    raise ToolError("a loop variable must be a name")


def _described(node: ast.expr) -> str:
    words = {"Lambda": "'lambda'", "NamedExpr": "':='", "Dict": "a dictionary", "DictComp": "a dictionary", "JoinedStr": "an f-string"}
    return words.get(type(node).__name__, f"'{type(node).__name__}'")


def _weight(value: Any, enough: int) -> int:
    """How large a value is, its items included. Counting stops beyond ``enough``."""
    total, waiting = 0, [value]
    while waiting and total <= enough:
        item = waiting.pop()
        total += 1
        if isinstance(item, int):
            total += item.bit_length() >> 6
        elif isinstance(item, str | bytes):
            total += len(item)
        elif isinstance(item, list | tuple | set):
            if total + len(item) > enough:
                return enough + 1
            waiting.extend(item)
    return total


def _check_size(value: Any) -> None:
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise ToolError(f"a number of the expression has more than {MAX_BITS} bits")
    elif _weight(value, MAX_WEIGHT) > MAX_WEIGHT:
        raise ToolError(_TOO_LONG)


def _check_operands(kind: ast.operator, left: Any, right: Any) -> None:
    """Refuse an operation before it is done where its result could be too large to make."""
    if isinstance(kind, ast.Mod) and isinstance(left, str | bytes):
        raise ToolError("formatting with '%' is not allowed in an expression")
    if isinstance(left, int) and isinstance(right, int):
        size = abs(left).bit_length()
        bits = 0
        if isinstance(kind, ast.Pow):
            bits = size * right if right > 0 and abs(left) > 1 else 0
        elif isinstance(kind, ast.LShift):
            bits = size + right if left else 0
        if bits > MAX_BITS:
            raise ToolError(f"a number of the expression has more than {MAX_BITS} bits")
        return
    if isinstance(kind, ast.Mult):
        for sequence, times in ((left, right), (right, left)):
            is_sequence = isinstance(sequence, str | bytes | list | tuple)
            if is_sequence and isinstance(times, int) and times > 0 and _weight(sequence, MAX_WEIGHT) * times > 2 * MAX_WEIGHT:
                raise ToolError(_TOO_LONG)


def _sized(name: str, function: Callable[..., Any], bits: Callable[..., float]) -> Callable[..., Any]:
    """A function of ``math`` that is not called where its whole-number result would have too many bits."""

    def guarded(*arguments: Any) -> Any:
        if all(isinstance(a, int) for a in arguments) and arguments and bits(*arguments) > MAX_BITS:
            raise ToolError(f"the result of {name} has more than {MAX_BITS} bits")
        return function(*arguments)

    guarded.__name__ = name
    return guarded


def _factorial_bits(n: int) -> float:
    return math.lgamma(n + 1) / math.log(2) if 0 <= n < 1 << 40 else (0 if n < 0 else math.inf)


def _comb_bits(n: int, k: int) -> float:
    return _perm_bits(n, min(k, n - k)) if n >= k >= 0 else 0


def _perm_bits(n: int, k: int | None = None) -> float:
    """At most this many; the true number may be less by the bits of k!, which does not matter for a bound."""
    chosen = n if k is None else k
    return chosen * n.bit_length() if n >= 0 and chosen >= 0 else 0


def _multiplied(values: Any, *, start: Any = 1) -> Any:
    """``math.prod``, bounded after every factor."""
    result = start
    for value in values:
        _check_operands(ast.Mult(), result, value)
        result = result * value
        _check_size(result)
    return result


def _lcm(*values: Any) -> Any:
    result = 1
    for value in values:
        result = math.lcm(result, value)
        _check_size(result)
    return result


def _rounded(number: Any, ndigits: Any = None) -> Any:
    """``round``; to very many places before the point a whole number is 0, and Python would compute 10 to their power."""
    if isinstance(number, int) and isinstance(ndigits, int) and ndigits < -MAX_BITS:
        return 0
    return round(number, ndigits)


def _added(values: Any, /, start: Any = 0) -> Any:
    """``sum``; joining lists one by one would take a time that grows with the square of their number."""
    items = list(values)
    _check_size(items)
    if any(isinstance(item, list | tuple) for item in (start, *items)) and len(items) > 1000:
        raise ToolError("sum of more than 1000 sequences is not allowed in an expression")
    return sum(items, start)


_SAFE_MATH: dict[str, Any] = _MATH | {
    "factorial": _sized("factorial", math.factorial, _factorial_bits),
    "comb": _sized("comb", math.comb, _comb_bits),
    "perm": _sized("perm", math.perm, _perm_bits),
    "prod": _multiplied,
    "lcm": _lcm,
}
_FUNCTIONS: dict[str, Any] = _SAFE_MATH | {"max": max, "min": min, "round": _rounded, "sum": _added}
