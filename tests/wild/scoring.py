"""A session of the greenhouse and logs of runs on it, for the tests of scoring."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bench_wild.data import Session, build_session
from bench_wild.run import ModelAnswer, solve

ANSWER = "It is done."


def tool(name: str, required: Sequence[str] = (), **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


TOOLS = [
    tool(
        "read",
        ["bed"],
        bed={"type": "string"},
        depth={"type": "integer", "description": "in cm, 5 by default", "enum": [5, 10]},
    ),
    tool("plant", ["bed", "rows"], bed={"type": "string"}, rows={"type": "float"}, note={"type": "string"}),
    tool("list_beds"),
]


def node(name: str, depends: Sequence[int] = (), **arguments: Any) -> dict[str, Any]:
    return {
        "action": {"name": name, "arguments": arguments},
        "observation": {"ok": True},
        "dependency_list": list(depends),
    }


def final(*depends: int) -> dict[str, Any]:
    return {**node("prepare_to_answer", depends, answer_type="tool"), "observation": ANSWER}


def ask(*depends: int) -> dict[str, Any]:
    action = {
        "name": "ask_user_for_required_parameters",
        "arguments": {"tool_name": "plant", "missing_required_parameters": ["bed"]},
    }
    return {"action": action, "observation": "Which bed?", "user_input": "B4", "dependency_list": list(depends)}


GOLD: list[list[dict[str, Any]]] = [
    [node("read", bed="B1"), final(0)],
    [node("read", bed="B1"), node("read", bed="B2"), node("plant", [0, 1], bed="B1", rows=3.0), final(2)],
    [ask(), node("plant", [0], bed="B4", rows=2.5), final(1)],
    [final()],
]
TYPES = ["Single-Tool", "Mixed Multi-Tool", "Clarify", "Chat"]
SUBTYPES = ["Coreferential Reference", "Partial Information", "Long-Range Dependency"]


def record(id: str = "wild_tool_bench_0") -> dict[str, Any]:
    twins = {
        "tools": TOOLS,
        "tasks": ["Read B1.", "Read both, then plant.", "Plant something.", "Hello!"],
        "answer_list": GOLD,
        "task_types": TYPES,
        "turn_subtypes": SUBTYPES,
        "env_info": "2024-05-01 09:12:44 Wednesday",
    }
    return {"id": id, **twins, **{f"english_{name}": value for name, value in twins.items()}}


def session(id: str = "wild_tool_bench_0") -> Session:
    return build_session(record(id))


def call(name: str, arguments: Any = None, **named: Any) -> tuple[str, Any]:
    """A call; ``arguments`` where they are not the JSON text of an object."""
    return name, json.dumps(named) if arguments is None else arguments


def run(position: int, *replies: str | Sequence[tuple[str, Any]] | None, id: str = "wild_tool_bench_0") -> Any:
    """The result of a task, from replies that are texts or lists of calls."""
    given = iter(replies)

    async def asked(messages: Any, tools: Any) -> ModelAnswer:
        reply = next(given)
        if reply is None or isinstance(reply, str):
            return ModelAnswer(reply, None)
        calls = [
            {"id": f"c{place}", "type": "function", "function": {"name": name, "arguments": text}}
            for place, (name, text) in enumerate(reply)
        ]
        return ModelAnswer(None, calls)

    one = session(id)
    try:
        solve(one, one.tasks[position], asked).send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("nothing waits")


def perfect(id: str = "wild_tool_bench_0") -> list[Any]:
    """Results of a run without any fault."""
    return [
        run(0, [call("read", bed="B1")], ANSWER, id=id),
        run(1, [call("read", bed="B1"), call("read", bed="B2")], [call("plant", bed="B1", rows=3.0)], ANSWER, id=id),
        run(2, "Which bed?", [call("plant", bed="B4", rows=2.5)], ANSWER, id=id),
        run(3, "Hi!", id=id),
    ]
