"""The bundled contest problems: every expected output is found again by a second solution that goes another way."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import pytest

from bench_mmau.contests.score import extract_code, output_match, parse_answer, understand_match
from bundled_data.mmau.contests import PROBLEMS, files, parsed_input, printed
from tests.every import every

FILES = files()
GROUPS = ("public_tests", "private_tests", "generated_tests")
REGULAR, PLAN, SOLVE, UNDERSTAND = (
    FILES[f"code_contests_{name}_20240712.jsonl"] for name in ("regular", "plan", "solve", "understand")
)


def rows(text: str) -> list[list[int]]:
    return [[int(one) for one in line.split()] for line in text.splitlines()]


def runs(text: str) -> str:
    return "".join(f"{found[1]}{len(found[0])}" for found in re.finditer(r"(.)\1*", text.strip()))


def anagrams(text: str) -> str:
    words = text.split()[1:]
    alike = [sum(all(a.count(sign) == b.count(sign) for sign in a + b) for b in words) for a in words]
    firsts = {min(b for b in words if sorted(a) == sorted(b)) for a in words}
    return f"{len(firsts)} {max(alike)}"


def digits(text: str) -> str:
    number, steps = int(text), 0
    while number > 9:
        total = 0
        while number:
            number, last = divmod(number, 10)
            total += last
        number, steps = total, steps + 1
    assert number == (int(text) and (int(text) - 1) % 9 + 1)
    return f"{steps}\n{number}"


def spiral(text: str) -> str:
    (r, c), *grid = rows(text)
    y, x, dy, dx, seen = 0, 0, 0, 1, []
    while len(seen) < r * c:
        seen.append((y, x))
        ahead = (y + dy, x + dx)
        if ahead in seen or not (0 <= ahead[0] < r and 0 <= ahead[1] < c):
            dy, dx = dx, -dy
        y, x = y + dy, x + dx
    return " ".join(str(grid[y][x]) for y, x in seen)


def puddles(text: str) -> str:
    heights = [int(one) for one in text.split()]
    water = 0
    for level in range(1, max(heights) + 1):  # layer by layer: what is between the outermost columns of this height
        high = [place for place, height in enumerate(heights) if height >= level]
        water += high[-1] - high[0] + 1 - len(high)
    return str(water)


def carts(text: str) -> str:
    (_, limit), weights = rows(text)

    def least(left: tuple[int, ...]) -> int:
        if not left:
            return 0
        first, *rest = left
        pairs = [least((*rest[:i], *rest[i + 1 :])) for i, other in enumerate(rest) if first + other <= limit]
        return 1 + min([least(tuple(rest)), *pairs])

    return str(least(tuple(weights)))


def recipe(text: str) -> str:
    (n, _), *rules = rows(text)
    for order in itertools.permutations(range(1, n + 1)):
        if all(order.index(a) < order.index(b) for a, b in rules):
            return " ".join(map(str, order))
    return "IMPOSSIBLE"


def satchel(text: str) -> str:
    (n, limit), *things = rows(text)
    taken = [
        [thing for thing, take in zip(things, takes, strict=True) if take]
        for takes in itertools.product((0, 1), repeat=n)
    ]
    return str(max(sum(worth for _, worth in some) for some in taken if sum(weight for weight, _ in some) <= limit))


def edits(text: str) -> str:
    def moves(a: str, b: str) -> int:
        if not a or not b:
            return len(a) + len(b)
        if a[0] == b[0]:
            return moves(a[1:], b[1:])
        return 1 + min(moves(a[1:], b), moves(a, b[1:]), moves(a[1:], b[1:]))

    return str(moves(*text.split()))


def robot(text: str) -> str:
    lines = text.splitlines()
    cells = {complex(x, y): sign for y, line in enumerate(lines[1:-1]) for x, sign in enumerate(line)}
    at, looks = next(place for place, sign in cells.items() if sign == "S"), -1j
    for command in lines[-1]:
        looks *= {"L": -1j, "R": 1j, "F": 1}[command]
        if command == "F" and cells.get(at + looks, "#") != "#":
            at += looks
    return f"{int(at.imag) + 1} {int(at.real) + 1} { {-1j: 'N', 1: 'E', 1j: 'S', -1: 'W'}[looks] }"


def league(text: str) -> str:
    matches = [(home, guest, int(a), int(b)) for home, guest, a, b in map(str.split, text.splitlines()[1:])]
    sides = [*matches, *((guest, home, b, a) for home, guest, a, b in matches)]
    lines = []
    for team in {side[0] for side in sides}:
        own = [a - b for name, _, a, b in sides if name == team]
        lines.append((-sum(3 * (one > 0) + (one == 0) for one in own), -sum(own), team))
    return "\n".join(f"{team} {-points} {-difference}" for points, difference, team in sorted(lines))


def roads(text: str) -> str:
    (n, _), *ways = rows(text)
    far = {1: 0}
    for _ in range(n):
        for a, b, length in [*ways, *((b, a, length) for a, b, length in ways)]:
            if a in far:
                far[b] = min(far.get(b, far[a] + length), far[a] + length)
    return "\n".join(str(far.get(town, -1)) for town in range(2, n + 1))


def shifts(text: str) -> str:
    covered = {
        half for start, end in rows(text)[1:] for half in range(2 * start, 2 * end + 1)
    }  # in halves: 1-2 and 3-4 do not touch
    starts = sorted(half for half in covered if half - 1 not in covered)
    ends = sorted(half for half in covered if half + 1 not in covered)
    return "\n".join(f"{start // 2} {end // 2}" for start, end in zip(starts, ends, strict=True))


def cipher(text: str) -> str:
    number, _, message = text.partition("\n")
    small = "abcdefghijklmnopqrstuvwxyz"
    moved = small[int(number) :] + small[: int(number)]
    return message.translate(str.maketrans(moved + moved.upper(), small + small.upper())).rstrip("\n")


def moss(text: str) -> str:
    lines = text.splitlines()[1:]
    mossy = {(y, x) for y, line in enumerate(lines) for x, sign in enumerate(line) if sign == "*"}

    def morning(y: int, x: int) -> str:
        block = len(mossy & set(itertools.product(range(y - 1, y + 2), range(x - 1, x + 2))))  # itself included
        return "*" if block == 3 or (block == 4 and (y, x) in mossy) else "."

    return "\n".join("".join(morning(y, x) for x in range(len(line))) for y, line in enumerate(lines))


def ranges(text: str) -> str:
    _, numbers, *asked = rows(text)
    return "\n".join(str(sum(numbers[a - 1 : b])) for a, b in asked)


SECOND: dict[str, Callable[[str], str]] = {
    solve.__name__: solve
    for solve in (
        runs,
        anagrams,
        digits,
        spiral,
        puddles,
        carts,
        recipe,
        satchel,
        edits,
        robot,
        league,
        roads,
        shifts,
        cipher,
        moss,
        ranges,
    )
}


@every("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_a_second_solution_prints_the_same(problem: Any) -> None:
    inputs = [*(problem.public or ()), *problem.private, *(problem.generated or ())]
    assert len(set(inputs)) == len(inputs) >= 3
    for given in inputs:
        assert given.endswith("\n")
        assert printed(problem.program, given).rstrip("\n") == SECOND[problem.name](given)


@pytest.mark.parametrize("record", [*REGULAR, *PLAN, *SOLVE], ids=lambda record: record["id"])
def test_the_solution_passes_as_a_reply(record: dict[str, Any]) -> None:
    """Also in the reference's way: the tests of a group share their names."""
    program = extract_code(f"```python\n{record['solution']}\n```")
    assert program == record["solution"].strip()
    assert "exit" not in program and "buffer" not in program and "open(" not in program
    for group in GROUPS:
        tests = record.get(group, {"input": [], "output": []})
        assert set(tests) == {"input", "output"}
        for given, expected in zip(tests["input"], tests["output"], strict=True):
            assert expected.strip() and output_match(printed(program, given), expected)


def test_counts_and_shapes() -> None:
    assert len(PROBLEMS) == len(SECOND) == len({problem.name for problem in PROBLEMS}) >= 12
    every = [record for found in FILES.values() for record in found]
    assert len(FILES) == 4 and len({record["id"] for record in every}) == len(every) == 4 * len(PROBLEMS)
    assert all(":" not in record["id"] for record in every)
    assert all(isinstance(record["messages"][0]["content"], str) and len(record["messages"]) == 1 for record in every)
    needed = {"id", "messages", "description", "solution"}
    for record in (*REGULAR, *PLAN, *SOLVE):
        assert needed <= set(record) <= needed | {*GROUPS, "plan"}
    assert all(set(record) == {"id", "messages", "target_output"} for record in UNDERSTAND)


def test_groups_may_be_empty_or_missing() -> None:
    for records in (REGULAR, PLAN, SOLVE):
        assert {group for record in records for group in GROUPS if group not in record}
        assert {
            group for record in records for group in GROUPS if record.get(group) == {"input": [], "output": []}
        } >= {"public_tests"}
        assert all(record["private_tests"]["input"] for record in records)


def test_prompts_ask_for_what_the_metric_needs() -> None:
    for problem, regular, plan, solve, parsing in zip(PROBLEMS, REGULAR, PLAN, SOLVE, UNDERSTAND, strict=True):
        asked = [record["messages"][0]["content"] for record in (regular, plan, solve, parsing)]
        assert all(problem.description in text for text in asked)
        assert all("```python" in asked[place] for place in (0, 2)) and "```" not in asked[1] + asked[3]
        assert problem.plan in asked[2] and problem.plan not in asked[0] + asked[1] + asked[3]
        assert plan["plan"] == problem.plan and problem.program not in "".join(asked)
        assert parsed_input(problem) in asked[3] and "#ANSWER#:" in asked[3]


def test_parsing_asks_about_the_shortest_input_that_is_not_public() -> None:
    for problem, record in zip(PROBLEMS, UNDERSTAND, strict=True):
        given = parsed_input(problem)
        assert given == problem.private[0] and given not in (problem.public or ())
        assert understand_match(
            parse_answer(f"So it is.\n#ANSWER#: {record['target_output']}"), record["target_output"]
        )
        assert record["target_output"].rstrip("\n") == SECOND[problem.name](given)


def test_the_same_each_time() -> None:
    assert files() == FILES
