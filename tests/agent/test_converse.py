"""A conversation of model, tools with state, and a user that another model plays."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agentgauge.agent.loop import conversation_of, converse
from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.chat import ChatReply, ChatRequest, Conversation, ConversationCall, SimulatedUser, ToolCall
from agentgauge.core.errors import ModelFault, ToolError, ToolFault
from agentgauge.core.types import Sample

SCHEMA = {"name": "book", "description": "Book.", "parameters": {"type": "object", "properties": {}}}


class Model:
    def __init__(self, *replies: ChatReply | str, name: str = "tested") -> None:
        self.replies = [ChatReply(reply) if isinstance(reply, str) else reply for reply in replies]
        self.requests: list[ChatRequest] = []
        self.name = self.fingerprint = name

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        return self.replies.pop(0)

    async def close(self) -> None: ...


def call(name: str, arguments: Any, text: str = "") -> ChatReply:
    given = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ChatReply(text, (ToolCall(name, given, f"id-{name}"),))


def cancel(state: dict[str, str], order: str) -> str:
    """Cancel an order."""
    if order not in state:
        raise ToolError(f"there is no order {order}")
    state[order] = "cancelled"
    return "done"


def look(state: dict[str, str]) -> dict[str, str]:
    """All orders."""
    return state


def breaks() -> str:
    """Break."""
    raise KeyError("x")


def talk(model: Model, *arguments: Any, users: Model | None = None, dialect: str = "native", **options: Any):
    models = {"": model, "--user-model": users or model}
    case = Case(
        Sample("0", "t", (), {}, Path("/")), 1, 0, CaseSettings(dialect), model, None, Path("/"),
        models=models.__getitem__, loop=converse,
    )  # fmt: skip
    return asyncio.run(case.converse(*arguments, **options)), case


def test_tools_change_the_state_and_their_calls_are_events() -> None:
    model = Model(call("look", {}), call("cancel", {"order": "7"}, "Wait."), "It is cancelled.")
    said, case = talk(model, "Cancel order 7", system="Be kind.", tools=[look, cancel], state={"7": "paid"})
    assert (said.text, said.turns, said.ended, said.state) == ("It is cancelled.", 3, "answer", {"7": "cancelled"})
    assert said.calls == (
        ConversationCall("look", {}, '{"7": "paid"}'),
        ConversationCall("cancel", {"order": "7"}, "done"),
    )
    assert [message["role"] for message in said.messages] == [
        "system", "user", "assistant", "tool", "assistant", "tool", "assistant"
    ]  # fmt: skip
    assert [(event.kind, event.name) for event in case.events] == [
        ("model", "tested"), ("tool", "look"), ("model", "tested"), ("tool", "cancel"), ("model", "tested")
    ]  # fmt: skip
    assert case.events[3].detail == {"arguments": {"order": "7"}, "result": [{"type": "text", "content": "done"}]}
    assert [tool["function"]["name"] for tool in model.requests[0].tools] == ["look", "cancel"]


def test_ids_of_calls_may_come_again() -> None:
    replies = [ChatReply(tool_calls=(ToolCall(name, arguments, "same"),)) for name, arguments in (
        ("look", "{}"), ("nothing", "[]"), ("cancel", '{"order": "7"}')
    )]  # fmt: skip
    said, _ = talk(Model(*replies, "Done."), "Hi", tools=[look, cancel], state={"7": "paid"})
    assert [(call.name, call.arguments) for call in said.calls] == [
        ("look", {}), ("nothing", []), ("cancel", {"order": "7"})
    ]  # fmt: skip


def test_it_is_stored_and_read_back() -> None:
    said, _ = talk(Model(call("look", {}), "Done."), "Hi", tools=[look], state={"7": "paid"})
    assert Conversation.from_json(json.loads(json.dumps(said.to_json()))) == said


@pytest.mark.parametrize(
    ("reply", "name", "arguments", "error"),
    [
        (call("cancel", {"order": "8"}), "cancel", {"order": "8"}, "there is no order 8"),
        (call("cancel", {"order": 7}), "cancel", {"order": 7}, "order is 7 and must be a string"),
        (call("cancel", {}), "cancel", {}, "it has no order"),
        (call("cancel", "{order}"), "cancel", "{order}", "invalid json format: {order}"),
        (call("delete", {"order": "7"}), "delete", {"order": "7"}, "There is no tool of that name."),
    ],
)
def test_a_wrong_call_is_an_observation(reply, name, arguments, error) -> None:
    model = Model(reply, "I cannot.")
    said, _ = talk(model, "Cancel order 8", tools=[cancel], state={"7": "paid"})
    (made,) = said.calls
    assert (made.name, made.arguments, made.result) == (name, arguments, None)
    assert made.error is not None and made.error.startswith(error)
    assert model.requests[1].messages[-1]["content"] == made.error
    assert said.state == {"7": "paid"}


def test_a_defect_of_a_tool_breaks_the_case_with_its_name() -> None:
    with pytest.raises(ToolFault, match=r"the tool breaks raised KeyError at test_converse\.py"):
        talk(Model(call("breaks", {})), "Hi", tools=[breaks])


def test_a_call_of_a_tool_that_nobody_runs_is_the_end() -> None:
    said, _ = talk(Model(call("book", {"any": [1]}, "I book.")), "Book", tools=[SCHEMA])
    assert (said.ended, said.text, said.turns) == ("call", "I book.", 1)
    assert said.calls == (ConversationCall("book", {"any": [1]}),)


def test_an_empty_reply_is_answered_and_no_call() -> None:
    said, _ = talk(Model("", "Hello."), "Hi", tools=[look], state={})
    assert (said.text, said.turns, said.calls) == ("Hello.", 2, ())


def test_turns_are_limited() -> None:
    said, _ = talk(Model(*[call("look", {})] * 3), "Hi", tools=[look], state={}, max_turns=3)
    assert (said.ended, said.turns, said.text, len(said.calls)) == ("turns", 3, "", 3)


def test_another_model_plays_the_user_until_it_is_content() -> None:
    model = Model("Which order?", call("cancel", {"order": "7"}), "Done.")
    users = Model("Cancel my order.", "Number 7.", "Thanks ###STOP###", name="actor")
    said, case = talk(model, tools=[cancel], state={"7": "paid"}, user="Have order 7 cancelled.", users=users)
    assert (said.ended, said.text, said.turns, said.state) == ("user", "Done.", 3, {"7": "cancelled"})
    assert [message["content"] for message in said.messages if message["role"] == "user"] == [
        "Cancel my order.", "Number 7.", "Thanks ###STOP###"
    ]  # fmt: skip
    last = users.requests[-1]
    assert "Have order 7 cancelled." in last.messages[0]["content"] and "###STOP###" in last.messages[0]["content"]
    assert [(message["role"], message["content"]) for message in last.messages[2:]] == [
        ("assistant", "Cancel my order."), ("user", "Which order?"), ("assistant", "Number 7."), ("user", "Done.")
    ]  # fmt: skip
    assert last.case is not None and last.case.role == "--user-model"
    assert [event.detail.get("role") for event in case.events if event.kind == "model"] == [
        "--user-model", None, "--user-model", None, None, "--user-model"
    ]  # fmt: skip
    new = [event.detail["known"] for event in case.events if event.name == "actor"]
    assert new == [0, 2, 4]  # each request to the user goes on with its last one, and so does the log


def test_the_user_answers_what_was_said_before_and_stops_with_its_own_word() -> None:
    users = Model("Bye", name="actor")
    said, _ = talk(Model("Hello."), "Hi", user=SimulatedUser("Greet.", stop="Bye"), users=users)
    assert [message["content"] for message in said.messages] == ["Hi", "Hello.", "Bye"]


def test_turns_are_limited_over_the_whole_conversation() -> None:
    said, _ = talk(Model(*"abc"), user="Chat.", users=Model(*"xyz", name="actor"), max_turns=3)
    assert (said.ended, said.turns, said.text) == ("answer", 3, "c")


def test_a_user_that_writes_nothing_is_a_fault_unless_the_tested_model_plays_it() -> None:
    with pytest.raises(ModelFault, match="the simulated user wrote nothing"):
        talk(Model("a"), user="Chat.", users=Model("", name="actor"))
    said, _ = talk(Model(""), user="Chat.")
    assert (said.ended, said.turns) == ("user", 0)


@pytest.mark.parametrize("dialect", ["react", "qwen", "prompt"])
def test_text_dialects_give_the_same_conversation(dialect: str) -> None:
    calls = {
        "react": 'Thought: hm\nAction: cancel\nAction Input: {"order": "7"}',
        "qwen": '<tool_call>\n{"name": "cancel", "arguments": {"order": "7"}}\n</tool_call>',
        "prompt": '<tool_calls>[{"name": "cancel", "arguments": {"order": "7"}}]</tool_calls>',
    }
    model = Model(calls[dialect], "Done.")
    said, _ = talk(model, "Cancel order 7", tools=[cancel], state={"7": "paid"}, dialect=dialect)
    assert (said.text, said.calls, said.state) == (
        "Done.", (ConversationCall("cancel", {"order": "7"}, "done"),), {"7": "cancelled"}
    )  # fmt: skip
    assert [message["role"] for message in said.messages] == ["user", "assistant", "tool", "assistant"]


@pytest.mark.parametrize("dialect", ["native", "qwen", "react"])
def test_a_content_filter_ends_a_conversation_without_a_word_of_the_model(dialect: str) -> None:
    model = Model(ChatReply(refusal="Blocked by the filter.", finish_reason="content_filter"))
    said, case = talk(model, "Cancel order 7", tools=[cancel], dialect=dialect)
    assert (said.text, said.turns, said.ended) == ("", 1, "answer")
    assert said.messages == ({"role": "user", "content": "Cancel order 7"},)
    assert case.events[0].detail["refusal"] == "Blocked by the filter."


def test_a_conversation_needs_a_beginning() -> None:
    with pytest.raises(ValueError, match="a conversation needs a message of the user to begin with"):
        talk(Model(), system="Be kind.")


def test_a_single_reply_is_read_alike() -> None:
    assert conversation_of(ChatReply("42")) == Conversation("42")
    assert conversation_of(ChatReply(refusal="no")).text == "no"
    assert conversation_of(ChatReply(refusal="blocked", finish_reason="content_filter")).text == ""
    made = ChatReply(tool_calls=(ToolCall("look", "null"),))
    assert conversation_of(made).calls == (ConversationCall("look", {}),)
    assert conversation_of(call("book", {"a": 1})).calls == (ConversationCall("book", {"a": 1}),)
