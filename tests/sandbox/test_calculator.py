"""Calculator: values, refusals, and bounds (docs/benchmarks/tools.md#code; as in the released tool, Python evaluates
the text)."""

from __future__ import annotations

import ast
import contextlib
import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgauge.core.errors import ToolError
from tool_impls.base import ToolTimeout
from tool_impls.logic.code_tools import evaluate

VALUES = [
    ("12+30", "42"),
    ("2*(3+4)", "14"),
    ("10/4", "2.5"),
    ("10//4", "2"),
    ("0.1+0.2", "0.30000000000000004"),
    ("19.44 * 0.5 + 1.09", "10.81"),
    ("pow(2,3)", "8.0"),
    ("2**-1", "0.5"),
    ("(-8)**(1/3)", "(1.0000000000000002+1.7320508075688772j)"),
    ("math.sqrt(16)", "4.0"),
    ("sqrt(16) + pi", "7.141592653589793"),
    ("math.factorial(20)", "2432902008176640000"),
    ("perm(5)", "120"),
    ("comb(1000, 3)", "166167000"),
    ("gcd(12, 18), lcm(4, 6), prod([1, 2, 3])", "(6, 12, 6)"),
    ("max(1, 2), min([3, 4]), sum([1, 2], 3)", "(2, 3, 6)"),
    ("round(2.567, 1), round(2.5), round(1234, -2)", "(2.6, 2, 1200)"),
    ("[x**2 for x in [1, 2, 3] if x != 2]", "[1, 9]"),
    ("sum(x*y for x, y in [(1, 2), (3, 4)])", "14"),
    ("[1, 2][0]", "1"),
    ("[1, 2, 3][::-1]", "[3, 2, 1]"),
    ("1 < 2 < 3", "True"),
    ("2 in [1, 2]", "True"),
    ("1 if 2 > 1 else 3", "1"),
    ("not 0 or 1/0", "True"),
    ("7 & 3 | 8 ^ 1, ~1, 1 << 10", "(11, -2, 1024)"),
    ("hypot(*[3, 4])", "5.0"),
    ("isclose(1.0, 1.0, rel_tol=0.1)", "True"),
    ("1e400", "inf"),
    ("'a' * 3", "aaa"),
    ("  1 + 1\n", "2"),
    # forms that mean something else on paper: docs/tools.md
    ("2^10", "8"),
    ("1,234 + 1", "(1, 235)"),
    ("1_234 + 1", "1235"),
    ("200 * 15 % 7", "4"),
    ("math", "<module 'math' (built-in)>"),
    ("sqrt", "<built-in function sqrt>"),
    ("round", "<built-in function round>"),
    ("{'a': 1, **{'b': 2}}", "{'a': 1, 'b': 2}"),
    ("{x: x*x for x in [1, 2]}[2]", "4"),
    ("{'a': 3}.get('b', 5), max({'a': 3, 'b': 4}.values())", "(5, 4)"),
    ("(lambda a, b=2: a * b)(4)", "8"),
    ("max([3, 1, 2], key=lambda value: -value)", "1"),
    ("max([1, 4], key=sqrt)", "4"),
    ("'%d' % 3", "3"),
    ("'%.2f%%' % 12.345", "12.35%"),
    ("f'{1/3:.3f} {3!r:>3}'", "0.333   3"),
    ("'{:,}'.format(1234567)", "1,234,567"),
    ("'abc'.upper()[::-1], ','.join(['a', 'b'])", "('CBA', 'a,b')"),
    ("b'ab'[0], b'ab'", "(97, b'ab')"),
    ("(y := 5) + y", "10"),
    ("{x % 3 for x in [1, 2, 3, 4]} | {7}", "{0, 1, 2, 7}"),
    ("[1, 2, 2].count(2)", "2"),
    ("1.0.is_integer(), (1).bit_length()", "(True, 1)"),
    ("[math][0].sqrt(4)", "2.0"),
    ("().__class__", "<class 'tuple'>"),
    ("max([1] * 200000)", "1"),
    ("gcd(*[3**9000 + x for x in [1, 2] * 3000])", "1"),
    ("sqrt(" * 101 + "1" + ")" * 101, "1.0"),
    ("+".join(["1"] * 700), "700"),
]


def test_values() -> None:
    """In one process, each as the text that it would be alone."""
    texts = ", ".join(f"'%s' % (({expression}),)" for expression, _ in VALUES)
    assert ast.literal_eval(evaluate(f"[{texts}]")) == [text for _, text in VALUES]


@pytest.mark.parametrize(
    ("expression", "text"),
    [("12+30", "42"), ("'a' * 3", "aaa"), ("  1 + 1\n", "2"), ("1e400", "inf")],
)
def test_a_value_is_given_as_a_text(expression: str, text: str) -> None:
    assert evaluate(expression) == text


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1/0", "ZeroDivisionError: division by zero"),
        ("abs(-1)", "NameError: name 'abs' is not defined"),
        ("len([1])", "NameError: name 'len' is not defined"),
        ("__import__('os')", "NameError: name '__import__' is not defined"),
        ("3 +", "SyntaxError: invalid syntax"),
        ("", "SyntaxError: invalid syntax"),
        ("x = 3", "SyntaxError: invalid syntax"),
        ("5!", "SyntaxError: invalid syntax"),
        ("2.5^2", "TypeError: unsupported operand type(s) for ^: 'float' and 'int'"),
        ("1,050", "SyntaxError: leading zeros in decimal integer literals are not permitted"),
        ("2(3 + 4)", "TypeError: 'int' object is not callable"),
        ("2pi", "SyntaxError: invalid decimal literal"),
        ("200 * 15%", "SyntaxError: invalid syntax"),
        ("6 × 7", "SyntaxError: invalid character '×' (U+00D7)"),
        ("5 − 3", "SyntaxError: invalid character '−' (U+2212)"),
        ("√16", "SyntaxError: invalid character '√' (U+221A)"),
        ("3²", "SyntaxError: invalid character '²' (U+00B2)"),
        ("１＋２", "SyntaxError: invalid character '１' (U+FF11)"),
        ("π * 2", "NameError: name 'π' is not defined"),
        ("$5 * 3", "SyntaxError: invalid syntax"),
        ("math.nothing", "AttributeError: module 'math' has no attribute 'nothing'"),
        ("math.__name__", "AttributeError: module 'math' has no attribute '__name__'"),
        ("sqrt('a')", "TypeError: must be real number, not str"),
        ("sqrt(-1)", "ValueError: math domain error"),
        ("1(2)", "TypeError: 'int' object is not callable"),
        ("[1][5]", "IndexError: list index out of range"),
        ("10**5000", "ValueError: Exceeds the limit"),
        ("exp(1000)", "OverflowError: math range error"),
        ("'%d' % 'a'", "TypeError: %d format: a real number is required, not str"),
        ("{'b': 1}['a']", "KeyError: 'a'"),
        ("(lambda f: f(f))(lambda f: f(f))", "RecursionError: maximum recursion depth exceeded"),
    ],
)
def test_refusals(expression: str, message: str) -> None:
    with pytest.raises(ToolError) as caught:
        evaluate(expression)
    assert str(caught.value).startswith(message)


BUSY = [
    "round(5, -10**9)",
    "f'{1:>{10**9}}'",
    "factorial(10**6)",
    "prod([3**9000] * 300)",
    "[[a, a, a, a, a, a, a, a] for a in [[1] * 9000] for b in [1] * 9000]",
    "[3**9000 * 3**3000 for x in [1] * 90000]",
    "sum([[1] * 1000] * 10000, [])",
]
"""What, like other expressions here, uses all of its second of processor time."""


@pytest.mark.parametrize(
    "expression",
    [
        "'%*d' % (10**9, 1)",
        "(lambda f: f(f))(lambda f: [f(f), f(f)])",
        "1 << 10**9",
        "factorial(10**30)",
        "comb(10**5, 5*10**4)",
        "perm(10**6, 10**5)",
        "lcm(*[2**1000 + x for x in [1] * 900], 3**9000)",
        "'a' * 10**9",
        "[0] * 10**9",
        "(0,) * 10**9",
        "[[0] * 1000] * 1000",
        "sum([x for x in [1] * 90000 for y in [1] * 90000])",
        "[2**19990 + x for x in [1] * 9000]",
        "-" * 9000 + "1",
        "(" * 4000 + "1" + ")" * 4000,
        "[" * 90 + "1" + "]" * 90 + "[0]" * 900,
        "1" * 10_001,
        "1" * 9_999,
        *(pytest.param(text, marks=pytest.mark.long) for text in BUSY),
    ],
)
def test_bounds(expression: str) -> None:
    """What would take for ever, or all the memory, is refused soon."""
    began = time.monotonic()
    with pytest.raises(ToolError):
        evaluate(expression, seconds=1.0)
    assert time.monotonic() - began < 8


def test_what_takes_too_long_is_a_timeout() -> None:
    with pytest.raises(ToolTimeout, match="the expression was ended: it used more than 1 s of processor time"):
        evaluate("9**9**9", seconds=1.0)


def test_an_answer_that_is_too_long_is_refused() -> None:
    with pytest.raises(ToolError, match="the expression was ended: it printed more than 1048576 bytes"):
        evaluate("'a' * 2**21")


def test_every_public_name_of_math_is_there() -> None:
    names = [name for name in dir(math) if not name.startswith("_")]
    same = ", ".join(f"{name} is math.{name}" for name in names)
    assert evaluate(f"[{same}]") == str([True] * len(names))


SUBCLASSES = "().__class__.__base__.__subclasses__()"


@pytest.mark.parametrize(
    ("expression", "refused"),
    [
        ("{load}('posix').open('/etc/passwd', 0)", "PermissionError|FileNotFoundError"),
        ("{load}('posix').listdir('/root')", "PermissionError|FileNotFoundError"),
        ("{load}('_socket').socket().connect(('127.0.0.1', 22))", "Error"),
        ("{load}('posix')._exit(3)", "ended"),
        ("{load}('posix').kill(-1, 9) or 9**9**9", "ended|ProcessLookupError|PermissionError"),
    ],
)
def test_an_expression_that_leaves_its_names_stays_in_the_sandbox(expression: str, refused: str) -> None:
    """Python's own classes lead to every module; what confines the expression is the process that it runs in."""
    load = f"[c for c in {SUBCLASSES} if c.__name__ == 'BuiltinImporter'][0].load_module"
    with pytest.raises(ToolError, match=refused):
        evaluate(expression.replace("{load}", load), seconds=1.0)


def test_the_environment_of_the_run_is_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTGAUGE_SECRET", "hush")
    load = f"[c for c in {SUBCLASSES} if c.__name__ == 'BuiltinImporter'][0].load_module"
    assert "hush" not in evaluate(f"{load}('posix').environ")


_WORDS = """
0 1 2 9 99 1e9 .5 + - * ** / // % << >> & | ( ) [ ] , ' a " if else for in not and or == < x : lambda
math . sqrt( factorial( sum( max(
"""
_PIECES = st.lists(st.sampled_from(_WORDS.split()), max_size=25).map(" ".join)


@given(st.one_of(st.text(max_size=40), _PIECES))
@settings(max_examples=12)  # each starts a process
def test_any_text_gives_a_value_or_a_tool_error_in_time(expression: str) -> None:
    began = time.monotonic()
    with contextlib.suppress(ToolError):
        assert isinstance(evaluate(expression), str)
    assert time.monotonic() - began < 8
