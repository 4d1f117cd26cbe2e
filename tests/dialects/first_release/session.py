"""A session of two tasks: parallel calls, then a clarifying question with the first task as history."""

from __future__ import annotations

from typing import Any

from tests.wild.scoring import node, tool

TOOLS = [
    tool("read", ["bed"], bed={"type": "string"}, deep={"type": "boolean"}),
    tool("list_beds"),
    tool("plant", ["bed"], bed={"type": "string"}, rows={"type": "float"}),
]


def final(text: str, *depends: int) -> dict[str, Any]:
    return {**node("prepare_to_answer", depends, answer_type="tool"), "observation": text}


def _twin(user: str, words: list[str], weekday: str) -> dict[str, Any]:
    both, listed, read, answer, wish, question, reply, done, end = words
    ask: dict[str, Any] = {"tool_name": "plant", "missing_required_parameters": ["bed"]}
    return {
        "tools": TOOLS,
        "env_info": f"2024-05-20 09:12:44 {weekday}",
        "tasks": [user + both, user + wish],
        "task_types": ["Parallel Multi-Tool", "Clarify"],
        "turn_subtypes": ["Partial Information"],
        "answer_list": [
            [
                {**node("list_beds"), "observation": listed},
                {**node("read", bed="B1", deep=True), "observation": {"wet": 0.5, "is": read}},
                final(answer, 0, 1),
            ],
            [
                {
                    **node("ask_user_for_required_parameters", **ask),
                    "observation": question,
                    "user_input": user + reply,
                },
                {**node("plant", [0], bed="B4", rows=2.5), "observation": done},
                final(end, 1),
            ],
        ],
    }


_EN = ["Read B1, list all.", "B1, B4", "café", "B1 is wet.", "Plant something.", "Where?", "In B4.", "planted", "Done."]
_ZH = ["读B1，列出所有。", "一、四", "湿", "B1是湿的。", "种点什么。", "种在哪里？", "B4。", "种好了", "完成。"]

SESSION: dict[str, Any] = {
    "id": "wild_tool_bench_0",
    **{f"english_{name}": value for name, value in _twin("User: ", _EN, "Monday").items()},
    **_twin("用户：", _ZH, "星期一"),
}
