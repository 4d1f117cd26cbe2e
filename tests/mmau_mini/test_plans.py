"""The bundled records of DAG QA: one plan is right, as read from the message itself."""

from __future__ import annotations

import json
import re

from bundled_data.mmau.plan_problems import PROBLEMS
from bundled_data.mmau.plans import depth, files, needed, plans
from tests.every import every

FILES = files()
REASONED, CONCISE = FILES.values()
BY_NAME = {problem.name: problem for problem in PROBLEMS}


def _message(record):
    (message,) = record["messages"]
    assert message["role"] == "user"
    return message["content"]


def _parsed(text):
    """The functions and the plans of a message."""
    functions = {
        name: (set(needs.split(", ")), set(gives.split(", ")))
        for name, needs, gives in re.findall(r"^- (\w+)\((.*?)\) returns ([\w, ]+):", text, re.MULTILINE)
    }
    part = text.partition("# Plans\n")[2].partition("\n\n# Request")[0]
    found = {}
    for number, steps in re.findall(r"^Plan (\d+):((?:(?!^Plan ).|\n)*)", part, re.MULTILINE):
        found[int(number)] = re.findall(r"\w+", re.sub(r"Step \d+:", "", steps))
    return functions, found


def _works(plan, functions, known, wanted):
    have = set(known)
    for name in plan:
        needs, gives = functions[name]
        if needs - have:
            return False
        have |= gives
    return set(wanted) <= have


def test_files():
    assert list(FILES) == [
        "tool_use_plan_with_reasoning_all_20240712.jsonl",
        "tool_use_plan_no_reasoning_all_20240712.jsonl",
    ]
    assert len(REASONED) == len(CONCISE) >= 12
    ids = [record["id"] for record in (*REASONED, *CONCISE)]
    assert len(set(ids)) == len(ids) and not any(":" in one for one in ids)
    assert json.dumps(files()) == json.dumps(FILES)


def test_both_files_ask_about_the_same_plans():
    for one, other in zip(REASONED, CONCISE, strict=True):
        assert one["target_plan_number"] == other["target_plan_number"]
        assert _message(one).partition("# Answer")[0] == _message(other).partition("# Answer")[0]
        assert "explain in detail" in _message(one) and "concise" in _message(other)


@every("record", REASONED + CONCISE, ids=lambda record: record["id"])
def test_exactly_the_target_is_right(record):
    assert set(record) == {"id", "messages", "target_plan_number"} and type(record["target_plan_number"]) is int
    text = _message(record)
    assert text.endswith("\nChosen Plan: N")
    functions, offered = _parsed(text)
    problem = BY_NAME[record["id"].split("-", 3)[3]]
    assert list(offered) == list(range(1, problem.count + 1)) and 2 <= problem.count <= 8
    assert len({tuple(plan) for plan in offered.values()}) == len(offered)
    right = []
    for number, plan in offered.items():
        without = [[*plan[:place], *plan[place + 1 :]] for place in range(len(plan))]
        if _works(plan, functions, problem.known, problem.wanted) and not any(
            _works(one, functions, problem.known, problem.wanted) for one in without
        ):
            right.append(number)
    assert right == [record["target_plan_number"]]


@every("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_problem(problem):
    assert depth(problem) == {"single": 1, "double": 2, "triple": 3}[problem.length]
    made = {thing for function in problem.functions.values() for thing in function.gives}
    assert sum(len(function.gives) for function in problem.functions.values()) == len(made) and not made & set(
        problem.known
    )
    asked = {thing for name in needed(problem) for thing in problem.functions[name].needs}
    assert set(problem.known) <= asked
    assert all(set(function.needs) <= made | set(problem.known) for function in problem.functions.values())


def test_variety():
    assert {problem.count for problem in PROBLEMS} == set(range(2, 9))
    assert {problem.length for problem in PROBLEMS} == {"single", "double", "triple"}
    assert len({record["target_plan_number"] for record in REASONED}) >= 5
    assert {problem.steps for problem in PROBLEMS} == {True, False}


def test_wrong_plans_have_wrong_orders_and_wrong_functions():
    for problem in PROBLEMS:
        offered, target = plans(problem)
        right = set(offered[target - 1])
        wrong = [set(plan) for number, plan in enumerate(offered, 1) if number != target]
        assert problem.length == "single" or right in wrong
        assert any(plan - right for plan in wrong)
