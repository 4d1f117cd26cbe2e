"""Families that write their calls as JSON, most of them with a chat template of the server."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgauge.agent.dialects.format import MISSING, Format, ParsedCall, ParsedReply, RenderedRequest
from agentgauge.agent.dialects.json_prompts import Xlam, Xlam2
from agentgauge.agent.dialects.templated import PLACEHOLDER, DeepSeek, Functionary, Hammer, Llama, Qwen
from agentgauge.agent.react import Reacting
from tests.dialects.offers import tools

pytestmark = pytest.mark.slow

FAMILIES: list[Format] = [Qwen(), Llama(), Xlam(), Xlam2(), Hammer(), Functionary(), DeepSeek(), Reacting()]
NAMES = ["qwen", "llama", "xlam", "xlam2", "hammer", "functionary", "deepseek", "react"]
QWEN, LLAMA, XLAM, XLAM2, HAMMER, FUNCTIONARY, DEEPSEEK, REACT = FAMILIES

FIND: dict[str, Any] = {
    "name": "findTrains",
    "description": "Trains of a day, 列车",
    "parameters": {"type": "object", "properties": {"origin": {"type": "string"}}, "required": ["origin"]},
}
TOOLS = ({"type": "function", "function": FIND},)
ON_OFFER = tools("f", "g")
DATE = "Current Date: 2024-05-20 Monday"
CUT = '{"type": "function", "name": "f", "parameters": {'
F, G = ParsedCall("f", '{"a": "é"}'), ParsedCall("g", "{}")


def call(id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def tool(id: str, content: str, **more: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content, **more}


CALLS = [call("1", "f", '{"a": "é"}'), call("2", "g", "{}")]
SYSTEM, FIRST, SECOND = (
    {"role": "system", "content": DATE},
    {"role": "user", "content": "One?"},
    {"role": "user", "content": "Two?"},
)
SAID: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": CALLS}
ANSWER = {"role": "assistant", "content": "Both."}
AGAIN: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": [call("3", "g", "{}")]}
MESSAGES = [SYSTEM, FIRST, SAID, tool("1", '{"é": 1}'), tool("2", "none"), ANSWER, SECOND, AGAIN, tool("3", "5")]


def test_qwen_and_functionary_name_the_functions_of_results() -> None:
    named = (tool("1", '{"é": 1}', name="f"), tool("2", "none", name="g"))
    expected = RenderedRequest((SYSTEM, FIRST, SAID, *named, ANSWER, SECOND, AGAIN, tool("3", "5", name="g")), TOOLS)
    assert QWEN.request(MESSAGES, TOOLS) == expected
    assert FUNCTIONARY.request(MESSAGES, TOOLS) == expected
    assert DEEPSEEK.request(MESSAGES, TOOLS) == expected


def test_llama_gets_the_date_as_an_argument_and_calls_one_by_one() -> None:
    sent = LLAMA.request(MESSAGES, TOOLS)
    alone = [{**SAID, "tool_calls": [one]} for one in CALLS]
    first, second = tool("1", '{"é": 1}', name="f"), tool("2", "none", name="g")
    assert list(sent.messages) == [
        FIRST,
        alone[0],
        first,
        alone[1],
        second,
        ANSWER,
        SECOND,
        AGAIN,
        tool("3", "5", name="g"),
    ]
    assert (sent.tools, sent.template, sent.raw) == (TOOLS, {"date_string": "2024-05-20 Monday"}, True)
    assert LLAMA.request([{"role": "system", "content": "Be kind."}, FIRST], ()) == RenderedRequest(
        ({"role": "system", "content": "Be kind."}, FIRST)
    )


def test_llama_keeps_results_apart_where_ids_come_again() -> None:
    again: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": [call("1", "g", "{}")]}
    sent = LLAMA.request([FIRST, SAID, tool("2", "b"), tool("1", "a"), SECOND, again, tool("1", "c")], ())
    told = [(one.get("name"), one["content"]) for one in sent.messages if one["role"] == "tool"]
    assert told == [("f", "a"), ("g", "b"), ("g", "c")]


def test_xlam2_gathers_results_and_has_the_date_behind_the_last_question() -> None:
    sent = XLAM2.request(MESSAGES, TOOLS)
    gathered = tool("1", '[{"é": 1}, "none"]', name="f")
    asked = {"role": "user", "content": f"Two?\n{DATE}"}
    assert list(sent.messages) == [FIRST, SAID, gathered, ANSWER, asked, AGAIN, tool("3", "[5]", name="g")]


def test_hammer_tells_results_of_the_running_task_as_the_user() -> None:
    sent = HAMMER.request(MESSAGES, TOOLS)
    past = {"role": "tool", "content": '[{"name": "f", "results": {"\\u00e9": 1}}, {"name": "g", "results": "none"}]'}
    running = {"role": "user", "content": '[{"name": "g", "results": 5}]'}
    assert list(sent.messages) == [SYSTEM, FIRST, SAID, past, ANSWER, SECOND, AGAIN, running]


def test_xlam_puts_everything_into_one_message() -> None:
    (message,) = Xlam(prompt="{system}|{tools}|{query}|{history}").request(MESSAGES, TOOLS).messages
    system, tools, query, history = message["content"].split("|")
    assert (message["role"], system, query) == ("user", f"{DATE}\n\n", "Two?")
    assert json.loads(tools) == [
        {"name": "findTrains", "description": "Trains of a day, 列车", "parameters": {"origin": {"type": "string"}}}
    ]
    steps = json.loads(history.splitlines()[1])
    assert [step["step_id"] for step in steps] == [1, 2, 3, 4]
    assert steps[0]["user_input"] == "One?"
    assert steps[1]["tool_calls"] == [{"name": "f", "arguments": {"a": "é"}}, {"name": "g", "arguments": {}}]
    assert steps[1]["next_observation"] == '[{"é": 1}, "none"]'
    assert (steps[2]["thought"], steps[3]["next_observation"]) == ("Both.", "[5]")
    (alone,) = XLAM.request([SECOND], TOOLS).messages
    assert "HISTORY" not in alone["content"]
    assert '{"tool_calls": [{"name": ' in alone["content"]


def test_react_has_one_system_message_and_results_behind_their_mark() -> None:
    sent = Reacting(prompt="P {tools}").request(MESSAGES, TOOLS)
    assert [(message["role"], message["content"]) for message in sent.messages] == [
        ("system", f"P {json.dumps(FIND, ensure_ascii=False)}\n\n{DATE}"),
        ("user", "One?"),
        ("assistant", 'Action: f\nAction Input: {"a": "é"}\nAction: g\nAction Input: {}'),
        ("user", 'Response: {"é": 1}\nResponse: none'),
        ("assistant", "Final Answer:Both."),
        ("user", "Two?"),
        ("assistant", "Action: g\nAction Input: {}"),
        ("user", "Response: 5"),
    ]


@pytest.mark.parametrize("family", FAMILIES, ids=NAMES)
def test_a_request_changes_nothing_and_needs_little(family: Format) -> None:
    before = json.dumps(MESSAGES)
    family.request(MESSAGES, TOOLS)
    assert json.dumps(MESSAGES) == before
    for messages in (
        [],
        [{"role": "user", "content": None}],
        [tool("1", "late")],
        [{"role": "user", "content": [{"type": "text", "text": "part"}]}],
    ):
        assert isinstance(family.request(messages, ()), RenderedRequest)


def deepseek(*calls: str, kind: str = "function<｜tool▁sep｜>") -> str:
    blocks = "\n".join(f"<｜tool▁call▁begin｜>{kind}{one}<｜tool▁call▁end｜>" for one in calls)
    return f"<｜tool▁calls▁begin｜>{blocks}<｜tool▁calls▁end｜>"


def block(text: str) -> str:
    return f"<tool_call>\n{text}\n</tool_call>"


PARAMETERS = '{"name": "f", "parameters": {"a": "é"}}'
BOTH = '{"name": "f", "arguments": {}, "parameters": {"a": "é"}}'
USE_F, USE_FG, USE_NONE = "use f to solve user problem", "use f, g to solve user problem", "use  to solve user problem"
ONE, TWO = '{"name": "f", "arguments": {"a": "é"}}', '{"name": "g", "arguments": {}}'


TAG_F, TAG_G = '<function=f>{"a": "é"}</function>', "<function=g>{}</function>"
LLAMA_F = '{"type": "function", "name": "f", "parameters": {"a": "é"}}'
LLAMA_LIST = '["{\\"type\\": \\"function\\", \\"name\\": \\"g\\", \\"parameters\\": {}}"]'


@pytest.mark.parametrize(
    ("family", "text", "said"),
    [
        (QWEN, "Hello.<|im_end|>", ParsedReply("Hello.")),
        (QWEN, "", ParsedReply("")),
        (QWEN, "Hello.<|im_end|>\n", ParsedReply("Hello.\n")),
        (QWEN, "<|im_end|>Hello.", ParsedReply("<|im_end|>Hello.")),
        (QWEN, f"{block('')}{block(ONE)}", ParsedReply(None)),
        (QWEN, block(ONE), ParsedReply(None, (F,))),
        (QWEN, f" \n{block(ONE)}\n{block(TWO)}<|im_end|>", ParsedReply(None, (F, G))),
        (QWEN, f"Let me see.\n{block(ONE)}", ParsedReply("Let me see.\n", (F,))),
        (QWEN, block('{"name": "f", "arguments": "{\\"a\\": \\"\\u00e9\\"}"}'), ParsedReply(None, (F,))),
        (QWEN, block('{"name": "f", "arguments": "text"}'), ParsedReply(None, (ParsedCall("f", '"text"'),))),
        (QWEN, block("{broken") + block(TWO), ParsedReply(None, (G,))),
        (QWEN, block("{broken"), ParsedReply(block("{broken"))),
        # tags that are not on lines of their own
        (QWEN, f"<tool_call>{ONE}</tool_call>", ParsedReply(f"<tool_call>{ONE}</tool_call>")),
        (QWEN, block('{"name": "f"}'), ParsedReply(None)),
        (LLAMA, "Hello.", ParsedReply("Hello.")),
        # the usual form
        (LLAMA, '{"name": "f", "parameters": {"a": "é"}}', ParsedReply('{"name": "f", "parameters": {"a": "é"}}')),
        (LLAMA, LLAMA_F, ParsedReply(LLAMA_F, (F,))),
        (
            LLAMA,
            '{"type": "function", "name": "f", "arguments": {"a": "parameters"}}',
            ParsedReply(
                '{"type": "function", "name": "f", "arguments": {"a": "parameters"}}',
                (ParsedCall("f", '{"a": "parameters"}'),),
            ),
        ),
        (LLAMA, CUT, ParsedReply(CUT)),
        (LLAMA, LLAMA_LIST, ParsedReply(LLAMA_LIST, (G,))),
        (LLAMA, '[{"type": "function", "name": "g", "parameters": {}}]', ParsedReply(None)),
        (LLAMA, '{"function": {"name": "g", "parameters": {}}}', ParsedReply(None)),
        (LLAMA, '"function name parameters"', ParsedReply(None)),
        (XLAM2, "Hello.", ParsedReply("Hello.")),
        (XLAM2, f"[{ONE}]", ParsedReply(USE_F, (F,))),
        (XLAM2, f"[{ONE}, {TWO}]", ParsedReply(USE_FG, (F, G))),
        (XLAM2, "[]", ParsedReply(USE_NONE)),
        (XLAM2, f"Sure: [{ONE}]", ParsedReply(f"Sure: [{ONE}]")),
        (XLAM2, "[broken]", ParsedReply("[broken]")),
        (XLAM2, '[{"name": "f"}]', ParsedReply(USE_F, (ParsedCall("f", MISSING),))),
        (XLAM2, '[{"name": "f", "arguments": null}]', ParsedReply(USE_F, (ParsedCall("f", "null"),))),
        (XLAM2, '[{"arguments": {}}]', ParsedReply(None)),
        (XLAM2, '[{"name": 5, "arguments": {}}]', ParsedReply(None)),
        (XLAM2, "[1]", ParsedReply(None)),
        (XLAM, f'{{"tool_calls": [{ONE}, {TWO}]}}', ParsedReply(USE_FG, (F, G))),
        (XLAM, '{"tool_calls": []}', ParsedReply(USE_NONE)),
        (XLAM, f"[{ONE}]", ParsedReply(f"[{ONE}]")),
        (XLAM, "Hello.", ParsedReply("Hello.")),
        (XLAM, "{}", ParsedReply("{}")),
        (XLAM, "7", ParsedReply("7")),
        (XLAM, '{"tool_calls": null}', ParsedReply(None)),
        (XLAM, '{"tool_calls": 7}', ParsedReply(None)),
        (XLAM, '{"tool_calls": [null]}', ParsedReply(None)),
        (XLAM, '{"tool_calls": [{"arguments": {}}]}', ParsedReply(None)),
        (XLAM, '{"tool_calls": [{"name": 7, "arguments": {}}]}', ParsedReply(None)),
        (XLAM, f'{{"tool_calls": {ONE}}}', ParsedReply(None)),
        (XLAM, '{"tool_calls": {}}', ParsedReply(USE_NONE)),
        (XLAM, '{"tool_calls": ""}', ParsedReply(USE_NONE)),
        (XLAM, '{"tool_calls": [{"name": "f"}]}', ParsedReply(USE_F, (ParsedCall("f", MISSING),))),
        (XLAM, '{"tool_calls": [{"name": "f", "arguments": null}]}', ParsedReply(USE_F, (ParsedCall("f", "null"),))),
        (XLAM, '{"tool_calls": [{"name": "f", "arguments": "{}"}]}', ParsedReply(USE_F, (ParsedCall("f", "{}"),))),
        (XLAM, f'{{"tool\\u005fcalls": [{ONE}]}}', ParsedReply(f'{{"tool\\u005fcalls": [{ONE}]}}')),
        (XLAM, f'Sure: {{"tool_calls": [{ONE}]}}', ParsedReply(f'Sure: {{"tool_calls": [{ONE}]}}')),
        (XLAM, '["tool_calls"]', ParsedReply('["tool_calls"]')),
        (HAMMER, f"```\n[{ONE}, {TWO}]\n```", ParsedReply(f"```\n[{ONE}, {TWO}]\n```", (F, G))),
        (Hammer(keeps_text=True), f"```\n[{ONE}]\n```", ParsedReply(None, (F,))),
        (HAMMER, f"```\n[{PARAMETERS}]\n```", ParsedReply(f"```\n[{PARAMETERS}]\n```", (F,))),
        (HAMMER, f"```\n[{BOTH}]\n```", ParsedReply(f"```\n[{BOTH}]\n```", (F,))),
        (HAMMER, "Hello.", ParsedReply(PLACEHOLDER)),
        (HAMMER, "", ParsedReply(PLACEHOLDER)),
        (HAMMER, f"```json\n[{ONE}]\n```", ParsedReply(PLACEHOLDER)),
        (HAMMER, f"Sure. ```\n[{ONE}]\n```", ParsedReply(f"Sure. ```\n[{ONE}]\n```")),
        (HAMMER, '```\n[{"name": "f"}]\n```', ParsedReply(None)),
        (FUNCTIONARY, TAG_F + TAG_G, ParsedReply(TAG_F + TAG_G, (F, G))),
        (FUNCTIONARY, f"Well. {TAG_G}", ParsedReply(f"Well. {TAG_G}")),
        (FUNCTIONARY, f"Well. {TAG_F}{TAG_G}", ParsedReply(f"Well. {TAG_F}{TAG_G}", (G,))),
        (FUNCTIONARY, f"{TAG_F}\n{TAG_G}", ParsedReply(f"{TAG_F}\n{TAG_G}", (F,))),
        (FUNCTIONARY, f"{TAG_G} well", ParsedReply(f"{TAG_G} well", (G,))),
        (FUNCTIONARY, "<function=g></function>", ParsedReply("<function=g></function>")),
        (FUNCTIONARY, "<function=g> {}</function>", ParsedReply("<function=g> {}</function>")),
        (FUNCTIONARY, "<function=g>{}</function><function=f>", ParsedReply("<function=g>{}</function><function=f>")),
        (
            FUNCTIONARY,
            f"{TAG_G}<function=f>{{</function>{TAG_G}",
            ParsedReply(f"{TAG_G}<function=f>{{</function>{TAG_G}", (G,)),
        ),
        (FUNCTIONARY, "<function=f>{</function>", ParsedReply("<function=f>{</function>")),
        (FUNCTIONARY, "Hello.", ParsedReply("Hello.")),
        (DEEPSEEK, deepseek('f\n```json\n{"a": "é"}\n```', "g\n```json\n{}\n```"), ParsedReply(None, (F, G))),
        (DEEPSEEK, f"Both. {deepseek('g<｜tool▁sep｜>{}', kind='')}", ParsedReply("Both. ", (G,))),
        (DEEPSEEK, '<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{"a": "é"}', ParsedReply(None, (F,))),
        (DEEPSEEK, "<｜tool▁calls▁begin｜>f", ParsedReply("<｜tool▁calls▁begin｜>f")),
        (DEEPSEEK, "Hello.", ParsedReply("Hello.")),
        (REACT, 'Thought: hm\nAction: f\nAction Input: {"a": "é"}', ParsedReply("hm", (F,))),
        (
            REACT,
            'Action: f\nAction Input: {"a":\n "é"}\nThought: on\nAction: g\nAction Input: {}\nResponse: made up',
            ParsedReply(None, (F, G)),
        ),
        (REACT, "Thought: hm\nFinal Answer: done\n", ParsedReply("done")),
        (REACT, "Action: f\nAction Input: {}\nFinal Answer: no", ParsedReply("no")),
        (REACT, "Which day?", ParsedReply("Which day?")),
        (REACT, "Action: f", ParsedReply("Action: f")),
        (REACT, "Action: f\nAction Input: broken", ParsedReply(None, (ParsedCall("f", "broken"),))),
        (REACT, " \n", ParsedReply(None)),
    ],
)  # fmt: skip
def test_reading_by_the_published_rules(family: Format, text: str, said: ParsedReply) -> None:
    assert family.read(text, tolerant=False) == said


def test_hammer_keeps_a_text_that_is_judged() -> None:
    assert Hammer(keeps_text=True).read("Hello.", tolerant=False) == ParsedReply("Hello.")
    assert Hammer(keeps_text=True).read(" ", tolerant=False) == ParsedReply(PLACEHOLDER)


TOLERATED = [
    ONE,
    f"[{ONE}]",
    f"<think>f?</think>\n```json\n[{ONE}]\n```",
    f"Let me call it: {ONE}",
    "{'name': 'f', 'parameters': {'a': 'é'}}",
]


@pytest.mark.parametrize("text", TOLERATED)
@pytest.mark.parametrize("family", FAMILIES[:-1], ids=NAMES[:-1])
def test_tolerant_reading_forgives(family: Format, text: str) -> None:
    assert family.read(text, tolerant=True, tools=ON_OFFER).calls == (F,)


@pytest.mark.parametrize("family", FAMILIES, ids=NAMES)
def test_tolerant_reading_of_text(family: Format) -> None:
    assert family.read("Which day?", tolerant=True) == ParsedReply("Which day?")
    assert family.read(" \n", tolerant=True) == ParsedReply(None)
    assert family.read(family.write(ParsedReply(None, (F,))), tolerant=True, tools=ON_OFFER).calls == (F,)


def test_tolerant_reading_takes_calls_that_are_json_texts() -> None:
    """Llama's list, as the published runs read it and the oracle writes it."""
    written = LLAMA.write(ParsedReply(None, (F, G)))
    assert written.startswith('["{\\"type') and LLAMA.read(written, tolerant=True, tools=ON_OFFER).calls == (F, G)
    for text in ('["f", "{}", "[", "5"]', written.replace("f", "x").replace("g", "y"), f'{{"a": {written}}}'):
        assert LLAMA.read(text, tolerant=True, tools=ON_OFFER) == ParsedReply(text)


def test_tolerant_react_takes_a_fence() -> None:
    fenced = 'Action: f\nAction Input: ```json\n{"a": "é"}\n```'
    assert REACT.read(fenced, tolerant=True) == ParsedReply(None, (F,))


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
)
ARGUMENTS = st.dictionaries(WORDS, JSON, max_size=3).map(lambda given: json.dumps(given, ensure_ascii=False))
CALLED = st.builds(ParsedCall, st.from_regex(r"[a-z_][A-Za-z_]{0,8}", fullmatch=True), ARGUMENTS)


@pytest.mark.parametrize("family", FAMILIES, ids=NAMES)
@given(calls=st.lists(CALLED, min_size=1, max_size=3))
@settings(derandomize=True, deadline=None, max_examples=40, database=None)
def test_what_is_written_reads_back(family: Format, calls: list[ParsedCall]) -> None:
    try:
        text = family.write(ParsedReply(None, tuple(calls)))
    except ValueError:
        marks = ("Action:", "Thought:", "Final Answer:", "Response:", "</function>", "<function=", "tool_call")
        assert any(mark in one.arguments for one in calls for mark in marks)
        return
    assert family.read(text, tolerant=False).calls == tuple(calls)


@pytest.mark.parametrize(
    ("family", "said"),
    [
        (QWEN, ParsedReply(block(ONE))),
        (QWEN, ParsedReply(" ", (F,))),
        (LLAMA, ParsedReply("text", (F,))),
        (LLAMA, ParsedReply('{"type": "function", "name": "f", "parameters": {}}')),
        (XLAM2, ParsedReply("other text", (F,))),
        (XLAM2, ParsedReply("[]")),
        (XLAM, ParsedReply('{"tool_calls": []}')),
        (HAMMER, ParsedReply("text", (F,))),
        (FUNCTIONARY, ParsedReply(None, (ParsedCall("f", '{"a": "</function>"}'),))),
        (REACT, ParsedReply(None, (ParsedCall("", "{}"),))),
    ],
)
def test_what_a_syntax_cannot_hold_is_refused(family: Format, said: ParsedReply) -> None:
    with pytest.raises(ValueError, match="cannot hold"):
        family.write(said)


TOKENS = st.lists(
    st.sampled_from(
        [
            *"[]{}\",: \n`",
            *('"name"', '"arguments"', '"parameters"', '"function"', '"tool_calls"', "f", "1", "null"),
            *("<tool_call>\n", "\n</tool_call>", "<function=f>", "</function>"),
            *("```\n[{\"name\"", "\n```", "<|im_end|>"),
            *("Action: f\n", "Action Input: ", "Final Answer:", "Thought:", "<think>", "</think>", ONE, f"[{TWO}]"),
        ]
    ),
    max_size=14,
).map("".join)  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES, ids=NAMES)
@given(text=TOKENS)
@settings(derandomize=True, deadline=None, max_examples=150, database=None)
def test_any_text_is_read(family: Format, text: str) -> None:
    for tolerant in (False, True):
        said = family.read(text, tolerant=tolerant, tools=ON_OFFER)
        assert said.text is None or isinstance(said.text, str)
        assert all(isinstance(one.name, str) and isinstance(one.arguments, str) for one in said.calls)


@pytest.mark.parametrize("family", FAMILIES, ids=NAMES)
@pytest.mark.parametrize(
    "text",
    [
        "<function=a>" * 10_000,
        "</function>" * 10_000 + "<function=a>" * 10_000,
        "<function=" * 10_000,
        "<tool_call>\n" * 10_000,
        "Action:" + " " * 20_000,
        "Action: a" + "\n" * 20_000,
        f'{{"a": "{"x" * 5_000}", "b": ' * 900 + "1" + "}" * 900,
    ],
)
def test_a_reply_that_repeats_itself_costs_little(family: Format, text: str) -> None:
    clock = time.process_time()
    for tolerant in (False, True):
        assert family.read(text, tolerant=tolerant, tools=ON_OFFER).calls == ()
    assert time.process_time() - clock < 5  # seconds; a pattern that looks for its end from every tag takes hours


@pytest.mark.parametrize("family", FAMILIES, ids=NAMES)
@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 50_000, block("[" * 100_000), "<function=f>" + "[" * 100_000 + "</function>"]
)
def test_deep_nesting_is_no_crash(family: Format, text: str) -> None:
    for tolerant in (False, True):
        assert family.read(text, tolerant=tolerant, tools=ON_OFFER).calls == ()


@pytest.mark.parametrize("family", FAMILIES, ids=NAMES)
def test_a_call_as_deep_as_python_can_just_read_is_no_crash(family: Format) -> None:
    """Arguments that can be read and no more be written: where that is depends on the stack, so depths are tried."""
    for depth in range(800, 1000, 3):
        arguments = '{"a":' * depth + "1" + "}" * depth
        call = f'{{"type": "function", "name": "f", "parameters": {arguments}, "arguments": {arguments}}}'
        for text in (
            call,
            f"[{call}]",
            f'{{"tool_calls": [{call}]}}',
            block(call),
            f'```\n[{{"name": "f",{call[1:]}]\n```',
        ):
            assert family.read(text, tolerant=False).calls in ((), (ParsedCall("f", arguments.replace(":", ": ")),))
