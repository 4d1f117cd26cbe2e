"""Small literal dialogues as the generator leaves them, for the tests of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench_wild.generate.transcript import (
    MARKS,
    SWITCH,
    GeneratedDialogue,
    GeneratedTurn,
    Group,
    Language,
    TaskType,
    fence,
)
from bench_wild.labels import ASK, PREPARE

Call = tuple[str, dict[str, Any], Any]
"""Name, arguments, result."""


def _tool(name: str, required: Sequence[str] = (), **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


TEXT = {"type": "string"}
TOOLS = [
    _tool("findOrders", ["customer"], customer=TEXT, limit={"type": "integer", "default": 10}),
    _tool("getOrder", ["order_id"], order_id=TEXT),
    _tool("cancelOrder", ["order_id", "reason"], order_id=TEXT, reason={"type": "string", "enum": ["late", "damaged"]}),
    _tool("sendNote", ["to", "text"], to=TEXT, text=TEXT, copies={"type": "float"}),
    _tool("getShelf", ["shelf_id"], shelf_id={"type": "integer"}),
    _tool(
        ASK,
        ["tool_name", "missing_required_parameters"],
        tool_name=TEXT,
        missing_required_parameters={"type": "array", "items": TEXT},
    ),
    _tool(PREPARE, ["answer_type"], answer_type={"type": "string", "enum": ["tool", "chat"]}),
]
ENV: dict[Language, str] = {
    "en": "Current Time：2024-05-01 09:12:44 Wednesday",
    "zh": "当前时间：2024-05-01 09:12:44 星期三",
}


class Task:
    """One task, told step by step. ``rejected`` puts a plan that the checker refused before its first plan."""

    def __init__(
        self, meant: TaskType, text: str, *, group: Group = "reply", kind: str = "short_name", rejected: bool = False
    ) -> None:
        self.meant, self.text, self.group, self.kind, self.rejected = meant, text, group, kind, rejected
        self.steps: list[tuple[str, Any]] = []

    def call(self, *calls: Call) -> Task:
        self.steps += [
            ("planner", [_action(name, arguments) for name, arguments, _ in calls]),
            ("tool", [result for _, _, result in calls]),
        ]
        return self

    def ask(self, question: str, reply: str, tool: str = "getOrder", missing: Sequence[str] = ("order_id",)) -> Task:
        action = _action(ASK, {"tool_name": tool, "missing_required_parameters": list(missing)})
        self.steps += [("planner", [action]), ("agent", question), ("user", reply)]
        return self

    def say(self, text: str, kind: str = "tool") -> Task:
        self.steps += [("planner", [_action(PREPARE, {"answer_type": kind})]), ("agent", text)]
        return self


def _action(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "arguments": arguments, "tool_call_purpose": "to get on"}


def dialogue(
    *tasks: Task, language: Language = "en", seed: int = 7, tools: Sequence[dict[str, Any]] = TOOLS
) -> GeneratedDialogue:
    messages: list[dict[str, str]] = []
    turns: list[GeneratedTurn] = []
    for number, task in enumerate(tasks):
        start = len(messages)
        if number:
            _add(messages, "user", f"{SWITCH[language]}User")
        _add(messages, "user", f"{MARKS[language]['user']} {task.text}")
        for place, (who, what) in enumerate(task.steps):
            _add(messages, "user", f"{SWITCH[language]}{who}")
            if task.rejected and place == 0:
                _speak(
                    messages,
                    language,
                    "planner",
                    fence({"Mission_Finish": "no", "Action_List": [_action("noSuchTool", {})]}),
                )
                _add(messages, "user", f"{SWITCH[language]}Checker_Planner")
                _speak(messages, language, "checker_planner", fence({"correct": "no"}))
                _add(messages, "user", f"{SWITCH[language]}Planner")
            if who == "planner":
                _speak(
                    messages,
                    language,
                    "planner",
                    fence({"Mission_Finish": "no", "Thought": "so", "Plan": "so", "Action_List": what}),
                )
                _add(messages, "user", f"{SWITCH[language]}Checker_Planner")
                _speak(messages, language, "checker_planner", fence({"correct": "yes"}))
            elif who == "tool":
                _speak(messages, language, "tool", fence({"Observation_List": what}))
                _add(messages, "user", f"{SWITCH[language]}Checker_Tool")
                _speak(messages, language, "checker_tool", fence({"correct": "yes"}))
            else:
                _speak(messages, language, who, what)
        first: tuple[str, Group] = ("first", "first")
        turns.append(
            GeneratedTurn(task.meant, *(first if number == 0 else (task.kind, task.group)), start, len(messages))
        )
    sequence = tuple(task.meant for task in tasks)
    return GeneratedDialogue(sequence, language, seed, list(tools), ENV[language], messages, tuple(turns))


def _add(messages: list[dict[str, str]], role: str, content: str) -> None:
    messages.append({"role": role, "content": content})


def _speak(messages: list[dict[str, str]], language: Language, who: Any, what: str) -> None:
    _add(messages, "user" if who == "tool" else "assistant", f"{MARKS[language][who]} {what}")


# -- tasks of each kind

FOUND = {
    "status_code": 200,
    "response": {"orders": [{"order_id": "ORD-5519", "state": "shipped"}, {"order_id": "ORD-6620", "state": "open"}]},
}


def ok(**response: Any) -> dict[str, Any]:
    return {"status_code": 200, "response": response}


def find(customer: str = "Ines Duarte", result: Any = FOUND) -> Call:
    return "findOrders", {"customer": customer}, result


def get(order: str, result: Any = None) -> Call:
    return "getOrder", {"order_id": order}, result or ok(order_id=order, carrier="Blue Parcel")


def single(text: str = "What did Ines Duarte order from us?", **how: Any) -> Task:
    return Task("ST", text, **how).call(find()).say("Two orders: ORD-5519 and ORD-6620.")


def parallel(text: str = "Show me ORD-1001 and ORD-1002 side by side, please.", **how: Any) -> Task:
    return Task("MT", text, **how).call(get("ORD-1001"), get("ORD-1002")).say("Both go with Blue Parcel.")


def serial(text: str = "Find the orders of Ines Duarte and open the first.", **how: Any) -> Task:
    return Task("MT", text, **how).call(find()).call(get("ORD-5519")).say("It is with Blue Parcel.")


def mixed(text: str = "Find the orders of Ines Duarte and open all of them.", **how: Any) -> Task:
    return (
        Task("MT", text, **how).call(find()).call(get("ORD-5519"), get("ORD-6620")).say("One is shipped, one is open.")
    )


def clarify(text: str = "Where is my parcel?", **how: Any) -> Task:
    return (
        Task("CQ", text, **how)
        .ask("Which order is it?", "It is ORD-3003.")
        .call(get("ORD-3003"))
        .say("With Blue Parcel.")
    )


def chat(text: str = "Do parcels dream of ribbons?", **how: Any) -> Task:
    return Task("CC", text, **how).say("Only of red ones.", "chat")
