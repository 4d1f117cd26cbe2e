"""Tools: typed functions, and the devices of tools."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import jsonschema
import pytest

from agentgauge.core.errors import ToolError, ToolFault, UsageProblem
from agentgauge.core.function_tools import FunctionBox, as_json, function_tool, tools_of
from agentgauge.core.tools import (
    by_device,
    cards_of,
    devices_of,
    table_without_devices,
    united,
    without_devices,
)

# -- Python functions as tools: what their signatures become, what is refused, what a call gives.


Size = Enum("Size", {"SMALL": "small", "LARGE": "large"})


@dataclass
class Line:
    item: str
    count: int = 1


class Place(TypedDict):
    name: str
    title: NotRequired[str]


@dataclass
class Tree:
    branches: list[Tree]


@dataclass
class Shop:
    orders: dict[str, str] = field(default_factory=dict)

    def cancel(self, order: str) -> str:
        """Cancel an order."""
        self.orders[order] = "cancelled"
        return self.orders[order]


def takes(kind: Any):
    def tool(value) -> str:
        """Show a value."""
        return repr(value)

    tool.__annotations__["value"] = kind
    return tool


TYPES = [
    (str, {"type": "string"}, "a", "'a'"),
    (int, {"type": "integer"}, 3.0, "3"),
    (float, {"type": "number"}, 3, "3.0"),
    (bool, {"type": "boolean"}, True, "True"),
    (None, {"type": "null"}, None, "None"),
    (list[int], {"type": "array", "items": {"type": "integer"}}, [1, 2], "[1, 2]"),
    (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}, {"a": 1}, "{'a': 1.0}"),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, "b", "'b'"),
    (Literal[1, None], {"enum": [1, None]}, None, "None"),
    (Size, {"type": "string", "enum": ["small", "large"]}, "large", "<Size.LARGE: 'large'>"),
    (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}, None, "None"),  # noqa: UP045
    (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "x", "'x'"),
    (Annotated[str, "a word"], {"type": "string", "description": "a word"}, "x", "'x'"),
    (
        list[Line],
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"item": {"type": "string"}, "count": {"type": "integer"}},
                "required": ["item"],
            },
        },
        [{"item": "tea"}],
        "[Line(item='tea', count=1)]",
    ),
    (
        Place,
        {
            "type": "object",
            "properties": {"name": {"type": "string"}, "title": {"type": "string"}},
            "required": ["name"],
        },
        {"name": "Ulm"},
        "{'name': 'Ulm'}",
    ),
    (Any, {}, [1], "[1]"),
]


@pytest.mark.parametrize(("kind", "schema", "value", "shown"), TYPES)
def test_a_type_becomes_a_schema_and_a_value_of_it_an_argument(kind, schema, value, shown) -> None:
    tool = function_tool(takes(kind))
    assert tool.schema == {"type": "object", "properties": {"value": schema}, "required": ["value"]}
    jsonschema.validate({"value": value}, dict(tool.schema))
    assert run(takes(kind), value=value) == shown


@pytest.mark.parametrize(
    ("kind", "value", "sentence"),
    [
        (str, 1, "value is 1 and must be a string"),
        (int, "1", 'value is "1" and must be an integer'),
        (int, True, "value is true and must be an integer"),
        (int, 1.5, "value is 1.5 and must be an integer"),
        (float, "1", 'value is "1" and must be a number'),
        (bool, 0, "value is 0 and must be true or false"),
        (list[int], [1, "a"], 'value.1 is "a" and must be an integer'),
        (dict[str, int], [], "value is a list and must be an object"),
        (Size, "tiny", "value is \"tiny\" and must be 'small' or 'large'"),
        (int | None, "x", 'value is "x" and must be an integer'),
        (Line | None, {"count": 1}, "it has no value.item"),
        (Line, {"item": "tea", "colour": "red"}, "value has no 'colour'; accepted are item, count"),
        (list[Line], [{"item": 1}], "value.0.item is 1 and must be a string"),
    ],
)
def test_a_value_of_another_type_is_refused_by_its_place(kind, value, sentence) -> None:
    tool = function_tool(takes(kind))
    with pytest.raises(ValueError, match=r".") as refused:
        tool.check({"value": value})
    assert str(refused.value) == sentence
    assert (
        not jsonschema.Draft202012Validator(dict(tool.schema)).is_valid({"value": value}) or "accepted are" in sentence
    )


def test_defaults_make_optional_and_the_state_is_no_argument() -> None:
    def order(state: Shop, item: str, count: int = 1, note: str | None = None) -> str:
        """Order an item.

        It is on its way at once."""
        return f"{len(state.orders)} {item} {count} {note}"

    tool = function_tool(order)
    assert tool.description == "Order an item.\n\nIt is on its way at once."
    assert tool.schema["required"] == ["item"]
    assert tool.schema["properties"]["count"] == {"type": "integer", "default": 1}
    assert run(order, Shop({"a": "b"}), item="tea") == "1 tea 1 None"
    with pytest.raises(ValueError, match="it has no item"):
        tool.check({})
    with pytest.raises(ValueError, match="it has no 'state'; accepted are item, count, note"):
        tool.check({"item": "a", "state": {}})


def test_a_method_works_on_the_state() -> None:
    shop = Shop({"7": "paid"})
    assert run(Shop.cancel, shop, order="7") == "cancelled"
    assert as_json(shop) == {"orders": {"7": "cancelled"}}


def no_text(a: int) -> None: ...


def untyped(a):
    """Text."""


def stars(*a: int) -> None:
    """Text."""


def strange(a: Nowhere) -> None:  # noqa: F821
    """Text."""


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda a: a, "is not a tool; give a Python function with a name"),
        ("find", "'find' is not a tool"),
        (no_text, "the tool no_text lacks a docstring"),
        (untyped, "the tool untyped: its parameter a lacks a type"),
        (stars, "the tool stars: a model gives arguments by name, so \\*a: 'int' cannot be a parameter"),
        (strange, "the tool strange: its annotations cannot be read \\(name 'Nowhere' is not defined"),
        (takes(list[FunctionBox]), "has the type list\\[.*FunctionBox\\], which has no JSON schema; use str"),
        (takes(Tree), "its parameter value.branches has the type Tree, which has no JSON schema"),
    ],
)
def test_what_has_no_schema_is_refused_in_one_sentence(function, sentence) -> None:
    with pytest.raises(UsageProblem, match=sentence) as refused:
        function_tool(function)
    assert "\n" not in str(refused.value)


def test_names_are_unique_and_schemas_of_others_are_taken_as_they_are() -> None:
    schema = {"name": "book", "description": "Book.", "parameters": {"type": "object", "properties": {}}}
    wrapped = tools_of([{"type": "function", "function": schema}])["book"]
    assert wrapped == tools_of([schema])["book"] and not wrapped.is_run
    with pytest.raises(UsageProblem, match="two tools are named book"):
        tools_of([schema, schema])
    with pytest.raises(UsageProblem, match="is not a function schema; it must have a name"):
        tools_of([{"type": "function"}])


async def later(word: str) -> dict[str, Any]:
    """Say a word later."""
    await asyncio.sleep(0)
    return {"said": word, "how": Size.SMALL, "lines": (Line("tea"),)}


def refuses() -> None:
    """Refuse."""
    raise ToolError("there is no such order")


def breaks() -> str:
    """Break."""
    return {}["order"]


def gives_an_object() -> Path:
    """Give what is not JSON."""
    return Path()


def test_a_result_is_json_where_it_is_no_text() -> None:
    said = json.loads(run(later, word="a"))
    assert said == {"said": "a", "how": "small", "lines": [{"item": "tea", "count": 1}]}


def test_a_tool_error_is_for_the_model_and_any_other_a_defect_of_the_benchmark() -> None:
    with pytest.raises(ToolError, match="there is no such order"):
        run(refuses)
    with pytest.raises(ToolFault, match=r"the tool breaks raised KeyError at test_tools\.py:") as broken:
        run(breaks)
    assert broken.value.cause == "breaks: KeyError"
    with pytest.raises(ToolFault, match="PosixPath is not plain data; use dataclasses"):
        run(gives_an_object)


def run(function, state: Any = None, **arguments: Any) -> str:
    tool = function_tool(function)
    box = FunctionBox({tool.name: tool}, state)
    (output,) = asyncio.run(box.call(tool.name, arguments, folder=Path(), readable=()))
    assert output.type == "text"
    return output.content


# -- Where the models of tools ran, as the records of a run tell it.


L4, L4_TOO = "cuda:0 (NVIDIA L4)", "cuda:1 (NVIDIA L4)"


def tool(device: str = "", **more: Any) -> dict[str, Any]:
    return {"state": "ready", **({"device": device} if device else {}), **more}


@pytest.mark.parametrize(
    ("tools", "lines"),
    [
        ({"Plot": tool()}, []),
        (
            {"OCR": tool("cpu"), "B": tool(f"{L4}, {L4_TOO}"), "A": tool(f"{L4}, {L4_TOO}"), "Plot": tool()},
            ["tools on cpu: OCR", f"tools on {L4}, {L4_TOO}: A, B"],
        ),
        (
            {"OCR": tool(f"cpu, {L4}")},
            [f"tools on cpu, {L4}: OCR - results of a processor and of a GPU may differ in their last digits"],
        ),
    ],
)  # fmt: skip
def test_the_header_names_each_place(tools: dict[str, Any], lines: list[str]) -> None:
    assert by_device(devices_of(tools)) == lines


def test_sessions_of_one_run_name_all_devices() -> None:
    first = {"OCR": tool("cpu"), "A": tool(L4), "Plot": tool(), "Old": tool()}
    then = {"OCR": tool("cpu:1, cpu"), "A": tool(L4_TOO), "Old": tool("cpu"), "New": tool(L4)}
    assert united([first, then]) == {
        "OCR": tool("cpu, cpu:1"),
        "A": tool(f"{L4}, {L4_TOO}"),
        "Plot": tool(),
        "Old": tool("cpu"),
        "New": tool(L4),
    }
    assert united([]) == {}


@pytest.mark.parametrize(
    ("device", "cards"),
    [
        ("", ""),
        ("cpu:0, cpu:1", "cpu"),
        (f"{L4_TOO}, {L4}, cpu", "cpu, cuda (NVIDIA L4)"),
        ("cuda:3 (Card, of a kind:1)", "cuda (Card, of a kind:1)"),
    ],
)
def test_numbers_of_devices_do_not_tell_cards_apart(device: str, cards: str) -> None:
    assert cards_of(tool(device)) == cards


def test_a_tool_is_the_same_on_another_device() -> None:
    assert (
        without_devices({"OCR": tool(L4, version=2)})
        == {"OCR": tool(version=2)}
        == without_devices({"OCR": tool(version=2)})
    )


@pytest.mark.parametrize(
    ("table", "left"),
    [
        ({}, {}),
        ({"devices": "cuda:0", "basic": True}, {"basic": True}),
        ({"OCR": {"device": "cpu"}, "vision": {"device": "auto", "batch": 2}}, {"vision": {"batch": 2}}),
        ({"OCR": {}, "disable": []}, {"OCR": {}, "disable": []}),
    ],
)
def test_settings_are_the_same_but_for_devices(table: dict[str, Any], left: dict[str, Any]) -> None:
    assert table_without_devices(table) == left
