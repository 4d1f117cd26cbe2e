"""What tools and conversations are built of: invented tools that really run, so that histories and targets fit each
other."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

Json = dict[str, Any]
Rule = Json

# -- schemas of arguments


def text(about: str, *choices: str) -> Json:
    return {"type": "string", "description": about} | ({"enum": list(choices)} if choices else {})


def whole(about: str) -> Json:
    return {"type": "integer", "description": about}


def number(about: str) -> Json:
    return {"type": "number", "description": about}


def yes_no(about: str) -> Json:
    return {"type": "boolean", "description": about}


def many(about: str, items: Json) -> Json:
    return {"type": "array", "description": about, "items": items}


def group(about: str, fields: Json, optional: Json | None = None) -> Json:
    """An object; ``optional`` fields may be left out."""
    return {
        "type": "object",
        "description": about,
        "properties": fields | (optional or {}),
        "required": list(fields),
        "additionalProperties": False,
    }


def or_null(schema: Json) -> Json:
    return schema | {"type": [schema["type"], "null"]}


# -- tools


class ToolError(Exception):
    """What a tool answers in place of a result."""


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    domain: str
    about: str
    parameters: Json
    work: Callable[..., Any]

    def declaration(self) -> Json:
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.about, "parameters": self.parameters},
        }


TOOLS: dict[str, Tool] = {}


def tool(about: str, needed: Json, optional: Json | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function a tool. The part of its name before the first ``_`` is its domain."""

    def register(work: Callable[..., Any]) -> Callable[..., Any]:
        parameters = group("", needed, optional)
        del parameters["description"]
        name = work.__name__
        TOOLS[name] = Tool(name, name.partition("_")[0], about, parameters, work)
        return work

    return register


def of(table: Mapping[str, Any], key: str, what: str) -> Any:
    """The entry; a tool error for a key that is not there."""
    if key not in table:
        raise ToolError(f"{what} '{key}' not found")
    return table[key]


def day(value: str) -> date:
    """A date as the tools want it."""
    try:
        if len(value) == len("2025-03-14"):
            return date.fromisoformat(value)
    except ValueError:
        pass
    raise ToolError(f"'{value}' is not a valid date, expected YYYY-MM-DD")


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def check(value: Any, schema: Json, where: str) -> None:
    """Raises ToolError where a value breaks the schema."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    fits = isinstance(value, tuple(kind for name in kinds for kind in _TYPES[name])) and (
        not isinstance(value, bool) or "boolean" in kinds
    )
    if not fits:
        raise ToolError(f"{where}: expected {' or '.join(kinds)}, got {json.dumps(value, ensure_ascii=False)}")
    if "enum" in schema and value is not None and value not in schema["enum"]:
        raise ToolError(f"{where}: '{value}' is not one of {', '.join(schema['enum'])}")
    if isinstance(value, list):
        for place, item in enumerate(value):
            check(item, schema["items"], f"{where}[{place}]")
    if isinstance(value, dict):
        for name in schema["required"]:
            if name not in value:
                raise ToolError(f"{where}: missing required field '{name}'")
        for name, item in value.items():
            if name not in schema["properties"]:
                raise ToolError(f"{where}: unknown field '{name}'")
            check(item, schema["properties"][name], name if where == "arguments" else f"{where}.{name}")


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    arguments: Json

    def run(self) -> Any:
        """The tool's result. Raises ToolError for wrong arguments."""
        used = TOOLS[self.name]
        check(self.arguments, used.parameters, "arguments")
        return used.work(**self.arguments)


def call(name: str, /, **arguments: Any) -> Call:
    return Call(name, arguments)


# -- conversations


def regex(pattern: str) -> Rule:
    return {"regex_match": pattern}


def choices(*values: Any) -> Rule:
    return {"multi_choices": list(values)}


ANY_DATE_FORM: Rule = {"date_match": True}
SAME_DATE_TEXT: Rule = {"date_match": False}


def rule(**arguments: Rule) -> Rule:
    """The rules of one call."""
    return {"arguments": arguments} if arguments else {}


@dataclass(slots=True)
class Talk:
    """A conversation up to the assistant message that is asked for. Calls are run as they are added."""

    id: str
    domains: Sequence[str]
    says: str
    today: str | None = None
    as_text: bool = False  # the target's arguments as JSON text
    messages: list[Json] = field(default_factory=list)
    calls: int = 0

    def __post_init__(self) -> None:
        if self.today:
            now = date.fromisoformat(self.today)
            self.messages.append(
                {"role": "system", "content": f"You help people by using tools. Today is {now:%A}, {self.today}."}
            )
        self.user(self.says)

    def user(self, says: str) -> None:
        self.messages.append({"role": "user", "content": says})

    def assistant(self, says: str) -> None:
        self.messages.append({"role": "assistant", "content": says})

    def step(self, *calls: Call) -> list[Any]:
        """A turn of calls and their results, which have to be good."""
        return self.turn(calls, [one.run() for one in calls])

    def fails(self, wrong: Call) -> str:
        """A wrong call and the tool's complaint."""
        try:
            wrong.run()
        except ToolError as error:
            self.turn([wrong], [{"error": str(error)}])
            return str(error)
        raise AssertionError(f"{self.id}: {wrong} was to fail")

    def turn(self, calls: Sequence[Call], results: Sequence[Any]) -> list[Any]:
        """A turn of calls and whatever came back."""
        shown = self._numbered(calls, as_text=True)
        self.messages.append({"role": "assistant", "content": "", "tool_calls": shown})
        for one, result in zip(shown, results, strict=True):
            content = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
            self.messages.append(
                {"role": "tool", "tool_call_id": one["id"], "name": one["function"]["name"], "content": content}
            )
        return list(results)

    def target(self, *calls: Call, rules: Sequence[Rule] | None = None) -> Json:
        """The record whose target are these calls, which have to run."""
        for one in calls:
            one.run()
        record = self._record(
            {"role": "assistant", "content": "", "tool_calls": self._numbered(calls, as_text=self.as_text)}
        )
        return record | ({"target_message_match_rules": list(rules)} if rules is not None else {})

    def answer(self, says: str) -> Json:
        """The record whose target is this very text; the user has to have asked for its form."""
        return self._record({"role": "assistant", "content": says})

    def _numbered(self, calls: Sequence[Call], *, as_text: bool) -> list[Json]:
        shown = []
        for one in calls:
            arguments: Any = json.dumps(one.arguments, ensure_ascii=False) if as_text else one.arguments
            shown.append(
                {"id": f"call_{self.calls}", "type": "function", "function": {"name": one.name, "arguments": arguments}}
            )
            self.calls += 1
        return shown

    def _record(self, target: Json) -> Json:
        tools = [one.declaration() for domain in self.domains for one in TOOLS.values() if one.domain == domain]
        return {"id": self.id, "messages": self.messages, "tools": tools, "target_message": target}
