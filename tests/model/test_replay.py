"""Earlier messages as endpoints get them: what they sent goes back as it came, everything else fits."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgauge.core.chat import ChatReply, ChatRequest, MadeId, Message
from agentgauge.core.errors import ModelFault
from agentgauge.core.reply_ends import is_filter_error
from agentgauge.model.client import OpenAIModel
from agentgauge.model.files.references import holds_files
from agentgauge.model.presets import resolve
from agentgauge.model.providers import Quirks, quirks_after
from agentgauge.model.replay import Needs, fitted
from agentgauge.model.spec import ModelSpec
from agentgauge.model.wire import read_reply, request_body
from tests.model.fault_server import Act, FaultServer, Seen, answer, data, tool_call
from tests.model.talking import talk_to

USER = {"role": "user", "content": "q"}
TOOL = {"type": "function", "function": {"name": "find.it", "parameters": {"type": "object"}}}
SPEC = resolve("m", url="http://localhost:1/v1", environ={})
NINE = re.compile("[a-zA-Z0-9]{9}")


def calls(*ids: Any, arguments: Any = "{}", name: str = "f", **message: Any) -> dict[str, Any]:
    made = [{"id": id, "type": "function", "function": {"name": name, "arguments": arguments}} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": made, **message}


def result(id: Any, text: str = "r") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": text}


def sent(*messages: Message, needs: Needs = Needs()) -> list[dict[str, Any]]:  # noqa: B008 - frozen
    return fitted(ChatRequest(messages, tools=(TOOL,)), Quirks(), needs)


def ids(messages: list[dict[str, Any]]) -> list[str]:
    """Each call's, and after it each result's."""
    found = [[call["id"] for call in message.get("tool_calls", ())] for message in messages]
    return [id for message, own in zip(messages, found, strict=True) for id in own or [message["tool_call_id"]]]


@pytest.mark.parametrize(
    ("messages", "kept"),
    [
        ([calls("abc123XYZ"), result("abc123XYZ")], ["abc123XYZ"] * 2),
        ([calls("functions.f:0"), result("functions.f:0")], ["functions.f:0"] * 2),
        ([calls(MadeId("call_1")), result(MadeId("call_1"))], [None] * 2),
        ([calls("same", "same"), result("same"), result("same")], ["same", None, "same", None]),
        ([calls("a", "b"), result("b"), result("a")], ["a", "b", "b", "a"]),
        ([calls("c"), result("c"), calls("c"), result("c")], ["c", "c", None, None]),
        ([calls(None), result(None)], [None, None]),
        ([calls("", "b", ""), result(""), result("b"), result("")], ["", "b", "", "", "b", ""]),
    ],
)
def test_every_call_has_an_id_of_its_own_and_its_result_has_the_same(messages: Any, kept: list[str | None]) -> None:
    found = ids(sent(*messages))
    for id, old in zip(found, kept, strict=True):
        assert NINE.fullmatch(id) if old is None else id == old
    asked = [id for message in sent(*messages) for id in [call["id"] for call in message.get("tool_calls", ())]]
    answered = [message["tool_call_id"] for message in sent(*messages) if message["role"] == "tool"]
    named = [id for id in asked if id]  # an endpoint that has sent an empty id gets it back
    assert len(set(named)) == len(named) and sorted(answered) == sorted(asked)


def test_ids_do_not_change_as_a_conversation_grows() -> None:
    first = [USER, calls(MadeId("call_1")), result(MadeId("call_1"))]
    assert sent(*first, calls(MadeId("call_3")))[:3] == sent(*first)


@pytest.mark.parametrize(
    ("arguments", "goes"),
    [
        ('{"a":  1}', '{"a":  1}'),
        ('{"a": "<think>\\n"}', '{"a": "<think>\\n"}'),
        ({"a": "ü"}, '{"a": "ü"}'),
        ('"{\\"a\\": 1}"', '{"a": 1}'),
        (None, "{}"),
        ("", "{}"),
        ("[1]", "{}"),
        ("3", "{}"),
        ('{"a": ', "{}"),
        ('{"a": NaN}', "{}"),
        ('"text"', "{}"),
        ("[" * 100_000, "{}"),
    ],
)
def test_arguments_are_the_text_of_an_object(arguments: Any, goes: str) -> None:
    (message,) = sent(calls("c", arguments=arguments))
    assert message["tool_calls"][0]["function"]["arguments"] == goes


@pytest.mark.parametrize(
    ("name", "goes"),
    [("find.it", "find.it"), ("get-it", "get-it"), ("f<|channel|>x", "f__channel__x"), ("a b", "a_b"), ("", "_"),
     ("n" * 70, "n" * 64)],
)  # fmt: skip
def test_names_have_the_letters_that_endpoints_accept(name: str, goes: str) -> None:
    (message,) = sent(calls("c", name=name))
    assert message["tool_calls"][0]["function"]["name"] == goes


@pytest.mark.parametrize(
    ("message", "goes"),
    [
        ({"role": "assistant", "content": ""}, []),
        ({"role": "assistant", "content": None}, []),
        ({"role": "assistant", "content": None, "reasoning": "hm"}, [("", "hm")]),
        ({"content": "a reply's own message"}, [("a reply's own message", None)]),
    ],
)
def test_a_message_without_content_is_left_out(message: Message, goes: list[Any]) -> None:
    found = sent(message)
    assert [(one["content"], one.get("reasoning")) for one in found] == goes
    assert all(one["role"] == "assistant" for one in found)


def test_the_benchmarks_own_messages_are_not_changed() -> None:
    message = calls("c", "c", arguments=None)
    sent(message, needs=Needs(thinking=frozenset({"reasoning"}), signature=True))
    assert message == calls("c", "c", arguments=None)


THINKING = {
    "DeepSeek": "The `reasoning_content` in the thinking mode must be passed back to the API.",
    "DeepSeek, earlier": "Missing `reasoning_content` field in the assistant message at message index 2. See https://x",
    "Kimi": "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
    "a gateway": r'{"error": {"metadata": {"raw": "{\"message\": \"Missing a \\\"reasoning_content\\\" field\"}"}}}',
}


@pytest.mark.parametrize("words", THINKING.values(), ids=THINKING)
def test_messages_of_others_get_the_thinking_that_is_asked_for(words: str) -> None:
    needs = Needs().after(words, [USER, calls("c")])
    assert needs == Needs(thinking=frozenset({"reasoning_content"}))
    own, gold, text = sent(
        calls("a", reasoning_content=""), calls("b"), {"role": "assistant", "content": "t"}, needs=needs
    )
    assert (own["reasoning_content"], gold["reasoning_content"].strip()) == ("", "")
    assert gold["reasoning_content"] and text["reasoning_content"]


GOOGLE = "Unable to submit: function call `default_api:a` in the 2. content block is missing a `thought_signature`."


def test_calls_of_others_get_a_signature_where_it_is_asked_for() -> None:
    needs = Needs().after(GOOGLE, [USER, calls("c")])
    assert needs == Needs(signature=True)
    signed = {"extra_content": {"google": {"thought_signature": "own"}}}
    own = calls("a")
    own["tool_calls"][0] |= signed
    first, second = sent(own, calls("b", "c"), needs=needs)
    assert first["tool_calls"][0]["extra_content"] == signed["extra_content"]
    made = {"google": {"thought_signature": "skip_thought_signature_validator"}}
    assert [call.get("extra_content") for call in second["tool_calls"]] == [made, None]


REFUSED = {
    "Groq": "'messages.2' : for 'role:assistant' [('messages.2' : property 'reasoning' is unsupported)]",
    "Groq, by model": "messages[2].reasoning: reasoning is not supported with this model",
    "Cerebras": "messages.2.assistant.reasoning: property 'messages.2.assistant.reasoning' is unsupported",
    "OpenAI": "Unknown parameter: 'messages[2].reasoning'.",
    "Mistral": '{"detail": [{"type": "extra_forbidden", "loc": ["body", "messages", 2, "assistant", "reasoning"]}]}',
    "DeepSeek R1": "The reasoning is an intermediate result. Please remove the reasoning from your message.",
    "a proxy": "messages[2] must not contain reasoning",
    "JSON Schema": "Additional properties are not allowed ('reasoning' was unexpected) - 'messages.2'",
}


@pytest.mark.parametrize("words", REFUSED.values(), ids=REFUSED)
def test_a_refused_field_is_dropped(words: str) -> None:
    messages = [USER, calls("c", reasoning="hm", reasoning_details=[1])]
    needs = Needs().after(words, messages)
    assert needs == Needs(dropped=frozenset({"reasoning"}))
    assert set(sent(*messages, needs=needs)[1]) == {"role", "content", "tool_calls", "reasoning_details"}
    assert needs.after(words, messages) == needs, "asked again, it is no news"


@pytest.mark.parametrize(
    "words",
    ["", "Unknown parameter: 'top_p'.", "max_tokens is required", "Missing required parameter: 'messages'.",
     "The tool `find` is not supported"],
)  # fmt: skip
def test_other_refusals_change_nothing(words: str) -> None:
    assert Needs().after(words, [USER, calls("c", reasoning="hm")]) == Needs()


def test_the_order_of_mistral() -> None:
    messages = [USER, calls("abc123XYZ"), result("abc123XYZ"), {"role": "user", "content": "sum up"}]
    refusal = '{"message":"Unexpected role \'user\' after role \'tool\'","code":"3230"}'
    needs = Needs().after(refusal, messages)
    roles = ["user", "assistant", "tool", "assistant", "user"]
    assert [message["role"] for message in sent(*messages, needs=needs)] == roles
    mistral = resolve("mistral/mistral-large-latest", environ={"MISTRAL_API_KEY": "k"})
    assert [message["role"] for message in request_body(mistral, ChatRequest(tuple(messages)))["messages"]] == roles
    assert [message["role"] for message in sent(*messages)] == ["user", "assistant", "tool", "user"]


@pytest.mark.parametrize(
    "words",
    [
        "messages: text content blocks must be non-empty",
        "messages.1: text content blocks must contain non-whitespace text",
        "The text field in the ContentBlock object at messages.1.content.0 is blank. Add text to the text field.",
        "Invalid request: the content of the message at position 1 must not be empty",
        "messages.1: all messages must have non-empty content except for the optional final assistant message",
        "Unable to submit request because it has an empty text parameter. Add a value to the parameter.",
        "Each message must have at least one content element.",
    ],
)
def test_empty_texts_are_not_repeated_where_they_are_refused(words: str) -> None:
    messages = [USER, calls("c", content=""), result("c", "")]
    needs = Needs().after(words, messages)
    assert needs == Needs(empty_text=False)
    assert [message["content"] for message in sent(*messages, needs=needs)] == ["q", None, "(empty)"]
    assert [message["content"] for message in sent(*messages)] == ["q", "", ""]


@pytest.mark.parametrize(
    "words",
    [
        "invalid message content type: <nil>",
        "messages[1]: content is required",
        "Invalid value for 'content': expected a string, got null.",
        "messages.1.content: Input should be a valid string",
    ],
)
def test_a_null_content_is_not_repeated_where_it_is_refused(words: str) -> None:
    messages = [USER, calls("c"), result("c", "")]
    needs = Needs().after(words, messages)
    assert needs == Needs(null_content=False)
    assert [message["content"] for message in sent(*messages, needs=needs)] == ["q", "", ""]


def test_roles_alternate_where_a_template_demands_it() -> None:
    two = {"role": "assistant", "content": "t"}
    messages = [USER, USER, calls("c"), result("c"), USER, two, two, USER]
    needs = Needs().after("Conversation roles must alternate user/assistant/user/assistant/...", messages)
    found = sent(*messages, needs=needs)
    assert [message["content"] for message in found] == ["q\n\nq", None, "r", "OK.", "q", "t\n\nt", "q"]
    assert [message["content"] for message in sent(*messages)] == ["q", "q", None, "r", "q", "t", "t", "q"]


@pytest.mark.parametrize("empty", [[], None])
def test_a_message_has_no_fields_without_a_value(empty: Any) -> None:
    message = {"role": "assistant", "content": "t", "tool_calls": empty, "function_call": None, "refusal": None}
    assert sent(USER, message)[1] == {"role": "assistant", "content": "t"}


def test_a_model_cannot_name_a_local_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("secret")
    part = {"type": "local_file", "kind": "file", "path": str(tmp_path / "a"), "name": "a", "instead": ""}
    assert holds_files([{"role": "user", "content": [part]}])
    assert not holds_files([{"role": "assistant", "content": [part, {"type": "local_file"}]}])


# -- against an endpoint


def ask(spec: ModelSpec, *requests: ChatRequest) -> list[ChatReply]:
    async def talk(model: OpenAIModel) -> list[ChatReply]:
        return [await model.complete(request) for request in requests]

    replies: list[ChatReply] = talk_to(spec, talk)
    return replies


def refusing(rule: Callable[[Mapping[str, Any]], str], **message: Any) -> Callable[[Seen], Act]:
    """An endpoint that refuses a message of the assistant by a rule, in words."""

    def choose(seen: Seen) -> Act:
        for one in seen.body["messages"]:
            if one["role"] == "assistant" and (words := rule(one)):
                return data([{"error": {"message": words, "code": 400}}], code=400)
        return answer("done", **message)

    return choose


@pytest.mark.parametrize(
    "rule",
    [
        lambda one: "" if one.get("reasoning_content") else THINKING["DeepSeek"],
        lambda one: "" if "extra_content" in one["tool_calls"][0] else "x" * 300 + GOOGLE,
        lambda one: REFUSED["Groq"] if "reasoning" in one else "",
        lambda one: "" if NINE.fullmatch(one["tool_calls"][0]["id"]) else
        "Tool call id was my_own but must be a-z, A-Z, 0-9, with a length of 9.",
    ],
    ids=["thinking", "signature", "unsupported", "ids"],
)  # fmt: skip
def test_what_a_refusal_asks_for_is_done_at_once_and_from_then_on(rule: Callable[[Mapping[str, Any]], str]) -> None:
    request = ChatRequest((USER, calls("my_own", reasoning="hm"), result("my_own")), tools=(TOOL,))
    with FaultServer(choose=refusing(rule)) as server:
        replies = ask(replace(SPEC, url=server.url), request, request)
        assert [reply.text for reply in replies] == ["done", "done"]
        assert len(server.requests) == 3


def test_a_refusal_that_does_not_end_is_a_fault() -> None:
    request = ChatRequest((USER, calls("c"), result("c")), tools=(TOOL,))
    with FaultServer(choose=refusing(lambda one: THINKING["DeepSeek"])) as server:
        with pytest.raises(ModelFault, match="must be passed back"):
            ask(replace(SPEC, url=server.url), request)
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("words", "left_out", "instead"),
    [
        ("litellm.UnsupportedParamsError: anthropic does not support parameters: ['seed'], for model=m.", "seed", {}),
        ("Argument not supported on this model: stop", "stop", {}),
        ("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
         "max_tokens", {"max_completion_tokens": 9}),
        ('[{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]', "seed", {}),
    ],
)  # fmt: skip
def test_a_parameter_that_is_refused_is_left_out(words: str, left_out: str, instead: dict[str, int]) -> None:
    def choose(seen: Seen) -> Act:
        return data({"error": {"message": words}}, code=400) if left_out in seen.body else answer("So.\nObservation: x")

    request = ChatRequest((USER,), seed=3, repeated=True, max_tokens=9, stop=("\nObservation",))
    with FaultServer(choose=choose) as server:
        replies = ask(replace(SPEC, url=server.url), request, request)
        assert [left_out in seen.body for seen in server.requests] == [True, False, False]
        expected = {"seed": 3, "max_tokens": 9, "stop": ["\nObservation"], **instead}
        del expected[left_out]
        assert {key: server.requests[-1].body.get(key) for key in expected} == expected
    assert {reply.text for reply in replies} == {"So." if left_out == "stop" else "So.\nObservation: x"}


@pytest.mark.parametrize(
    "words", ["reasoning_effort is required", "A reason is required", "thinking_budget is missing"]
)
def test_what_a_request_lacks_is_no_thinking_of_a_message(words: str) -> None:
    assert Needs().after(words, [{"role": "assistant", "content": "x"}]) == Needs()


@pytest.mark.parametrize(
    "words",
    [
        "Unsupported model. Please stop the server and retry",
        "tool_choice not supported; finish_reason must be stop",
        "logprobs is not supported with seed set",
    ],
)
def test_a_word_that_is_no_parameter_changes_no_request(words: str) -> None:
    assert quirks_after(words, Quirks()) == Quirks()


@pytest.mark.parametrize("words", ["a" * 200_000, "missing " * 50_000, "requires moderation " * 50_000])
def test_a_long_refusal_costs_little(words: str) -> None:
    clock = time.process_time()
    Needs().after(words, [{"role": "assistant", "content": "x"}])
    is_filter_error(500, {"error": {"message": words}})
    assert time.process_time() - clock < 2  # seconds; what looks from every character takes minutes


def test_a_temperature_that_is_refused_is_a_fault_that_says_what_to_set() -> None:
    words = "Unsupported value: 'temperature' does not support 0.0 with this model."
    with FaultServer(choose=lambda seen: data({"error": {"message": words}}, code=400)) as server:
        with pytest.raises(ModelFault, match=r"to send none, set quirks\.temperature = false"):
            ask(replace(SPEC, url=server.url), ChatRequest((USER,), temperature=0.0))
        assert len(server.requests) == 1


PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "So."}]


@pytest.mark.parametrize(
    ("message", "reasoning", "extra"),
    [
        ({"reasoning_content": "hm"}, "hm", {"reasoning_content": "hm"}),
        ({"reasoning": "hm", "reasoning_content": None}, "hm", {"reasoning": "hm"}),
        ({"reasoning_details": [{"text": "hm"}]}, None, {"reasoning_details": [{"text": "hm"}]}),
        ({"extra_content": {"google": {}}}, None, {"extra_content": {"google": {}}}),
        ({"reasoning_content": ""}, None, {"reasoning_content": ""}),
        ({"content": PARTS}, "hm", {"content": PARTS}),
        ({"content": [{"type": "text", "text": "So."}]}, None, {}),
        ({"refusal": None, "role": "assistant", "audio": None}, None, {}),
    ],
)
def test_what_a_message_holds_besides_goes_back_as_it_came(
    message: dict[str, Any], reasoning: str | None, extra: dict[str, Any]
) -> None:
    full = {"content": "So.", "tool_calls": [tool_call("f", "{}")], **message}
    reply = read_reply({"choices": [{"message": full}]}, SPEC)
    assert isinstance(reply, ChatReply)
    assert (reply.text, reply.content, reply.reasoning, reply.extra) == ("So.", "So.", reasoning, extra)
    again = json.loads(json.dumps(sent(USER, {"role": "assistant", **reply.message})[1]))
    plain = {"role": "assistant", "content": "So.", "tool_calls": [tool_call("f", "{}")]}
    assert again == {**plain, **extra}


GIVEN = st.one_of(
    st.sampled_from(["call_1", "abc123XYZ", "", None]), st.builds(MadeId, st.sampled_from(["call_1", "x"]))
)
TURNS = st.lists(st.lists(st.tuples(GIVEN, st.text(max_size=5), st.text(max_size=8)), max_size=3), max_size=5)


@given(TURNS)
def test_any_conversation_fits(turns: list[list[tuple[Any, str, str]]]) -> None:
    """As many results as calls, each behind its own call, whatever a model has written."""
    messages: list[dict[str, Any]] = [USER]
    for turn in turns:
        made = [
            call | {"function": {"name": name, "arguments": arguments}}
            for call, (_, name, arguments) in zip(calls(*(id for id, *_ in turn))["tool_calls"], turn, strict=True)
        ]
        messages += [{"role": "assistant", "content": "t", "tool_calls": made}, *(result(id) for id, *_ in turn)]
    found = sent(*messages)
    seen = set[str]()
    for place, message in enumerate(found):
        own = [call["id"] for call in message.get("tool_calls") or ()]
        assert own == [one["tool_call_id"] for one in found[place + 1 : place + 1 + len(own)]]
        named = [id for id in own if id]
        assert len(set(named)) == len(named) and not seen & set(named)
        seen |= set(named)
        assert all(
            isinstance(json.loads(call["function"]["arguments"]), dict) for call in message.get("tool_calls") or ()
        )
