"""Replies of model families as they are really sent: what is a call, and with which arguments."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgauge.agent.dialects.call_values import offered_tools, typed, types_of
from agentgauge.agent.dialects.format import Format, ParsedCall, ParsedReply
from agentgauge.agent.dialects.registry import OURS, format_of
from tests.dialects.offers import tools

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
ON_OFFER = [
    *tools(
        get_weather={"city": TEXT, "days": NUMBER},
        get_time={"zone": TEXT},
        write_note={"content": TEXT},
        book={"seat": {}, "window": {}, "tags": {"type": "array"}},
        run_shell={"command": TEXT},
    ),
    *tools(**{"get-weather": {"city": TEXT}, "weather.get_current": {"city": TEXT}, "find": {"query": TEXT}}),
    *tools(store={"record": {"type": "object"}}),
]

THINK, END = 'what does the <think> tag mean', 'text after </think> is empty'  # fmt: skip
TAGS = "Close with </tool_call> or </tool_calls> or </function>, open with <tool_call>."


def qwen(arguments: str, name: str = "get_weather") -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


CALLS: list[tuple[str, str, list[tuple[str, dict[str, Any]]]]] = [
    # marks of thoughts inside of arguments
    ("qwen", qwen(f'{{"query": "{THINK}"}}', "find"), [("find", {"query": THINK})]),
    ("qwen", "<think>\nI look.\n</think>\n\n" + qwen('{"query": "' + END + '"}', "find"), [("find", {"query": END})]),
    ("qwen", qwen('{"query": "' + END + '"}', "find"), [("find", {"query": END})]),
    ("llama", f'{{"name": "find", "parameters": {{"query": "{THINK}"}}}}', [("find", {"query": THINK})]),
    ("toolace", f'[find(query="{THINK}")]', [("find", {"query": THINK})]),
    ("gorilla", f'<<function>>find(query="{END}")', [("find", {"query": END})]),
    ("glm4", f'find\n{{"query": "{END}"}}', [("find", {"query": END})]),
    ("prompt", f'<think>\nI look.\n</think>\n<tool_calls>[{{"name": "find", "arguments": {{"query": "{END}"}}}}]'
     "</tool_calls>", [("find", {"query": END})]),
    ("react", f'<think>Action: x\nAction Input: {{}}</think>Action: find\nAction Input: {{"query": "{END}"}}',
     [("find", {"query": END})]),
    ("react", "<think>\nAction: get_time\nAction Input: soon\n</think>\nAction: find\nAction Input: "
     f'{{"query": "{END}"}}', [("find", {"query": END})]),
    ("react", f'Action: find\nAction Input: ```json\n{{"query": "{THINK}"}}\n```\n<think>Enough?</think>',
     [("find", {"query": THINK})]),
    # closing tags inside of arguments
    ("qwen", qwen(f'{{"content": "{TAGS}"}}', "write_note"), [("write_note", {"content": TAGS})]),
    ("prompt", f'<tool_calls>[{{"name": "write_note", "arguments": {{"content": "{TAGS}"}}}}]</tool_calls>',
     [("write_note", {"content": TAGS})]),
    ("functionary", f'<function=write_note>{{"content": "{TAGS}"}}</function>', [("write_note", {"content": TAGS})]),
    ("hammer", '```\n[{"name": "write_note", "arguments": {"content": "```\\nx\\n```"}}]\n```',
     [("write_note", {"content": "```\nx\n```"})]),
    ("gorilla", '<<function>>write_note(content="<<function>>f(a=1)")',
     [("write_note", {"content": "<<function>>f(a=1)"})]),
    ("react", 'Action: write_note\nAction Input: {"content": "Final Answer: 5\\nAction: x"}\nThought: on',
     [("write_note", {"content": "Final Answer: 5\nAction: x"})]),
    ("react", 'Action: write_note\nAction Input: ```json\n{"content": "a\nFinal Answer: 5"}\n```',
     [("write_note", {"content": "a\nFinal Answer: 5"})]),
    ("qwen", "<tool_call>\n<function=write_note>\n<parameter=content>\n</function> a </tool_call>\n</parameter>\n"
     "</function>\n</tool_call>", [("write_note", {"content": "</function> a </tool_call>"})]),
    ("qwen", '<tool_call>\n<function=book>\n<parameter=tags>\n["</parameter>\\n</function>"]\n</parameter>\n'
     "</function>\n</tool_call>", [("book", {"tags": ["</parameter>\n</function>"]})]),
    ("glm4", '<tool_call>store\n<arg_key>record</arg_key>\n<arg_value>{"a": "</arg_value></tool_call>"}</arg_value>\n'
     "</tool_call>", [("store", {"record": {"a": "</arg_value></tool_call>"}})]),
    ("qwen", "<tool_call>\n<function=get_weather>\n<parameter=city>\n<parameter=days>\n</parameter>\n</function>\n"
     "</tool_call>", [("get_weather", {"city": "<parameter=days>"})]),
    # other line breaks
    ("glm4", 'get_weather\r\n{"city": "Oslo"}', [("get_weather", {"city": "Oslo"})]),
    ("qwen", "<tool_call>\r\n<function=get_weather>\r\n<parameter=city>\r\nOslo\r\n</parameter>\r\n</function>\r\n"
     "</tool_call>", [("get_weather", {"city": "Oslo"})]),
    # near misses of JSON
    ("llama", '{"name": "write_note", "parameters": {"content": "Dear Ana,\nsee you."}}',
     [("write_note", {"content": "Dear Ana,\nsee you."})]),
    ("qwen", qwen('{"city": "Oslo",}'), [("get_weather", {"city": "Oslo"})]),
    ("qwen", '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}\n</tool_call>',
     [("get_weather", {"city": "Oslo"})]),
    ("qwen", qwen('{"city": "Oslo"}}'), [("get_weather", {"city": "Oslo"})]),
    ("llama", '{"name": "get_weather", "parameters": {"city": "Oslo"}<|eot_id|>', [("get_weather", {"city": "Oslo"})]),
    ("xlam2", '[{"name": "get_weather", "arguments": {"city": "Oslo"}]', [("get_weather", {"city": "Oslo"})]),
    ("hammer", '```\n[{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```',
     [("get_weather", {"city": "Oslo"})]),
    ("qwen", qwen("{'seat': null, 'window': true}", "book"), [("book", {"seat": None, "window": True})]),
    ("qwen", qwen("{'seat': None, 'window': True}", "book"), [("book", {"seat": None, "window": True})]),
    ("qwen", qwen(r'{"query": "\d+ m", "folder": "C:\data"}', "find"),
     [("find", {"query": r"\d+ m", "folder": r"C:\data"})]),
    ("xlam", '{"tool_calls": [{"name": "write_note", "arguments": {"content": "a\tb"}}]}',
     [("write_note", {"content": "a\tb"})]),
    ("functionary", "<function=get_weather>{'city': 'Oslo',}</function>", [("get_weather", {"city": "Oslo"})]),
    ("qwen", qwen(r"{'city': 'caf\xe9 \d'}"), [("get_weather", {"city": r"café \d"})]),
    # calls without arguments
    ("qwen", '<tool_call>\n{"name": "get_time"}\n</tool_call>', [("get_time", {})]),
    ("qwen", qwen("null", "get_time"), [("get_time", {})]),
    ("qwen", qwen('""', "get_time"), [("get_time", {})]),
    ("qwen", "<tool_call>\n<function=get_time>\n</function>\n</tool_call>", [("get_time", {})]),
    ("llama", '{"name": "get_time"}', [("get_time", {})]),
    ("llama", '{"name": "get_time", "parameters": null}', [("get_time", {})]),
    ("xlam2", '[{"name": "get_time"}]', [("get_time", {})]),
    ("functionary", "<function=get_time></function>", [("get_time", {})]),
    ("functionary", "<function=get_time>null</function>", [("get_time", {})]),
    ("glm4", "<tool_call>get_time\n</tool_call>", [("get_time", {})]),
    ("prompt", '<tool_calls>[{"name": "get_time"}]</tool_calls>', [("get_time", {})]),
    ("qwen", "<tool_call>\n<function=get_time>\n</tool_call>", [("get_time", {})]),
    ("glm4", "get_time\nnull", [("get_time", {})]),
    ("glm4", '\nget_time\n""<|observation|>', [("get_time", {})]),
    ("react", "Action: get_time\nAction Input:\nThought: on", [("get_time", {})]),
    ("react", "Action: get_time\nAction Input: None", [("get_time", {})]),
    ("react", 'Action: get_time\nAction Input: ""', [("get_time", {})]),
    ("react", "Thought: I look.\nAction: get_time\n", [("get_time", {})]),
    # a model's own mistakes, in its own frame
    ("qwen", qwen("{}", "no_such"), [("no_such", {})]),
    ("qwen", qwen('"Oslo"'), [("get_weather", "Oslo")]),  # type: ignore[list-item]
    ("llama", '<|python_tag|>{"name": "no_such", "parameters": {}}', [("no_such", {})]),
    ("toolace", "[no_such(a=1)]", [("no_such", {"a": 1})]),
    ("gorilla", "<<function>>no_such(a=1)", [("no_such", {"a": 1})]),
    ("xlam", '{"tool_calls": [{"name": "no_such", "arguments": {}}]}', [("no_such", {})]),
    ("xlam2", '[{"name": "no_such", "arguments": {}}]', [("no_such", {})]),
    ("functionary", "<function=no_such>{}</function>", [("no_such", {})]),
    ("prompt", '<tool_calls>[{"name": "no_such", "arguments": {}}]</tool_calls>', [("no_such", {})]),
    ("toolace", "[no_such(a=1)]</s>", [("no_such", {"a": 1})]),
    # Python
    ("toolace", "[find(x=-1.5, y=+2, on=not_set)]", [("find", {"x": -1.5, "y": 2, "on": "not_set"})]),
    ("toolace", '[get-weather(city="Oslo")]', [("get-weather", {"city": "Oslo"})]),
    ("toolace", '[weather.get_current(city="Oslo")]', [("weather.get_current", {"city": "Oslo"})]),
    ("gorilla", '<<function>>api.get_time(zone="CET")', [("get_time", {"zone": "CET"})]),
    ("toolace", "[book(day=2026-12-25, zip=02134, tel=555-1234)]",
     [("book", {"day": "2026-12-25", "zip": "02134", "tel": "555-1234"})]),
    ("toolace", "[book(days=[2026-12-25])]", [("book", {"days": ["2026-12-25"]})]),
    ("toolace", '[book(items=["a, b", "c)"], n=[{"k": 1}])]', [("book", {"items": ["a, b", "c)"], "n": [{"k": 1}]})]),
    ("toolace", "[book(seat=null, window=true, extra=None)]",
     [("book", {"seat": None, "window": True, "extra": None})]),
    ("toolace", '[book({"seat": 1, "window": false})]', [("book", {"seat": 1, "window": False})]),
    ("toolace", '[get_weather("Oslo", days=2), get_weather("Rome", 3)]',
     [("get_weather", {"city": "Oslo", "days": 2}), ("get_weather", {"city": "Rome", "days": 3})]),
    ("toolace", '[get_weather({"city": "Oslo"}, days=2)]', [("get_weather", {"city": "Oslo", "days": 2})]),
    ("toolace", '[store({"seat": 1})]', [("store", {"record": {"seat": 1}})]),
    ("toolace", '[store({"record": {"seat": 1}})]', [("store", {"record": {"seat": 1}})]),
    ("toolace", r"""[find(a="caf\xe9\d\/", b='\U0001F600\x41\101\N{BULLET}', c="\ud83d\ude00", d="\\d\\x41")]""",
     [("find", {"a": r"café\d\/", "b": "😀AA•", "c": "😀", "d": r"\d\x41"})]),
    ("toolace", '[get_weather(city="Oslo"), get_time(zone="CET")',
     [("get_weather", {"city": "Oslo"}), ("get_time", {"zone": "CET"})]),
    ("toolace", '[write_note(content="Dear Ana,\nsee you.")]', [("write_note", {"content": "Dear Ana,\nsee you."})]),
    ("toolace", "[find(from='A', in=\"b\", a=2 * 3, b='x' + 'y', c=7 / 2)]",
     [("find", {"from": "A", "in": "b", "a": 6, "b": "xy", "c": 3.5})]),
    ("toolace", '[get_time (zone="CET")]', [("get_time", {"zone": "CET"})]),
    ("toolace", 'get_time(\n  zone="CET",\n)', [("get_time", {"zone": "CET"})]),
    ("toolace", 'I call\n  get_time(zone="CET");\nand wait', [("get_time", {"zone": "CET"})]),
    # forms of today's checkpoints
    ("llama", '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo"}}; '
     '{"name": "get_time", "parameters": {"zone": "CET"}}<|eom_id|>',
     [("get_weather", {"city": "Oslo"}), ("get_time", {"zone": "CET"})]),
    ("llama", '<function=get_weather>{"city": "Oslo"}</function><|eom_id|>', [("get_weather", {"city": "Oslo"})]),
    ("llama", '[get_weather(city="Oslo")]<|eot_id|>', [("get_weather", {"city": "Oslo"})]),
    ("llama", '<|python_tag|>find.call(query="fjord")', [("find", {"query": "fjord"})]),
    ("llama", 'Sure.\n\n{"name": "get_weather", "parameters": {"city": "Oslo"}}\n\nI used {"query": "x"} there.',
     [("get_weather", {"city": "Oslo"})]),
    ("qwen", "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n"
     "</parameter>\n</function>\n</tool_call>", [("get_weather", {"city": "Oslo", "days": 3})]),
    ("qwen", "<function=get_weather>\n<parameter=city>\n3\n</parameter>\n</function>\n</tool_call>",
     [("get_weather", {"city": "3"})]),
    ("qwen", "<tool_call>\n<function=book>\n<parameter=tags>\n['a', 'b']\n</parameter>\n<parameter=seat>\n</parameter> "
     "is\na tag\n</parameter>\n</function>\n</tool_call>",
     [("book", {"tags": ["a", "b"], "seat": "</parameter> is\na tag"})]),
    ("qwen", '<tool_call>\n<function="get_weather">\n<parameter=city>\nOslo\n<parameter=days>\n3\n</function>\n'
     "</tool_call>", [("get_weather", {"city": "Oslo", "days": 3})]),
    ("qwen", "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n<parameter=days>\n3\n</parameter>\n"
     "</function>\n</tool_call>", [("get_weather", {"city": "Oslo", "days": 3})]),
    ("llama", '<function=get_weather{"city": "Oslo"}</function>', [("get_weather", {"city": "Oslo"})]),
    ("qwen", qwen('"{\\"city\\": \\"Oslo\\"}"'), [("get_weather", {"city": "Oslo"})]),
    ("qwen", '<tool_call>\n{"name": "get_weather", "parameters": {"city": "Oslo"}}\n</tool_call>',
     [("get_weather", {"city": "Oslo"})]),
    ("qwen", '<tool_call>\n```json\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```\n</tool_call>',
     [("get_weather", {"city": "Oslo"})]),
    ("glm4", "get_weather\n{'city': 'Oslo'}", [("get_weather", {"city": "Oslo"})]),
    ("glm4", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n"
     "<arg_value>3</arg_value>\n</tool_call>", [("get_weather", {"city": "Oslo", "days": 3})]),
    ("glm4", '\nget_weather\n{"city": "Oslo"}<|assistant|>get_time\n{"zone": "CET"}<|observation|>',
     [("get_weather", {"city": "Oslo"}), ("get_time", {"zone": "CET"})]),
    ("glm4", '<tool_call>get_weather\n{"city": "</b>"}\n</tool_call>', [("get_weather", {"city": "</b>"})]),
    ("react", 'Action: get_weather\nAction Input: "{\\"city\\": \\"Oslo\\"}"', [("get_weather", {"city": "Oslo"})]),
    ("xlam2", '<think>maybe [{"name":"a","arguments":{}}]</think>[{"name": "get_time", "arguments": {"zone": "ü"}}]',
     [("get_time", {"zone": "ü"})]),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "text", "calls"), CALLS)
def test_calls_under_strict(dialect: str, text: str, calls: list[tuple[str, object]]) -> None:
    found = format_of(dialect).read(text, tolerant=True, tools=ON_OFFER).calls
    assert [(call.name, _value(call.arguments)) for call in found] == calls


def _value(arguments: str) -> object:
    return json.loads(arguments) if arguments[:1] == "{" else arguments


FIELDS = tools(
    "look",
    get={"id": NUMBER},
    issue={"title": TEXT, "description": TEXT},
    ask={"input": TEXT},
    run={"args": {"type": "array"}},
    plot={"function": TEXT},
    greet={"name": TEXT},
    open={"type": TEXT},
    store={"input": {"type": "object"}},
)


@pytest.mark.parametrize(
    ("call", "name", "arguments"),
    [
        ('{"name": "get", "id": 7}', "get", {"id": 7}),
        ('{"name": "get", "id": "call_1", "arguments": {"id": 7}}', "get", {"id": 7}),
        ('{"name": "look", "id": "call_1"}', "look", {}),
        ('{"name": "issue", "title": "t", "description": "d"}', "issue", {"title": "t", "description": "d"}),
        ('{"name": "look", "parameters": {"a": "1"}, "description": "look up"}', "look", {"a": "1"}),
        ('{"name": "look", "args": {"a": 1}, "description": "look up"}', "look", {"a": 1}),
        ('{"name": "look", "input": {"a": 1}, "description": "look up"}', "look", {"a": 1}),
        ('{"name": "ask", "input": "hello"}', "ask", {"input": "hello"}),
        ('{"name": "ask", "input": {"input": "hello"}}', "ask", {"input": "hello"}),
        ('{"name": "ask", "arguments": {"input": "hello"}}', "ask", {"input": "hello"}),
        ('{"name": "run", "args": ["-l"]}', "run", {"args": ["-l"]}),
        ('{"name": "store", "input": {"a": 1}}', "store", {"input": {"a": 1}}),
        ('{"name": "plot", "function": "sin"}', "plot", {"function": "sin"}),
        ('{"function": "greet", "name": "Ann"}', "greet", {"name": "Ann"}),
        ('{"name": "open", "type": "door"}', "open", {"type": "door"}),
        ('{"name": "open", "type": "function"}', "open", {}),
    ],
)
def test_a_field_named_as_a_parameter_is_an_argument(call: str, name: str, arguments: dict[str, Any]) -> None:
    (found,) = format_of("qwen").read(f"<tool_call>{call}</tool_call>", tolerant=True, tools=FIELDS).calls
    assert (found.name, json.loads(found.arguments)) == (name, arguments)


@pytest.mark.parametrize(
    "schema",
    [
        '{"name": "look", "description": "Looks", "parameters": {}}',
        '{"name": "look", "description": "Looks"}',
        '{"name": "look", "description": "Looks", "args": {"a": {"title": "A", "type": "string"}}}',
        '{"name": "issue", "description": "d", "parameters": {"type": "object", "properties": {"title": {}}}}',
    ],
)
def test_the_schema_of_a_tool_is_no_call(schema: str) -> None:
    assert not format_of("qwen").read(f"<tool_call>{schema}</tool_call>", tolerant=True, tools=FIELDS).calls


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("true", {"type": "integer"}, "true"),
        ("true", {"type": "number"}, "true"),
        ("true", {"type": ["integer", "boolean"]}, True),
        ("5", {"type": "number"}, 5),
        ("2.5", {"type": "float"}, 2.5),
        ("2.5", {"type": "integer"}, "2.5"),
        ('{"a": 1}', {"type": "dict"}, {"a": 1}),
        ("(1, 2)", {"type": "tuple"}, [1, 2]),
        ("5", {"type": "STRING"}, "5"),
        ("5", {"type": "date"}, "5"),
        ("5", {"type": "any"}, 5),
        ("5", {"enum": ["5", "6"]}, "5"),
        ("5", {"enum": [5, 6]}, 5),
        ("null", {"enum": ["a", None]}, None),
        ("5", {"anyOf": [{"enum": ["5"]}, {"type": "null"}]}, "5"),
    ],
)
def test_a_bare_value_has_a_type_of_its_schema(text: str, schema: dict[str, Any], value: object) -> None:
    found = typed(text, schema)
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        ({"$ref": "#/$defs/Row"}, {"array"}),
        ({"anyOf": [{"$ref": "#/$defs/Row"}, {"type": "null"}]}, {"array", "null"}),
        ({"allOf": [{"$ref": "#/$defs/Count"}], "default": 3}, {"integer"}),
        ({"$ref": "#/$defs/Loop"}, set()),
        ({"$ref": "#/$defs/None"}, set()),
        (True, set()),
        (None, set()),
    ],
)
def test_references_are_followed_to_a_parameter_s_types(schema: Any, types: set[str]) -> None:
    kept = {"Row": {"type": "array"}, "Count": {"type": "integer"}, "Loop": {"$ref": "#/$defs/Loop"}}
    function = {"name": "f", "parameters": {"properties": {"x": schema}, "$defs": kept}}
    assert types_of(offered_tools([{"function": function}])["f"]["x"]) == types


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('Action: find\nAction Input: {"query": "</think>"}\n</think>\nHello', "Hello"),
        ("Action: find\nAction Input: fjords\n</think>\nHello", "Hello"),
        ("<think>First</think>Hello", "Hello"),
        ("Hello\n<think>cut off", "Hello"),
        ("A thought ends with `</think>`, and is not shown.", "A thought ends with `</think>`, and is not shown."),
        ("<think>hm</think>Final Answer: `</think>` closes.", "`</think>` closes."),
    ],
)
def test_react_leaves_thoughts_out(text: str, left: str) -> None:
    assert format_of("react").read(text, tolerant=True, tools=ON_OFFER) == ParsedReply(left)


DATA = [
    "In SQL you would write:\n\nCOUNT(*)\n\nor in Python:\n\nlen(rows)\n",
    'The record:\n\n{"name": "Alice", "parameters": {"age": 30}}\n\nThe age is 30.',
    '{"name": "Alice", "parameters": {"age": 30}, "arguments": {"x": 1}}',
    '[{"name": "Alice", "age": 30}]',
    '[{"name": "Alice", "parameters": {"age": 30}}]',
    '~~~\n<tool_call>\n{"name": "run_shell", "arguments": {"command": "ls"}}\n</tool_call>\n~~~\nThat is the form.',
    '> <tool_call>\n> {"name": "run_shell", "arguments": {"command": "ls"}}\n> </tool_call>\n\nThat is the form.',
    '>>> run_shell(command="ls")\n',
    'A call looks like this:\n\n```xml\n<tool_call>\n{"name": "run_shell", "arguments": {"command": "ls"}}\n'
    "</tool_call>\n```\n\nThat is the form.",
    'A call looks like this:\n```\n<tool_calls>[{"name": "run_shell", "arguments": {}}]</tool_calls>\n```\nThat is it.',
    'A call looks like this:\n```python\nrun_shell(command="ls")\n[run_shell(command="ls")]\n```\nThat is it.',
    "You can greet like this:\n\n```python\nprint('hi')\n```\n\nTell me more.",
    'Result\n{"temperature": 3}\n\nSo take a coat.',
    "See [1] and [2, 3], or [the docs](https://example.org/a(b)).",
    'The tool is {"name": "get_time", "description": "Time", "parameters": {"type": "object", "properties": {}}}.',
    '{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}}',
    'The schema:\n{"name": "get_time", "parameters": {"type": "object", "required": ["zone"]}}',
    '{"name": "get_time", "parameters": {"zone": {"type": "string", "description": "a zone"}}}',
    "In Python:\n\n    get_time(zone='CET')\n\ngives the time.",
    "A <tool_call> block ends with </tool_call>, a <function=name> tag with </function>.",
    "get_weather(city) takes a city, and run_shell(command) a command.",
    "def get_time(zone):\n    return f(zone)\n",
    '```json\n{"city": "Oslo", "name": "Ann"}\n```',
]


@pytest.mark.parametrize("dialect", OURS)
@pytest.mark.parametrize("text", DATA)
def test_an_answer_is_no_call_under_strict(dialect: str, text: str) -> None:
    assert format_of(dialect).read(text, tolerant=True, tools=ON_OFFER) == ParsedReply(text)


@pytest.mark.parametrize("text", ["[find(x='It's late')]", "[find(1, 2)]", "[find(**{'a': 1})]", "[find(a=g())]"])
def test_what_python_cannot_hold_is_text_and_no_call_without_arguments(text: str) -> None:
    assert format_of("toolace").read(text, tolerant=True, tools=ON_OFFER) == ParsedReply(text)


TEXTS = st.lists(
    st.sampled_from(
        [
            *("</tool_call>", "<tool_call>", "</tool_calls>", "</function>", "<function=f>", "<<function>>"),
            *("<think>", "</think>", "```", "\n```\n", "<|eot_id|>", "Final Answer:", "\nAction: f\n"),
            *("\"", "'", "\\", "{", "}", "[", "]", "(", ")", ",", ":", ";", "=", "\n", "\t", "\r", "\0", " "),
            *("ä", "火", "\ud800", "{}", '{"name": "f", "arguments": {}}', "[f(a=1)]", "word"),
        ]
    ),
    max_size=6,
).map("".join)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
RENDERED = st.dictionaries(st.sampled_from(["a", "b_1", "trainNo"]), VALUES, max_size=3)


@pytest.mark.parametrize("dialect", ["react", *OURS])
@given(arguments=RENDERED)
@settings(derandomize=True, deadline=None, max_examples=40, database=None)
def test_any_argument_of_a_rendered_call_reads_back(dialect: str, arguments: dict[str, Any]) -> None:
    family: Format = format_of(dialect)
    call = ParsedCall("f", json.dumps(arguments, ensure_ascii=False))
    try:
        text = family.written(ParsedReply(None, (call,)))
    except ValueError:  # Python's parser takes no lone surrogate
        assert dialect in ("toolace", "watt", "gorilla") and "\ud800" in call.arguments
        return
    assert family.read(text, tolerant=True, tools=tools(f={})).calls == (call,)


WORDS = st.lists(
    st.sampled_from(
        [
            *("In Python ", "you write ", "\n\n", "```python\n", "\n```\n", "`", "# Title\n", "- ", "see [1]"),
            *('print("hi")', "\nlen(rows)\n", '{"name": "Ann"}', '{"name": "Ann", "arguments": {"a": 1}}', "Result\n"),
            *('{"temperature": 3}', "[1, 2]", "x = {'a': 1}", "f is a tool", "<b>", "</b>", "“quoted”", "'s ", " < 5"),
        ]
    ),
    max_size=8,
).map("".join)  # fmt: skip


@pytest.mark.parametrize("dialect", OURS)
@given(text=WORDS)
@settings(derandomize=True, deadline=None, max_examples=60, database=None)
def test_any_text_without_a_call_reads_as_text(dialect: str, text: str) -> None:
    found = format_of(dialect).read(text, tolerant=True, tools=tools(f={"a": TEXT}))
    assert found == ParsedReply(text if text.strip() else None)


@pytest.mark.parametrize("dialect", ["react", *OURS])
@pytest.mark.parametrize(
    "part",
    [
        *(
            "<tool_call>{",
            "<function=f><parameter=a>",
            "<tool_call>f<arg_key>a</arg_key><arg_value>",
            "[f([",
            "\nf(a='",
        ),
        *("\nf(a='", "\nf\n{", "<<function>>f(", "Action: a\nAction Input: {'a':", "<tool_calls>[{", "<|python_tag|>{"),
    ],
)
def test_hostile_replies_cost_little(dialect: str, part: str) -> None:
    clock = time.process_time()
    format_of(dialect).read(part * (100_000 // len(part)), tolerant=True, tools=tools(f={"a": TEXT}))
    assert time.process_time() - clock < 20  # seconds; what looks for its end from every beginning takes longer


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("react", 'Action: f\nAction Input: {"a":\n' * 10_000),
        ("react", 'Action: f\nAction Input: {"a":\n' * 10_000 + "</think>"),
        ("qwen", f"<tool_call><function=f><parameter=a>x{' ' * 200_000}</parameter></function></tool_call>"),
        ("glm4", f"<tool_call>f<arg_key>a</arg_key><arg_value>x{' ' * 200_000}y</arg_value></tool_call>"),
    ],
    ids=["objects", "objects in a thought", "blanks in a parameter", "blanks in an argument"],
)
def test_long_replies_cost_little(dialect: str, text: str) -> None:
    clock = time.process_time()
    format_of(dialect).read(text, tolerant=True, tools=tools(f={"a": TEXT}))
    assert time.process_time() - clock < 5  # seconds; what reads all from every place takes minutes
