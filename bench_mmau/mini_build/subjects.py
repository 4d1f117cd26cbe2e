"""Mathematics: problems of many subjects, drawn with a fixed seed; every answer is computed."""

# Long texts stay on one line.
# ruff: noqa: E501

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

Made = tuple[str, str]
"""A problem and its answer."""


def _linear(draw: random.Random) -> Made:
    x, a, b = draw.randint(-9, 9), draw.randint(2, 9), draw.randint(-20, 20)
    return f"Solve {a}*x + {b} = {a * x + b} for x.", str(x)


def _system(draw: random.Random) -> Made:
    x, y = draw.randint(-6, 6), draw.randint(-6, 6)
    return f"Let x + y = {x + y} and 2*x - y = {2 * x - y}. What is x?", str(x)


def _fraction_sum(draw: random.Random) -> Made:
    a, b = Fraction(draw.randint(1, 9), draw.randint(2, 9)), Fraction(draw.randint(1, 9), draw.randint(2, 9))
    return f"Add {a} and {b}. Give a fraction in lowest terms.", str(a + b)


def _quotient(draw: random.Random) -> Made:
    a, b = draw.randint(2, 60), draw.randint(2, 60)
    return f"Divide {a} by {b}. Give a fraction in lowest terms.", str(Fraction(a, b))


def _product(draw: random.Random) -> Made:
    a, b = draw.randint(-99, 99), draw.randint(11, 99)
    return f"Multiply {a} and {b}.", str(a * b)


def _nested(draw: random.Random) -> Made:
    a, b, c, d = (draw.randint(2, 12) for _ in range(4))
    return f"Work out ({a} + {b}) * {c} - {d}.", str((a + b) * c - d)


def _gcd(draw: random.Random) -> Made:
    k = draw.randint(2, 12)
    a, b = k * draw.randint(3, 20), k * draw.randint(3, 20)
    return f"What is the greatest common divisor of {a} and {b}?", str(math.gcd(a, b))


def _lcm(draw: random.Random) -> Made:
    a, b = draw.randint(4, 24), draw.randint(4, 24)
    return f"What is the least common multiple of {a} and {b}?", str(math.lcm(a, b))


def _remainder(draw: random.Random) -> Made:
    a, b = draw.randint(100, 999), draw.randint(7, 37)
    return f"What is the remainder when {a} is divided by {b}?", str(a % b)


def _prime(draw: random.Random) -> Made:
    n = draw.randint(50, 200)
    return f"Is {n} a prime number? Answer True or False.", str(all(n % d for d in range(2, math.isqrt(n) + 1)))


def _factors(draw: random.Random) -> Made:
    n = math.prod(draw.choice((2, 3, 5, 7)) for _ in range(4))
    found = sorted({p for p in (2, 3, 5, 7) if n % p == 0})
    return f"List the prime factors of {n}, each once, in rising order.", ", ".join(map(str, found))


def _place_value(draw: random.Random) -> Made:
    n = draw.randint(10_000, 99_999)
    return f"What is the hundreds digit of {n}?", str(n // 100 % 10)


def _rounding(draw: random.Random) -> Made:
    n = draw.randint(1000, 9999) * 10 + draw.choice((1, 2, 3, 4, 6, 7, 8, 9))
    return f"Round {n} to the nearest ten.", str((n + 5) // 10 * 10)


def _base(draw: random.Random) -> Made:
    n = draw.randint(20, 255)
    return f"Write {n} in base 2.", f"{n:b}"


def _sequence(draw: random.Random) -> Made:
    a, d = draw.randint(-9, 9), draw.randint(2, 9)
    return f"What comes next: {a}, {a + d}, {a + 2 * d}, {a + 3 * d}?", str(a + 4 * d)


def _nth_term(draw: random.Random) -> Made:
    a, d, n = draw.randint(-9, 9), draw.randint(2, 9), draw.randint(20, 60)
    return f"A sequence begins with {a} and rises by {d} each time. What is its term number {n}?", str(a + (n - 1) * d)


def _derivative(draw: random.Random) -> Made:
    a, b, x = draw.randint(2, 7), draw.randint(-9, 9), draw.randint(-4, 4)
    return f"Let f(x) = {a}*x**3 + {b}*x. What is f'({x})?", str(3 * a * x * x + b)


def _polynomial(draw: random.Random) -> Made:
    a, b, x = draw.randint(-5, 5), draw.randint(-9, 9), draw.randint(-5, 5)
    return f"Let p(x) = x**2 + {a}*x + {b}. What is p({x})?", str(x * x + a * x + b)


def _composed(draw: random.Random) -> Made:
    a, b, x = draw.randint(2, 6), draw.randint(-6, 6), draw.randint(-5, 5)
    return f"Let f(x) = {a}*x and g(x) = x + {b}. What is f(g({x}))?", str(a * (x + b))


def _probability(draw: random.Random) -> Made:
    red, blue = draw.randint(2, 6), draw.randint(2, 6)
    both = Fraction(red * (red - 1), (red + blue) * (red + blue - 1))
    text = f"A bag holds {red} red and {blue} blue balls. Two are drawn without putting back. What is the probability that both are red?"
    return f"{text} Give a fraction in lowest terms.", str(both)


def _compare(draw: random.Random) -> Made:
    a, b = Fraction(draw.randint(1, 9), draw.randint(2, 9)), Fraction(draw.randint(1, 9), draw.randint(2, 9))
    return f"Is {a} greater than {b}? Answer True or False.", str(a > b)


def _units(draw: random.Random) -> Made:
    n = draw.randint(2, 90)
    return f"How many minutes are {n} hours?", str(60 * n)


def _clock(draw: random.Random) -> Made:
    start, more = draw.randint(0, 23 * 60), draw.randint(30, 300)
    end = (start + more) % (24 * 60)
    return f"What time is it {more} minutes after {start // 60:02}:{start % 60:02}? Answer as HH:MM.", f"{end // 60:02}:{end % 60:02}"


def _powers(draw: random.Random) -> Made:
    a, b = draw.randint(2, 7), draw.randint(2, 5)
    return f"Simplify x**{a} * x**{b} / x. Give the exponent of x.", str(a + b - 1)


SUBJECTS: dict[str, Callable[[random.Random], Made]] = {
    "algebra_linear_1d": _linear,
    "algebra_linear_2d": _system,
    "arithmetic_add_fractions": _fraction_sum,
    "arithmetic_div": _quotient,
    "arithmetic_mul": _product,
    "arithmetic_nested": _nested,
    "numbers_gcd": _gcd,
    "numbers_lcm": _lcm,
    "numbers_remainder": _remainder,
    "numbers_is_prime": _prime,
    "numbers_prime_factors": _factors,
    "numbers_place_value": _place_value,
    "numbers_round": _rounding,
    "numbers_base": _base,
    "algebra_sequence_next": _sequence,
    "algebra_sequence_nth": _nth_term,
    "calculus_derivative": _derivative,
    "polynomials_evaluate": _polynomial,
    "polynomials_compose": _composed,
    "probability_without_replacement": _probability,
    "comparison_pair": _compare,
    "measurement_conversion": _units,
    "measurement_time": _clock,
    "polynomials_powers": _powers,
}

_TOLD = (
    "On a rainy afternoon a teacher writes the following on the board and turns it this way and that before anyone may answer: {problem}",
    "Somebody asks you, in a letter that goes on at length about the weather and a cat, one thing of substance: {problem}",
    "Imagine a machine that ignores every word but the question at its end. You are that machine. {problem}",
)

_PROMPT = """Solve this problem. Write your reply in two parts: behind #THOUGHTS# a few sentences, step by step, and behind #ANSWER#: the answer and nothing else.

#PROBLEM#: {problem}"""


def files() -> dict[str, list[dict[str, Any]]]:
    """Two problems of every subject, and one of each told in a more complicated way."""
    draw = random.Random(20240712)
    standard = [record(f"math_{name}_{number}", name, *make(draw)) for name, make in SUBJECTS.items() for number in (1, 2)]
    told = []
    for place, (name, make) in enumerate(SUBJECTS.items()):
        problem, answer = make(draw)
        told.append(record(f"comprehend_{name}", name, _TOLD[place % len(_TOLD)].format(problem=problem), answer))
    return {"math_standard_20240712.jsonl": standard, "math_understand_20240712.jsonl": told}


def record(number: str, subject: str, problem: str, answer: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": _PROMPT.format(problem=problem)}]
    return {"id": number, "messages": messages, "raw_problem": problem, "gt_answer": answer, "subject": subject}
