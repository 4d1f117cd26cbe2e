"""A few records of every file, to change and to run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TOOL = {
    "type": "function",
    "function": {
        "name": "book",
        "description": "Reserve.",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}, "seats": {"type": "integer"}}},
    },
}
CELLS = [
    {
        "cell_type": "code",
        "metadata": {},
        "source": ["import csv\n", "print(len(list(csv.reader(open('../input/a.csv')))))\n"],
    }
]
LAST = {**CELLS[0], "execution_count": 1, "outputs": [{"output_type": "stream", "name": "stdout", "text": ["3\n"]}]}
EMPTY: dict[str, list[str]] = {"input": [], "output": []}


def user(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


def tools(prefix: str) -> list[dict[str, Any]]:
    return [
        {
            "id": f"{prefix}{seats}",
            "messages": user("Reserve a table at Lumen."),
            "tools": [TOOL],
            "target_message": {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {
                        "id": "c",
                        "type": "function",
                        "function": {"name": "book", "arguments": {"place": "Lumen", "seats": seats}},
                    }
                ],
            },
        }
        for seats in (2, 4)
    ]


def contest(number: int, **more: Any) -> dict[str, Any]:
    tests = {"input": [f"{number}\n"], "output": [f"{number * number}\n"]}
    problem = {"id": f"cc_{number}", "messages": user("Print n squared."), "description": "Print n squared."}
    gold = {"solution": "print(int(input()) ** 2)", "plan": "Multiply the number by itself."}
    return {**problem, "public_tests": tests, "private_tests": tests, "generated_tests": EMPTY, **gold, **more}


def mathematics(number: int) -> dict[str, Any]:
    problem = f"What is {number}*7?"
    return {
        "id": f"m{number}",
        "messages": user(problem),
        "raw_problem": problem,
        "gt_answer": str(number * 7),
        "subject": "arithmetic",
    }


def turn(number: int, **more: Any) -> dict[str, Any]:
    notebook = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    asked = {"image_expected": False, "questions": ["How many lines? A 2 B 3"], "gt_answers": ["B"]}
    return {
        "id": f"k{number}",
        "messages": user("Count."),
        "notebook": notebook,
        **asked,
        "oracle_response": CELLS,
        "last_cell": LAST,
        **more,
    }


def plans() -> list[dict[str, Any]]:
    return [
        {"id": f"p{number}", "messages": user("Plan 1: a\nPlan 2: b"), "target_plan_number": number}
        for number in (1, 2)
    ]


def files() -> dict[str, list[dict[str, Any]]]:
    names = (
        "execution_single_step",
        "execution_parallel",
        "execution_multi_step_double",
        "execution_multi_step_triple",
        "self_correct",
    )
    return {
        **{f"tool_use_{name}": tools(name) for name in names},
        "tool_use_plan_with_reasoning_all": plans(),
        "tool_use_plan_no_reasoning_all": plans(),
        **{f"code_contests_{name}": [contest(2), contest(3)] for name in ("regular", "plan", "solve")},
        "code_contests_understand": [{"id": "u1", "messages": user("What is printed?"), "target_output": "9\n"}],
        "math_standard": [mathematics(1), mathematics(2), mathematics(3)],
        "math_understand": [mathematics(4)],
        "code_kaggle": [turn(1), turn(2)],
    }


def write(folder: Path, **changed: list[Any]) -> Path:
    """Every file below ``folder``, those in ``changed`` with other records."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in {**files(), **changed}.items():
        text = "".join(f"{record if isinstance(record, str) else json.dumps(record)}\n" for record in records)
        (folder / f"{name}_20240712.jsonl").write_text(text, encoding="utf-8")
    data = folder / "code_kaggle_source" / "input"
    data.mkdir(parents=True, exist_ok=True)
    (data / "a.csv").write_text("x\n1\n2\n", encoding="utf-8")
    return folder
