"""Calculator: values, refusals, and bounds (GTA spec 2; the released tool evaluates the text as Python)."""

from __future__ import annotations

import contextlib
import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import ToolError
from tool_impls.calculator import evaluate


@pytest.mark.parametrize(
    ("expression", "text"),
    [
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
        ("round(5, -10**9)", "0"),
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
        ("math", "<module 'math' (built-in)>"),
        ("sqrt", "<built-in function sqrt>"),
        ("+".join(["1"] * 700), "700"),
    ],
)
def test_values(expression: str, text: str) -> None:
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
        ("math.nothing", "AttributeError: module 'math' has no attribute 'nothing'"),
        ("math.__name__", "AttributeError: module 'math' has no attribute '__name__'"),
        ("(1).__class__", "the attribute '__class__' is not allowed"),
        ("[math][0].sqrt(4)", "the attribute 'sqrt' is not allowed"),
        ("lambda: 1", "'lambda' is not allowed"),
        ("(x := 3)", "':=' is not allowed"),
        ("{1: 2}", "a dictionary is not allowed"),
        ("f'{1}'", "an f-string is not allowed"),
        ("'%d' % 3", "formatting with '%' is not allowed"),
        ("max([1], key=sqrt)", "a function is not allowed as an argument"),
        ("sqrt('a')", "TypeError: must be real number, not str"),
        ("sqrt(-1)", "ValueError: math domain error"),
        ("1(2)", "TypeError: 'int' object is not callable"),
        ("[1][5]", "IndexError: list index out of range"),
        ("10**5000", "ValueError: Exceeds the limit"),
        ("exp(1000)", "OverflowError: math range error"),
    ],
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_refusals(expression: str, message: str) -> None:
    with pytest.raises(ToolError) as caught:
        evaluate(expression)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9",
        "1 << 10**9",
        "factorial(10**6)",
        "factorial(10**30)",
        "comb(10**5, 5*10**4)",
        "perm(10**6, 10**5)",
        "prod([3**9000] * 300)",
        "lcm(*[2**1000 + x for x in [1] * 900], 3**9000)",
        "'a' * 10**9",
        "[0] * 10**9",
        "(0,) * 10**9",
        "[[0] * 1000] * 1000",
        "sum([x for x in [1] * 90000 for y in [1] * 90000])",
        "[[a, a, a, a, a, a, a, a] for a in [[1] * 9000] for b in [1] * 9000]",
        "[2**19990 + x for x in [1] * 9000]",
        "[3**9000 * 3**3000 for x in [1] * 90000]",
        "gcd(*[3**9000 + x for x in [1, 2] * 3000])",
        "max([1] * 200000)",
        "sum([[1] * 1000] * 10000, [])",
        "-" * 9000 + "1",
        "(" * 4000 + "1" + ")" * 4000,
        "[" * 90 + "1" + "]" * 90 + "[0]" * 900,
        "1" * 10_001,
        "1" * 9_999,
        "sqrt(" * 101 + "1" + ")" * 101,
    ],
)
def test_bounds(expression: str) -> None:
    """What would take for ever, or all the memory, is refused soon."""
    began = time.monotonic()
    with pytest.raises(ToolError):
        evaluate(expression, seconds=1.0)
    assert time.monotonic() - began < 3


def test_the_time_limit_is_kept_between_steps() -> None:
    with pytest.raises(ToolError, match="took longer than 0 s"):
        evaluate("1+1", seconds=0)


def test_every_public_name_of_math_is_there() -> None:
    for name in dir(math):
        if not name.startswith("_"):
            assert evaluate(f"{name} == math.{name}") == "True" or name == "nan"


_WORDS = """
0 1 2 9 99 1e9 .5 + - * ** / // % << >> & | ( ) [ ] , ' a " if else for in not and or == < x : lambda
math . sqrt( factorial( sum( max(
"""
_PIECES = st.lists(st.sampled_from(_WORDS.split()), max_size=25).map(" ".join)


@given(st.one_of(st.text(max_size=40), _PIECES))
@settings(max_examples=300, deadline=None)
@pytest.mark.filterwarnings("ignore")
def test_any_text_gives_a_value_or_a_tool_error_in_time(expression: str) -> None:
    began = time.monotonic()
    with contextlib.suppress(ToolError):
        assert isinstance(evaluate(expression), str)
    assert time.monotonic() - began < 3
