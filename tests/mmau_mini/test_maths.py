"""The bundled mathematics: every answer is found again from the text of its problem, in another way."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import pytest

from bundled_data.mmau.maths import files
from bundled_data.mmau.regenerate import records as regenerated
from tests.every import every

FILES = files()
STANDARD = FILES["math_standard_20240712.jsonl"]
TOLD = FILES["math_understand_20240712.jsonl"]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def ints(text: str) -> list[int]:
    """The integers of a text; a sign that stands off its number belongs to it."""
    return [int(one) for one in NUMBER.findall(re.sub(r"([+-]) (?=\d)", r"\1", text))]


def value(text: str, x: int = 0) -> Fraction:
    """An arithmetic expression of ours, exactly. A polynomial at x."""
    exact = re.sub(r"\d+(?:\.\d+)?", lambda found: f"F('{found[0]}')", re.sub(r"\*\*(\d)", r"**int(\1)", text))
    return Fraction(eval(exact, {"F": Fraction, "int": int, "x": Fraction(x)}))


def same_polynomial(a: str, b: Callable[[int], Fraction]) -> bool:
    return all(value(a, x) == b(x) for x in range(-4, 5))


def inside(text: str) -> list[str]:
    """What stands in brackets."""
    return re.findall(r"\(([^()]*)\)", text)


def whole_root(number: int) -> int:
    return next(root for root in itertools.count() if 4 * number < (2 * root + 1) ** 2)


def is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, number))


def minutes(clock: str) -> int:
    hours, rest = clock.split(":")
    return 60 * int(hours) + int(rest)


def linear(text: str, answer: str) -> bool:
    left, right = re.search(r"Solve (.*) = (.*) for x", text).groups()
    return value(left, int(answer)) == value(right, int(answer))


def linear_pair(text: str, answer: str) -> bool:
    a, total, b, other = (
        int(one) for one in re.search(r"Solve (\d+)\*x \+ y = (\S+) and x - (\d+)\*y = (\S+) for", text).groups()
    )
    x = int(answer)
    return x - b * (total - a * x) == other


def quadratic(text: str, answer: str) -> bool:
    polynomial = text.removeprefix("Solve ").partition(" = 0")[0]
    found = [x for x in range(-100, 101) if value(polynomial, x) == 0]
    return len(found) == 2 and answer == ", ".join(map(str, found))


def next_term(text: str, answer: str) -> bool:
    a, b, c, d, *_ = ints(text)
    assert a - 3 * b + 3 * c - d == 0
    return int(answer) == b - 3 * c + 3 * d


def geometric(text: str, answer: str) -> bool:
    count, first, ratio = ints(text)
    return Fraction(answer) == Fraction(first * (ratio**count - 1), ratio - 1)


def worked(text: str, answer: str) -> bool:
    return Fraction(answer) == value(re.search(r"(?:Work out|What is) (.*?)[.?](?:$| Give)", text)[1])


def surd(text: str, answer: str) -> bool:
    number, (a, b) = ints(text)[0], ints(answer)
    return a * a * b == number and all(b % (n * n) for n in range(2, b + 1))


def percent(text: str, answer: str) -> bool:
    rate, base = ints(text)
    return int(answer) * 100 == rate * base


def derivative(text: str, answer: str) -> bool:
    f = re.search(r"of (.*) with", text)[1]

    def slope(
        x: int,
    ) -> Fraction:  # exact up to the third power: the central difference less its error, the third difference
        near, wide = (value(f, x + 1) - value(f, x - 1)) / 2, (value(f, x + 2) - value(f, x - 2)) / 4
        return (4 * near - wide) / 3

    return same_polynomial(answer, slope)


def integral(text: str, answer: str) -> bool:
    f, end = re.search(r"Integrate (.*) over x from 0 to (\d+)", text).groups()
    middle = value(f.replace("x", f"({end}/2)"))
    return Fraction(answer) == Fraction(int(end), 6) * (
        value(f, 0) + 4 * middle + value(f, int(end))
    )  # Simpson is exact here


def closest(text: str, answer: str) -> bool:
    *values, goal = ints(text)
    best = sorted(abs(one - goal) for one in values)
    return int(answer) in values and abs(int(answer) - goal) == best[0] < best[1]


def biggest(text: str, answer: str) -> bool:
    place = ["", "", "second", "third", "fourth"].index(text.split()[3])
    return sum(one > int(answer) for one in ints(text)) == place - 1 and int(answer) in ints(text)


def in_order(text: str, answer: str) -> bool:
    given = text.removeprefix("Sort ").removesuffix(" in rising order.").split(", ")
    found = [Fraction(one) for one in answer.split(", ")]
    return Counter(given) == Counter(answer.split(", ")) and all(a < b for a, b in itertools.pairwise(found))


def less(text: str, answer: str) -> bool:
    a, b, c, d = ints(text)
    return answer == str(a * d < c * b)


def converted(text: str, answer: str) -> bool:
    size = 100 if "centimetres" in text else 1000
    return Fraction(answer) * size == ints(text)[0] and answer == f"{ints(text)[0] / size:g}"


def between(text: str, answer: str) -> bool:
    start, end = re.findall(r"\d\d:\d\d", text)
    return 0 < int(answer) < 1440 and (minutes(start) + int(answer) - minutes(end)) % 1440 == 0


def arrival(text: str, answer: str) -> bool:
    (start,), ride = re.findall(r"\d\d:\d\d", text), int(re.search(r"(\d+) minutes", text)[1])
    return (
        re.fullmatch(r"[012]\d:[0-5]\d", answer) is not None and (minutes(start) + ride - minutes(answer)) % 1440 == 0
    )


def in_base(text: str, answer: str) -> bool:
    number, _, base = ints(text)
    return int(answer, base) == number


def remainder(text: str, answer: str) -> bool:
    number, divisor = ints(text)
    return 0 <= int(answer) < divisor and (number - int(answer)) % divisor == 0


def common_divisor(text: str, answer: str) -> bool:
    a, b = ints(text)
    return int(answer) == max(n for n in range(1, a + 1) if a % n == b % n == 0)


def common_multiple(text: str, answer: str) -> bool:
    a, b = ints(text)
    return int(answer) == next(n for n in itertools.count(a, a) if n % b == 0)


def factor(text: str, answer: str) -> bool:
    a, b = sorted(ints(text))
    return answer == str(b in range(a, b + 1, a))


def prime_factors(text: str, answer: str) -> bool:
    number = ints(text)[0]
    return answer == ", ".join(str(n) for n in range(2, number + 1) if number % n == 0 and is_prime(n))


def digit(text: str, answer: str) -> bool:
    names = ["ones", "tens", "hundreds", "thousands", "ten thousands"]
    return answer == str(ints(text)[0])[::-1][names.index(re.search(r"the (.*) digit", text)[1])]


def rounded(text: str, answer: str) -> bool:
    number, step = ints(text)[0], 100 if "hundred" in text else 1000
    return int(answer) % step == 0 and abs(int(answer) - number) * 2 < step


def added(text: str, answer: str) -> bool:
    a, b = inside(text)
    return same_polynomial(answer, lambda x: value(a, x) + value(b, x))


def evaluated(text: str, answer: str) -> bool:
    polynomial, x = re.search(r"p\(x\) = (.*)\. What is p\((-?\d+)\)", text).groups()
    return value(polynomial, int(x)) == int(answer)


def composed(text: str, answer: str) -> bool:
    f, g = re.search(r"f\(x\) = (.*) and g\(x\) = (.*)\. Write", text).groups()
    return same_polynomial(answer, lambda x: value(f, int(value(g, x))))


def expanded(text: str, answer: str) -> bool:
    a, b = inside(text)
    return same_polynomial(answer, lambda x: value(a, x) * value(b, x))


def power(text: str, answer: str) -> bool:
    a, b, c = (int(one) for one in re.search(r"\(x\*\*(\d+)\)\*\*(\d+) / x\*\*(\d+)", text).groups())
    return 2 ** int(answer.removeprefix("x**")) == (2**a) ** b // 2**c


def letters(text: str, answer: str) -> bool:
    bag, wanted = re.search(r"from (\w+)\. .* both are (\w)\?", text).groups()
    pairs = list(itertools.permutations(bag, 2))
    return Fraction(answer) == Fraction(pairs.count((wanted, wanted)), len(pairs))


def dice(text: str, answer: str) -> bool:
    thrown = [sum(pair) for pair in itertools.product(range(1, 7), repeat=2)]
    return Fraction(answer) == Fraction(thrown.count(ints(text)[0]), len(thrown))


def orders(text: str, answer: str) -> bool:
    return int(answer) == len(set(itertools.permutations(re.search(r"letters of (\w+)", text)[1])))


def chosen(text: str, answer: str) -> bool:
    few, many = ints(text)
    return int(answer) == sum(1 for _ in itertools.combinations(range(many), few))


def balls(text: str, answer: str) -> bool:
    red, blue = ints(text)
    return letters(f"from {'r' * red}{'b' * blue}. so both are r?", answer)


def hypotenuse(text: str, answer: str) -> bool:
    a, b = ints(text)
    return a * a + b * b == int(answer) ** 2


def term(text: str, answer: str) -> bool:
    first, rise, place = ints(text)
    return int(answer) == range(first, first + place * rise, rise)[place - 1]


def system_for_y(text: str, answer: str) -> bool:
    total, legs = (int(one) for one in re.search(r"x \+ y = (\d+) and 2\*x \+ 4\*y = (\d+) ", text).groups())
    return [y for y in range(total + 1) if 2 * (total - y) + 4 * y == legs] == [int(answer)]


CHECKS: dict[str, Callable[[str, str], bool]] = {
    "algebra__linear_1d": linear,
    "algebra__linear_2d": linear_pair,
    "algebra__polynomial_roots": quadratic,
    "algebra__sequence_next_term": next_term,
    "algebra__geometric_sum": geometric,
    "arithmetic__add_or_sub_decimals": worked,
    "arithmetic__mixed": worked,
    "arithmetic__nearest_integer_root": lambda text, answer: int(answer) == whole_root(ints(text)[0]),
    "arithmetic__simplify_surd": surd,
    "arithmetic__percent": percent,
    "calculus__differentiate": derivative,
    "calculus__definite_integral": integral,
    "comparison__closest": closest,
    "comparison__kth_biggest": biggest,
    "comparison__sort": in_order,
    "comparison__pair": less,
    "measurement__conversion": converted,
    "measurement__time": between,
    "numbers__base_conversion": in_base,
    "numbers__div_remainder": remainder,
    "numbers__gcd": common_divisor,
    "numbers__lcm": common_multiple,
    "numbers__is_factor": factor,
    "numbers__is_prime": lambda text, answer: answer == str(is_prime(ints(text)[0])),
    "numbers__list_prime_factors": prime_factors,
    "numbers__place_value": digit,
    "numbers__round_number": rounded,
    "polynomials__add": added,
    "polynomials__evaluate": evaluated,
    "polynomials__compose": composed,
    "polynomials__expand": expanded,
    "polynomials__simplify_power": power,
    "probability__without_replacement": letters,
    "probability__two_dice": dice,
    "counting__arrangements": orders,
    "counting__choices": chosen,
    "geometry__right_triangle": hypotenuse,
    "geometry__polygon_angles": lambda text, answer: Fraction(answer) / 180 == ints(text)[0] - 2,
}
SIMPLE = CHECKS | {
    "arithmetic__mul": worked,
    "arithmetic__add_or_sub": worked,
    "algebra__sequence_nth_term": term,
    "algebra__linear_2d": system_for_y,
    "measurement__time": arrival,
    "probability__without_replacement": balls,
}


WORDS = {"1": "one", "2": "two", "4": "four"}
IMPLIED = {
    "arithmetic__mul": {str(seats) for seats in range(12, 41)},  # told as one less than a number
    "counting__choices": {"2"},  # a handshake takes two
}


@every("record", STANDARD, ids=lambda record: record["id"])
def test_answers_are_right(record: dict[str, str]) -> None:
    assert CHECKS[record["subject"]](record["raw_problem"], record["gt_answer"])


@every("record", TOLD, ids=lambda record: record["id"])
def test_told_problems_have_the_answer_of_the_simple_one(record: dict[str, str]) -> None:
    assert SIMPLE[record["subject"]](record["simple_problem"], record["gt_answer"])
    assert len(record["raw_problem"]) > 1.3 * len(record["simple_problem"])
    for number in {str(abs(one)) for one in ints(record["simple_problem"])} - IMPLIED.get(record["subject"], set()):
        assert number in record["raw_problem"] or WORDS.get(number, "?") in record["raw_problem"]


def test_counts_and_shapes() -> None:
    assert len(STANDARD) == 2 * len(CHECKS) >= 40 and len({record["subject"] for record in STANDARD}) >= 20
    assert len(TOLD) >= 12
    every = [*STANDARD, *TOLD]
    assert len({record["id"] for record in every}) == len({record["raw_problem"] for record in every}) == len(every)
    for record in every:
        assert set(record) - {"simple_problem"} == {"id", "messages", "raw_problem", "gt_answer", "subject"}
        assert ":" not in record["id"]
        ((role, text),) = [(message["role"], message["content"]) for message in record["messages"]]
        assert role == "user" and record["raw_problem"] in text and "#THOUGHTS#" in text and "#ANSWER#:" in text
        # a stand-in for the judge reads the answer out of the printed reply, up to a quote or a line break
        assert (
            isinstance(record["gt_answer"], str)
            and record["gt_answer"]
            and not set(record["gt_answer"]) & set("\\'\"\n")
        )
    assert {"True", "False"} <= {record["gt_answer"] for record in STANDARD}


def test_the_same_each_time() -> None:
    assert files() == FILES


def test_the_generators_records_have_this_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    from bundled_data.mmau import regenerate

    monkeypatch.setattr(regenerate, "_subjects", lambda: {"a__b": lambda: SimpleNamespace(question="1 + 1", answer=2)})
    (made,) = regenerated(1, 0)
    assert set(made) == set(STANDARD[0])
