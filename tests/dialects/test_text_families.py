"""Families that put tools, calls and results into plain text."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgauge.agent.dialects.format import Format, ParsedCall, ParsedReply, using
from agentgauge.agent.dialects.json_prompts import Glm4, PromptOnly
from agentgauge.agent.dialects.pythonic import Gorilla, ToolAce, Watt
from tests.dialects.offers import tools

pytestmark = pytest.mark.slow

FAMILIES: list[Format] = [ToolAce(), Watt(), Gorilla(), Glm4(), PromptOnly()]
LISTS: list[Format] = [ToolAce(), Watt()]

FIND: dict[str, Any] = {
    "name": "findTrains",
    "description": "Trains of a day, 列车",
    "parameters": {
        "type": "object",
        "properties": {"origin": {"type": "string"}, "direct": {"type": "boolean"}},
        "required": ["origin"],
    },
}
DELAY: dict[str, Any] = {
    "name": "delayInfo",
    "description": "Delay {of} a train",
    "parameters": {"type": "object", "properties": {}},
}
TOOLS = [{"type": "function", "function": FIND}, {"type": "function", "function": DELAY}]
ON_OFFER = tools("f", "g", "find_trains", "delayInfo")

DATE = "Current Date: 2024-05-20 Monday"


def _call(id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": DATE},
    {"role": "user", "content": "Trains from Alder?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [_call("1", "findTrains", '{"origin": "Alder", "direct": true}'), _call("2", "delayInfo", "{}")],
    },
    {"role": "tool", "tool_call_id": "1", "content": '{"trains": ["EX 9"], "to": "北"}'},
    {"role": "tool", "tool_call_id": "2", "content": "none"},
    {"role": "assistant", "content": "EX 9, on time."},
    {"role": "user", "content": "And tomorrow?"},
]
RUNNING: list[dict[str, Any]] = [
    {"role": "assistant", "content": "", "tool_calls": [_call("3", "delayInfo", '{"train": null}')]},
    {"role": "tool", "tool_call_id": "3", "content": "5"},
]

WRITTEN = '[findTrains(origin="Alder", direct=True), delayInfo()]'
RESULTS = (
    '[{"name": "findTrains", "results": {"trains": ["EX 9"], "to": "北"}}, {"name": "delayInfo", "results": "none"}]'
)


def _contents(sent: tuple[Any, ...]) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in sent]


def test_toolace_request() -> None:
    sent = ToolAce(prompt="P {tools} {other}").request([*MESSAGES, *RUNNING], TOOLS)
    assert _contents(sent.messages) == [
        ("system", f"P {[FIND, DELAY]!r} {{other}}"),
        ("user", "Trains from Alder?"),
        ("assistant", WRITTEN),
        ("tool", RESULTS),
        ("assistant", "EX 9, on time."),
        ("user", f"And tomorrow?\n{DATE}"),
        ("assistant", "[delayInfo(train=None)]"),
        ("tool", '[{"name": "delayInfo", "results": 5}]'),
    ]
    assert (sent.tools, sent.template, sent.raw) == ((), {}, True)


def test_toolace_keeps_what_else_the_system_message_says_and_a_date_of_the_user() -> None:
    messages = [
        {"role": "system", "content": f"Be kind. {DATE}"},
        {"role": "user", "content": "Hi. Current Date: long ago"},
    ]
    assert _contents(ToolAce(prompt="P").request(messages, []).messages) == [
        ("system", "P\n\nBe kind. "),
        ("user", "Hi. Current Date: long ago"),
    ]
    assert _contents(ToolAce(prompt="P").request(messages[:1], []).messages)[1:] == [("user", f"{DATE}")]


def test_watt_request() -> None:
    sent = Watt(prompt="P {tools}").request([*MESSAGES, *RUNNING], TOOLS)
    assert list(sent.messages) == [
        {"role": "system", "content": f"P {[FIND, DELAY]!r}\n\n{DATE}"},
        {"role": "user", "content": "Trains from Alder?"},
        {"role": "assistant", "content": WRITTEN},
        {"role": "tool", "name": "findTrains", "content": '{"trains": ["EX 9"], "to": "北"}'},
        {"role": "tool", "name": "delayInfo", "content": "none"},
        {"role": "assistant", "content": "EX 9, on time."},
        {"role": "user", "content": "And tomorrow?"},
        {"role": "assistant", "content": "[delayInfo(train=None)]"},
        {"role": "tool", "name": "delayInfo", "content": "5"},
    ]
    assert sent.tools == ()


def test_gorilla_request() -> None:
    (message,) = Gorilla().request([*MESSAGES, *RUNNING], TOOLS).messages
    assert message == {
        "role": "user",
        "content": (
            f"""\
{DATE}
### Instruction: <<user>>Trains from Alder?<<user>>
<<assistant>><<function>>findTrains(origin="Alder", direct=True)<<function>>delayInfo()<<assistant>>
<<tool>>{RESULTS}<<tool>>
<<assistant>>EX 9, on time.<<assistant>>
<<assistant>><<function>>delayInfo(train=None)<<assistant>>
<<tool>>[{{"name": "delayInfo", "results": 5}}]<<tool>>
<<function>>{json.dumps([FIND, DELAY], ensure_ascii=False)}
<<question>>And tomorrow?
### Response: """
        ),
    }


def test_gorilla_without_a_system_message_has_a_sentence_of_its_own() -> None:
    (message,) = Gorilla().request([{"role": "user", "content": "Hi {tools}"}], []).messages
    first, *rest = message["content"].split("\n")
    assert first.startswith("You ") and "Current Date" not in first
    assert rest == ["### Instruction: <<function>>[]", "<<question>>Hi {tools}", "### Response: "]
    (message,) = Gorilla(prompt="{system}|{history}|{query}").request([{"role": "system", "content": "S"}], []).messages
    assert message["content"] == "S||"


def test_glm4_request() -> None:
    sent = Glm4(prompt="P\n\n{tools}").request([*MESSAGES, *RUNNING], TOOLS)
    (role, system), *rest = _contents(sent.messages)
    assert role == "system"
    assert re.fullmatch(
        r"P\n\n## findTrains\n\n\{.*\}\n.*JSON\.\n\n## delayInfo\n\n\{.*\}\n.*JSON\.\n\n" + DATE, system, re.DOTALL
    )
    assert json.dumps(FIND, ensure_ascii=False, indent=4) in system
    assert json.dumps(DELAY, indent=4) in system
    assert rest == [
        ("user", "Trains from Alder?"),
        ("assistant", 'findTrains\n{"origin": "Alder", "direct": true}\ndelayInfo\n{}'),
        ("observation", RESULTS),
        ("assistant", "EX 9, on time."),
        ("user", "And tomorrow?"),
        ("assistant", 'delayInfo\n{"train": null}'),
        ("observation", '[{"name": "delayInfo", "results": 5}]'),
    ]


def test_prompt_request() -> None:
    sent = PromptOnly(prompt="P {tools}").request([*MESSAGES, *RUNNING], TOOLS)
    history = [
        {"name": "findTrains", "arguments": {"origin": "Alder", "direct": True}},
        {"name": "delayInfo", "arguments": {}},
    ]
    assert _contents(sent.messages) == [
        ("system", f"P {json.dumps([FIND, DELAY], ensure_ascii=False, indent=4)}\n\n{DATE}"),
        ("user", "Trains from Alder?"),
        ("assistant", f"<tool_calls>{json.dumps(history)}</tool_calls>"),
        ("user", f"<tool_response>{RESULTS}</tool_response>"),
        ("assistant", "Assistant: EX 9, on time."),
        ("user", "And tomorrow?"),
        ("assistant", '<tool_calls>[{"name": "delayInfo", "arguments": {"train": null}}]</tool_calls>'),
        ("user", '<tool_response>[{"name": "delayInfo", "results": 5}]</tool_response>'),
    ]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_prompt_shows_tools_and_date(family: Format) -> None:
    before = json.dumps(MESSAGES)
    sent = family.request(MESSAGES, TOOLS)
    told = "".join(message["content"] for message in sent.messages)
    assert told.count(DATE) == 1
    assert "列车" in told and "Delay {of} a train" in told and "{tools}" not in told
    assert json.dumps(MESSAGES) == before
    assert not sent.tools and sent.raw


@pytest.mark.parametrize("family", FAMILIES)
def test_requests_do_without_almost_everything(family: Format) -> None:
    nothing = family.request([], [])
    assert "Current Date" not in "".join(message["content"] for message in nothing.messages)
    broken: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [_call("1", "delayInfo", "broken {"), _call("2", "delayInfo", '["\\""]')],
        },
        {"role": "tool", "tool_call_id": "1", "content": "only one"},
        {"role": "user", "content": "on"},
    ]
    told = "".join(message["content"] for message in family.request(broken, []).messages)
    assert "broken {" in told and "only one" in told


def test_what_the_published_runs_were_made_with() -> None:
    settings = [(family.temperature, family.max_tokens) for family in FAMILIES]
    assert settings == [(0.0, 512), (0.0, 2048), (0.0, 512), (0.0, None), (None, None)]
    assert [family.all_tokens for family in FAMILIES] == [None, None, None, 2500, None]


ALDER = ParsedCall("findTrains", '{"origin": "Alder", "date": "2024-05-20"}')
EX9 = ParsedCall("delayInfo", '{"train_no": "EX 9"}')


VALUES = ParsedCall("f", '{"a": true, "b": "north", "c": -2}')


@pytest.mark.parametrize("family", LISTS)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[findTrains(origin="Alder", date="2024-05-20"), delayInfo(train_no="EX 9")]',
            ParsedReply("use findTrains, delayInfo to solve user problem", (ALDER, EX9)),
        ),
        ("[delayInfo(train_no='EX 9')]", ParsedReply("use delayInfo to solve user problem", (EX9,))),
        ('[trains.delayInfo("dropped", train_no="EX 9")]', ParsedReply("use delayInfo to solve user problem", (EX9,))),
        ("[f(a=true, b=north, c=-2)]", ParsedReply("use f to solve user problem", (VALUES,))),
        ("[f(a=g())]", ParsedReply(None)),
        ("[f(a=1/0)]", ParsedReply(None)),
        ("[not a call]", ParsedReply(None)),
        ("[f(from=1)]", ParsedReply(None)),
        ("[]", ParsedReply("use  to solve user problem")),
        ("[1]", ParsedReply("use  to solve user problem")),
        ("No function fits.", ParsedReply("No function fits.")),
        ("f(a=1)", ParsedReply("f(a=1)")),
        ("Sure: [f(a=1)]", ParsedReply("Sure: [f(a=1)]")),
        (" [f(a=1)]", ParsedReply(" [f(a=1)]")),
        ("", ParsedReply("")),
    ],
)
def test_lists_parity(family: Format, text: str, said: ParsedReply) -> None:
    assert family.read(text, tolerant=False) == said


ONE = ParsedCall("f", '{"a": 1}')
TWO = ParsedCall("g", '{"b": "x"}')
USE_F = "use f to solve user problem"


@pytest.mark.parametrize("family", [*LISTS, Gorilla()])
@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("[f(a=1), g(b='x')]", (ONE, TWO)),
        ("Sure: [f(a=1)] and then [g(b='x')].", (ONE, TWO)),
        ("<think>Or [h()]?</think>\n[f(a=1)]", (ONE,)),
        ("```python\n[f(a=1)]\n```", (ONE,)),
        ("f(a=1)", (ONE,)),
        ("f(a=1)\ng(b='x')", (ONE, TWO)),
        ("[f(from=1)]", (ParsedCall("f", '{"from": 1}'),)),
        ('{"name": "f", "arguments": {"a": 1}}', (ONE,)),
        ("Nothing [fits] here.", ()),
        ("[not a call]", ()),
    ],
)
def test_python_calls_tolerant(family: Format, text: str, calls: tuple[ParsedCall, ...]) -> None:
    said = family.read(text, tolerant=True, tools=ON_OFFER)
    assert said.calls == calls
    assert calls or said.text == text


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("<<function>>f(a=1)<<function>>g(b='x')", (ONE, TWO)),
        ("<<function>>f(a=1)\n<<function>>g(b='x')\n", (ONE, TWO)),
        ("Well: <<function>>api.f(a=1)", (ParsedCall("<ast.Attribute object>", '{"a": 1}'),)),
        ("<<function>>f(a=1), <<function>>g(b='x')", (TWO,)),
        ("<<function>>f(a=1) and more", ()),
        ("<<function>>f(a=1)\n\nDone", (ONE,)),
        ("<<function>>x = f(a=1)", (ONE,)),
        ("<<function>>f(1, 'x', a=1)", (ParsedCall("f", '{"a": 1, "None": [1, "x"]}'),)),
        ("<<function>>f(a=1)<<function>>broken(<<function>>g(b='x')", (ONE, TWO)),
        ("<<function>>f(a=1), g(b='x')", ()),
        ("<<function>>broken(", ()),
        ("<<function>>word", ()),
        ("f(a=1)", ()),
        ("No function fits.", ()),
        ("", ()),
    ],
)
def test_gorilla_parity_the_content_is_the_whole_reply(text: str, calls: tuple[ParsedCall, ...]) -> None:
    assert Gorilla().read(text, tolerant=False) == ParsedReply(text.strip(), calls)


@pytest.mark.parametrize(
    "text",
    [
        "<<function>>f(a=1)<<function>>g(b='x')",
        "<think>f?</think><<function>>[f(a=1)]<<function>>\ng(b='x')",
        "[f(a=1), g(b='x')]",
    ],
)
def test_gorilla_tolerant(text: str) -> None:
    assert Gorilla().read(text, tolerant=True, tools=ON_OFFER).calls == (ONE, TWO)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('f\n{"a": 1}', ParsedReply(USE_F, (ONE,))),
        ('\nf\n{"a": 1}', ParsedReply('\nf\n{"a": 1}')),
        (' f \n {"a":1} ', ParsedReply("use  f  to solve user problem", (ParsedCall(" f ", '{"a": 1}'),))),
        ('f\n{"a": 1}\nmore\n{}', ParsedReply(USE_F, (ONE,))),
        ("f\n5", ParsedReply(USE_F, (ParsedCall("f", "5"),))),
        ("f\nnull", ParsedReply(USE_F, (ParsedCall("f", "null"),))),
        ('f\n"{}"', ParsedReply(USE_F, (ParsedCall("f", "{}"),))),
        ('\n{"a": 1}', ParsedReply("use  to solve user problem", (ParsedCall("", '{"a": 1}'),))),
        ('f\n{"a": 1', ParsedReply('f\n{"a": 1')),
        ('f\n{\n"a": 1}', ParsedReply('f\n{\n"a": 1}')),
        ("f\n[1]", ParsedReply(USE_F, (ParsedCall("f", "[1]"),))),
        (
            "The number is\n3",
            ParsedReply("use The number is to solve user problem", (ParsedCall("The number is", "3"),)),
        ),
        ("The number is\nthree", ParsedReply("The number is\nthree")),
        ('f {"a": 1}', ParsedReply('f {"a": 1}')),
        ("No function fits.", ParsedReply("No function fits.")),
        ("", ParsedReply("")),
    ],
)
def test_glm4_parity(text: str, said: ParsedReply) -> None:
    assert Glm4().read(text, tolerant=False) == said


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('f\n{"a": 1}', (ONE,)),
        ('I look it up.\n\nf\n{\n  "a": 1\n}\ng\n{"b": "x"}\nDone.', (ONE, TWO)),
        ('<think>g\n{"b": 2}</think>f\n{"a": 1}', (ONE,)),
        ('f\n{"a": 1\n}', (ONE,)),
        ('{"name": "f", "arguments": {"a": 1}}', (ONE,)),
        ('f\n{"a":', ()),
        ("The number is\n3", ()),
    ],
)
def test_glm4_tolerant(text: str, calls: tuple[ParsedCall, ...]) -> None:
    said = Glm4().read(text, tolerant=True, tools=ON_OFFER)
    assert said.calls == calls
    assert calls or said.text == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '<tool_calls>[{"name": "f", "arguments": {"a":1}}, {"name": "g", "arguments": {"b": "x"}}]</tool_calls>',
            ParsedReply(None, (ONE, TWO)),
        ),
        (
            '<think>g?</think>\n<tool_calls>\n[{"name": "f", "arguments": {"a": 1}}]\n</tool_calls>\n',
            ParsedReply(None, (ONE,)),
        ),
        ('<tool_calls>[{"name": "f", "arguments": {"a": 1}}', ParsedReply(None, (ONE,))),
        (
            '<tool_calls>[{"name": "f", "arguments": {"a": 1',
            ParsedReply('<tool_calls>[{"name": "f", "arguments": {"a": 1'),
        ),
        ("<tool_calls>[{]</tool_calls>", ParsedReply(None)),
        ('<tool_calls>{"name": "f", "arguments": {}}</tool_calls>', ParsedReply(None, (ParsedCall("f", "{}"),))),
        ('<tool_calls>[{"name": "f"}]</tool_calls>', ParsedReply(None, (ParsedCall("f", "{}"),))),
        ("Assistant: No function fits.", ParsedReply("No function fits.")),
        ("Assistant:No function fits.", ParsedReply("No function fits.")),
        ("No function fits.", ParsedReply("No function fits.")),
        ("I said Assistant: no.", ParsedReply("I said Assistant: no.")),
        ("", ParsedReply("")),
    ],
)
def test_prompt_parity(text: str, said: ParsedReply) -> None:
    assert PromptOnly().read(text, tolerant=False) == said


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('I try <tool_calls>[{"name": "f", "arguments": {"a": 1}}]</tool_calls> now.', (ONE,)),
        ('```json\n[{"name": "f", "parameters": {"a": 1}}]\n```', (ONE,)),
        ('<tool_calls>[{"name": "f", "arguments": {"a": 1}}]', (ONE,)),
        (
            (
                '<tool_calls>{"name": "f", "arguments": {"a": 1}}</tool_calls><tool_calls>{"name": "g", "arguments":'
                ' {"b": "x"}}</tool_calls>'
            ),
            (ONE, TWO),
        ),
    ],
)
def test_prompt_tolerant(text: str, calls: tuple[ParsedCall, ...]) -> None:
    said = PromptOnly().read(text, tolerant=True, tools=ON_OFFER)
    assert said.calls == calls
    assert calls or said.text == text


@pytest.mark.parametrize("family", FAMILIES)
def test_blank_replies_say_nothing(family: Format) -> None:
    for text in ("", " \n", "<think>hm</think>"):
        assert family.read(text, tolerant=True, tools=ON_OFFER) == ParsedReply(None)


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_round_trip(family: Format) -> None:
    for text in ("Which day?", "", "two\nlines", " a (b) [c] "):
        back = family.read(family.write(ParsedReply(text)), tolerant=False)
        assert back == ParsedReply(text.strip() if isinstance(family, Gorilla) else text)
    assert family.read(family.write(ParsedReply("Which day?")), tolerant=True) == ParsedReply("Which day?")
    assert family.read(family.write(ParsedReply(None)), tolerant=False) == ParsedReply("")


@pytest.mark.parametrize(
    ("family", "said"),
    [
        *(
            (family, said)
            for family in LISTS
            for said in (ParsedReply("[f()]"), ParsedReply("[not a call]"), ParsedReply("t", (ONE,)))
        ),
        (Gorilla(), ParsedReply("<<function>>f()")),
        (Gorilla(), ParsedReply("t", (ONE,))),
        (Gorilla(), ParsedReply(None, (ParsedCall("f", '{"None": [1]}'),))),
        (Gorilla(), ParsedReply(None, (ParsedCall("f", '{"a": "<<function>>"}'),))),
        (Glm4(), ParsedReply(None, (ONE, TWO))),
        (Glm4(), ParsedReply("t", (ONE,))),
        (Glm4(), ParsedReply("f\n{}")),
        (Glm4(), ParsedReply(None, (ParsedCall("f\ng", "{}"),))),
        (PromptOnly(), ParsedReply("t", (ONE,))),
    ],
)
def test_what_cannot_be_written(family: Format, said: ParsedReply) -> None:
    with pytest.raises(ValueError, match="cannot"):
        family.write(said)


def test_gorilla_writes_its_own_reply() -> None:
    said = Gorilla().read("<<function>>f(a=1)", tolerant=False)
    assert Gorilla().write(said) == Gorilla().write(ParsedReply(None, said.calls)) == said.text


def test_arguments_are_written_in_one_form() -> None:
    assert Glm4().write(ParsedReply(None, (ParsedCall("f", '{"a":1}'),))) == 'f\n{"a": 1}'
    assert (
        PromptOnly().write(ParsedReply(None, (ParsedCall("f", '{"a":1}'),)))
        == '<tool_calls>[{"name": "f", "arguments": {"a": 1}}]</tool_calls>'
    )
    assert ToolAce().write(ParsedReply(None, (ParsedCall("f", '{"a":1}'),))) == "[f(a=1)]"


WORDS = st.text(st.sampled_from("ab 9,.:-äß火"), max_size=8)
ARGUMENT_VALUES = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)
ARGUMENTS = st.dictionaries(st.sampled_from(["a", "b_1", "trainNo"]), ARGUMENT_VALUES, max_size=3)
CALLS = st.builds(
    ParsedCall,
    st.sampled_from(["f", "find_trains", "delayInfo"]),
    ARGUMENTS.map(lambda a: json.dumps(a, ensure_ascii=False)),
)


@pytest.mark.parametrize("family", FAMILIES)
@settings(derandomize=True, deadline=None, max_examples=40)
@given(calls=st.lists(CALLS, min_size=1, max_size=3))
def test_calls_round_trip(family: Format, calls: list[ParsedCall]) -> None:
    called = tuple(calls[:1] if isinstance(family, Glm4) else calls)
    written = family.write(ParsedReply(None, called))
    for tolerant in (False, True):
        said = family.read(written, tolerant=tolerant, tools=ON_OFFER)
        assert said.calls == called
        beside = None if tolerant or isinstance(family, PromptOnly) else using(call.name for call in called)
        assert said.text == (written if isinstance(family, Gorilla) else beside)


PIECES = [
    "f",
    "a",
    "1",
    "1e999",
    "9**9",
    "from",
    '{"name": "f", "arguments": {}}',
    '"name"',
    '"arguments"',
    'f\n{"a": ',
    "[f(",
]
MARKS = ["<<function>>", "<tool_calls>", "</tool_calls>", "<think>", "</think>", "```json\n", "Assistant:"]
DEEP = ["[" * 3000, "{" * 3000, '{"a":' * 3000]
TOKENS = st.lists(st.sampled_from([*"[](){}=,.:'\"\\\n \0\ud800-*/+", *PIECES, *MARKS, *DEEP]), max_size=12)


@pytest.mark.parametrize("family", FAMILIES)
@settings(derandomize=True, deadline=None, max_examples=50)
@given(text=TOKENS.map("".join))
def test_reading_never_raises(family: Format, text: str) -> None:
    for tolerant in (False, True):
        said = family.read(text, tolerant=tolerant, tools=ON_OFFER)
        assert said.text is None or isinstance(said.text, str)
        assert all(isinstance(call.name, str) and isinstance(call.arguments, str) for call in said.calls)
