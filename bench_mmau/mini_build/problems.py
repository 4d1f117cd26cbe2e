"""Contest problems: a description, a plan, a program, and inputs; outputs are what the program prints."""

# Long texts stay on one line.
# ruff: noqa: E501

from __future__ import annotations

import contextlib
import io
import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Problem:
    name: str
    description: str
    plan: str
    program: str
    public: tuple[str, ...]
    private: tuple[str, ...]
    generated: tuple[str, ...]


PROBLEMS = (
    Problem(
        "squares",
        "Given one integer n (1 to 1000) on a line, print the sum of the squares of 1 to n.",
        "Read n. Add i*i for every i from 1 to n, or use n(n+1)(2n+1)/6. Print the sum.",
        "n = int(input())\nprint(n * (n + 1) * (2 * n + 1) // 6)",
        ("3\n",),
        ("1\n", "10\n"),
        ("1000\n",),
    ),
    Problem(
        "palindrome",
        "A line holds a text of letters and blanks. Print YES if it reads the same from both ends when case and blanks are left out, else NO.",
        "Read the line. Drop blanks and make everything lower case. Compare the text with its reverse and print YES or NO.",
        "text = input().replace(' ', '').lower()\nprint('YES' if text == text[::-1] else 'NO')",
        ("Never odd or even\n",),
        ("river\n", "A\n"),
        ("Was it a car or a cat I saw\n",),
    ),
    Problem(
        "islands",
        "The first line gives rows r and columns c (up to 20). r lines of c signs follow: # is land, . is water. Count the islands: groups of land "
        "that touch along a side.",
        "Read the grid. For each land cell that was not seen, count one island and flood from it over its four neighbours, marking what is seen.",
        "r, c = map(int, input().split())\ngrid = [list(input()) for _ in range(r)]\ncount = 0\nfor y in range(r):\n    for x in range(c):\n"
        "        if grid[y][x] != '#':\n            continue\n        count += 1\n        todo = [(y, x)]\n        while todo:\n"
        "            a, b = todo.pop()\n            if 0 <= a < r and 0 <= b < c and grid[a][b] == '#':\n                grid[a][b] = '.'\n"
        "                todo += [(a + 1, b), (a - 1, b), (a, b + 1), (a, b - 1)]\nprint(count)",
        ("3 4\n##..\n...#\n#..#\n",),
        ("1 1\n.\n", "2 2\n#.\n.#\n"),
        ("4 5\n#.#.#\n.....\n#####\n#...#\n",),
    ),
    Problem(
        "coins",
        "The first line gives an amount (0 to 500), the second the values of coins, of which there are as many as you like. Print the least number of "
        "coins that make the amount, or -1.",
        "Let best[0] be 0. For each amount a from 1 on, best[a] is one more than the least best[a - v] over the coins v. Print best of the amount, or -1.",
        "goal = int(input())\ncoins = list(map(int, input().split()))\nbest = [0] + [10 ** 9] * goal\nfor a in range(1, goal + 1):\n"
        "    for v in coins:\n        if v <= a:\n            best[a] = min(best[a], best[a - v] + 1)\nprint(best[goal] if best[goal] < 10 ** 9 else -1)",
        ("11\n1 5 7\n",),
        ("3\n2\n", "0\n4 9\n"),
        ("499\n7 13 29\n",),
    ),
    Problem(
        "meetings",
        "The first line gives the number n of meetings, n lines their start and end (integers, start < end). Print how many can be held in one room, "
        "where a meeting may begin when another ends.",
        "Sort the meetings by their end. Go through them and take each that does not begin before the end of the last one taken. Print how many.",
        "n = int(input())\nmeetings = sorted((tuple(map(int, input().split())) for _ in range(n)), key=lambda m: m[1])\nfree = count = 0\n"
        "for start, end in meetings:\n    if start >= free:\n        count += 1\n        free = end\nprint(count)",
        ("3\n1 3\n2 5\n3 6\n",),
        ("1\n4 9\n", "4\n1 10\n2 3\n3 4\n4 5\n"),
        ("5\n0 6\n1 4\n3 5\n5 7\n8 9\n",),
    ),
    Problem(
        "words",
        "A line holds words in small letters. Print each distinct word with its count, the most frequent first, equal ones in the order of the alphabet.",
        "Count the words. Sort them by falling count and then by the word. Print a line for each.",
        "counts = {}\nfor word in input().split():\n    counts[word] = counts.get(word, 0) + 1\n"
        "for word in sorted(counts, key=lambda w: (-counts[w], w)):\n    print(word, counts[word])",
        ("tea milk tea\n",),
        ("a\n", "b a b a c\n"),
        ("one two three two three three\n",),
    ),
    Problem(
        "steps",
        "The first line gives nodes n (1 to n) and edges m of an undirected graph, m lines the edges, the last line two nodes. Print the least number of "
        "edges between them, or -1.",
        "Build lists of neighbours. Search breadth first from the first node, noting distances. Print the distance of the second, or -1.",
        "n, m = map(int, input().split())\nnear = [[] for _ in range(n + 1)]\nfor _ in range(m):\n    a, b = map(int, input().split())\n"
        "    near[a].append(b)\n    near[b].append(a)\nstart, goal = map(int, input().split())\nfar = {start: 0}\nqueue = [start]\n"
        "for node in queue:\n    for other in near[node]:\n        if other not in far:\n            far[other] = far[node] + 1\n"
        "            queue.append(other)\nprint(far.get(goal, -1))",
        ("4 3\n1 2\n2 3\n3 4\n1 4\n",),
        ("3 1\n1 2\n1 3\n", "2 0\n2 2\n"),
        ("6 6\n1 2\n2 3\n3 4\n4 5\n5 6\n6 1\n1 4\n",),
    ),
    Problem(
        "roman",
        "A line holds an integer from 1 to 3999. Print it in Roman numerals.",
        "Go through the values 1000, 900, 500, 400, ... 1 with their signs. While the number is at least the value, write the signs and subtract.",
        "n = int(input())\nsigns = [(1000, 'M'), (900, 'CM'), (500, 'D'), (400, 'CD'), (100, 'C'), (90, 'XC'), (50, 'L'), (40, 'XL'), (10, 'X'), "
        "(9, 'IX'), (5, 'V'), (4, 'IV'), (1, 'I')]\ntext = ''\nfor value, sign in signs:\n    while n >= value:\n        text += sign\n"
        "        n -= value\nprint(text)",
        ("4\n",),
        ("1994\n", "3999\n"),
        ("58\n",),
    ),
    Problem(
        "brackets",
        "A line holds brackets ( ) [ ] { }. Print the position, from 1, of the first sign that breaks the nesting; 0 if all is well. Brackets left open "
        "break it at the position behind the end.",
        "Keep a stack of open brackets. At a closing one, compare with the top; where it does not fit print its position. At the end print 0 for an empty "
        "stack, else the length plus one.",
        "text = input()\nstack = []\nanswer = 0\nfor place, sign in enumerate(text, 1):\n    if sign in '([{':\n        stack.append(sign)\n"
        "    elif not stack or stack.pop() + sign not in ('()', '[]', '{}'):\n        answer = place\n        break\n"
        "if not answer and stack:\n    answer = len(text) + 1\nprint(answer)",
        ("([]{})\n",),
        ("(]\n", "((\n"),
        ("{[()()]}}\n",),
    ),
    Problem(
        "rotation",
        "The first line gives n and k, n lines of n integers follow. Turn the square k times by 90 degrees clockwise and print it.",
        "Turning once makes row i of the new square from column i of the old one, from bottom to top. Do that k modulo 4 times and print.",
        "n, k = map(int, input().split())\nsquare = [input().split() for _ in range(n)]\nfor _ in range(k % 4):\n"
        "    square = [list(row) for row in zip(*square[::-1])]\nfor row in square:\n    print(*row)",
        ("2 1\n1 2\n3 4\n",),
        ("1 3\n7\n", "2 6\n1 2\n3 4\n"),
        ("3 3\n1 2 3\n4 5 6\n7 8 9\n",),
    ),
    Problem(
        "longest",
        "A line holds integers. Print the length of the longest strictly rising subsequence.",
        "Keep the least last values of rising subsequences of each length. Put each number in place of the first value that is not smaller, or at the end.",
        "from bisect import bisect_left\ntails = []\nfor x in map(int, input().split()):\n    place = bisect_left(tails, x)\n"
        "    tails[place:place + 1] = [x]\nprint(len(tails))",
        ("3 1 2 5 4\n",),
        ("7\n", "5 4 3\n"),
        (),
    ),
    Problem(
        "average",
        "Each line holds a name and a mark, until a line with END. Print the mean mark with two decimals, or NONE if there was no mark.",
        "Read lines until END and collect the second words as numbers. Print their mean with two decimals, or NONE.",
        "marks = []\nwhile (line := input()) != 'END':\n    marks.append(float(line.split()[1]))\n"
        "print(f'{sum(marks) / len(marks):.2f}' if marks else 'NONE')",
        ("Ada 2\nBo 3\nEND\n",),
        ("END\n", "Cy 1.5\nEND\n"),
        ("A 1\nB 2\nC 4\nEND\n",),
    ),
)


def printed(program: str, given: str) -> str:
    """What a program prints on an input. Only our own programs come here."""
    output, stdin = io.StringIO(), sys.stdin
    sys.stdin = io.StringIO(given)
    try:
        with contextlib.redirect_stdout(output):
            exec(program, {"__name__": "builtins"})
    finally:
        sys.stdin = stdin
    return output.getvalue()


def _tests(problem: Problem, inputs: tuple[str, ...]) -> dict[str, list[str]]:
    return {"input": list(inputs), "output": [printed(problem.program, given) for given in inputs]}


def _record(problem: Problem, kind: str, prompt: str) -> dict[str, Any]:
    record = {
        "id": f"{kind}_{problem.name}",
        "messages": [{"role": "user", "content": prompt}],
        "description": problem.description,
        "public_tests": _tests(problem, problem.public),
        "private_tests": _tests(problem, problem.private),
        "generated_tests": _tests(problem, problem.generated),
        "solution": problem.program,
        "plan": problem.plan,
    }
    if problem.name == "average":  # a group may be missing
        del record["generated_tests"]
    return record


_WRITE = """Solve this programming problem in Python. The program reads with input() and prints the bare result.

{description}

Reply with the program in one ```python fence."""
_PLAN = """Here is a programming problem. Do not write code. Describe in a few sentences, step by step, how a program would solve it.

{description}"""
_SOLVE = """Here are a programming problem and a plan for solving it. Write the Python program that follows the plan. It reads with input() and prints the bare result.

Problem: {description}

Plan: {plan}

Reply with the program in one ```python fence."""
_PARSE = """Here are a programming problem and one input. Work out what a right program prints, without writing one.

{description}

Input:
{given}
Explain briefly, and end with a part that begins with #ANSWER#: and holds the output and nothing else."""


def files() -> dict[str, list[dict[str, Any]]]:
    """The four contest files."""
    parsing = [
        {
            "id": f"parsing_{problem.name}",
            "messages": [{"role": "user", "content": _PARSE.format(description=problem.description, given=problem.private[0])}],
            "target_output": printed(problem.program, problem.private[0]),
        }
        for problem in PROBLEMS
    ]
    return {
        "code_contests_regular_20240712.jsonl": [_record(p, "contest", _WRITE.format(description=p.description)) for p in PROBLEMS],
        "code_contests_plan_20240712.jsonl": [_record(p, "plan", _PLAN.format(description=p.description)) for p in PROBLEMS],
        "code_contests_solve_20240712.jsonl": [
            _record(p, "solve", _SOLVE.format(description=p.description, plan=p.plan)) for p in PROBLEMS
        ],
        "code_contests_understand_20240712.jsonl": parsing,
    }
