"""Replies that come as streams of events are read as those that come in one piece."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgauge.core.causes import Failure
from agentgauge.core.chat import ChatReply
from agentgauge.core.config import load_config
from agentgauge.core.errors import ModelFault
from agentgauge.core.types import Usage
from agentgauge.model import connection, responses, wire
from agentgauge.model.exchange import Answer
from agentgauge.model.presets import resolve
from agentgauge.model.stream import whole
from tests.model import fault_server as serve
from tests.model.fault_server import Act, FaultServer, Seen
from tests.model.talking import HELLO, spec_at, talk_to

EVENTS = {"content-type": "text/event-stream; charset=utf-8"}
DONE = "[DONE]"


def _piece(finish: str | None = None, /, index: int = 0, **delta: Any) -> dict[str, Any]:
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "model": "m-1", "choices": [choice]}


def _call(index: int | None, identity: str | None = None, name: str | None = None, arguments: Any = None) -> Any:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    call: dict[str, Any] = {"function": function}
    return call | ({} if index is None else {"index": index}) | ({} if identity is None else {"id": identity})


def _calling(*calls: Any) -> list[dict[str, Any]]:
    """One piece for each call, then the end."""
    return [*(_piece(None, tool_calls=[call]) for call in calls), _piece("tool_calls")]


def _events(*data: Any, end: str = "\n\n", before: str = "data: ") -> bytes:
    return "".join(before + (one if isinstance(one, str) else json.dumps(one)) + end for one in data).encode()


def _whole(content: bytes, headers: dict[str, str] = EVENTS, status: int = 200) -> Any:
    answer = whole(Answer(status, "OK", headers, content))
    return answer if isinstance(answer, Failure) else json.loads(answer.content)


def _message(*data: Any) -> dict[str, Any]:
    message: dict[str, Any] = _whole(_events(*data, DONE))["choices"][0]["message"]
    return message


TEXT = [_piece(None, role="assistant", content=""), _piece(None, content="He"), _piece(None, content="llo")]
ENDED = [*TEXT, _piece("stop")]
USAGE = {"prompt_tokens": 7, "completion_tokens": 3}


@pytest.mark.parametrize(
    "content",
    [
        _events(*ENDED, DONE),
        _events(*ENDED),  # no [DONE]
        _events(*TEXT, DONE),  # no finish_reason
        _events(*ENDED, DONE, end="\r\n\r\n"),
        _events(*ENDED, DONE, end="\r\r"),
        _events(*ENDED, DONE, before="data:"),
        _events(*ENDED, DONE, before=": ping\nevent: message\nid: 1\nretry: 5\ndata: "),
        b"\xef\xbb\xbf: OPENROUTER PROCESSING\n\n" + _events(*ENDED, DONE),
        _events(*ENDED, end="\n"),  # no empty lines, and none at the end
        _events(*(json.dumps(one, indent=1).replace("\n", "\ndata: ") for one in ENDED)),  # events of several lines
        _events(*ENDED) + b"data: {",  # cut off behind the end of the reply
        _events(*ENDED, {"choices": [], "usage": None}, {"choices": None}, "null", "[]", DONE),
    ],
)
def test_every_form_of_a_stream_reads_alike(content: bytes) -> None:
    reply = wire.read_reply(_whole(content), spec_at("http://x"))
    assert isinstance(reply, ChatReply)
    assert (reply.text, reply.finish_reason, reply.model) == ("Hello", "stop", "m-1")


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/octet-stream", ""])
def test_a_stream_under_another_type_is_read(kind: str) -> None:
    assert _whole(_events(*ENDED, DONE), {"content-type": kind})["choices"][0]["message"]["content"] == "Hello"


@pytest.mark.parametrize("content", [serve.completion("whole"), {"error": {"message": "no"}}, []])
def test_json_under_the_type_of_streams_stays(content: Any) -> None:
    assert _whole(json.dumps(content).encode()) == content


CALLS = [
    ("pieces", [_call(0, "a", "f", ""), _call(0, None, None, '{"x"'), _call(0, None, None, ": 1}")], ["a:f:{'x': 1}"]),
    ("empty ids behind the first", [_call(0, "a", "f", '{"x"'), _call(0, "", "", ": 1}")], ["a:f:{'x': 1}"]),
    ("id and name in every piece", [_call(0, "a", "f", '{"x"'), _call(0, "a", "f", ": 1}")], ["a:f:{'x': 1}"]),
    ("another id in every piece", [_call(0, "a", "f", '{"x"'), _call(0, "b", None, ": 1}")], ["a:f:{'x': 1}"]),
    ("a name in pieces", [_call(0, "a", "get_"), _call(0, None, "it", "{}")], ["a:get_it:{}"]),
    ("two whole calls", [_call(0, "a", "f", "{}"), _call(1, "b", "g", "{}")], ["a:f:{}", "b:g:{}"]),
    ("all have index 0", [_call(0, "a", "f", "{}"), _call(0, "b", "f", "{}")], ["a:f:{}", "b:f:{}"]),
    ("no index, no id", [_call(None, None, "f", "{}"), _call(None, None, "f", "{}")], [":f:{}", ":f:{}"]),
    ("no index, no arguments", [_call(None, None, "f"), _call(None, None, "g")], [":f:None", ":g:None"]),
    ("no index, by id", [_call(None, "a", "f", "{"), _call(None, "b", "g", "{"), _call(None, "a", None, "}"),
                         _call(None, "b", None, "}")], ["a:f:{}", "b:g:{}"]),
    ("index 0 and one id", [_call(0, "a", "f", "{}"), _call(0, "a", "g", "{}")], ["a:f:{}", "a:g:{}"]),
    ("interleaved", [_call(0, "a", "f", "{"), _call(1, "b", "g", "{"), _call(0, None, None, "}"),
                     _call(1, None, None, "}")], ["a:f:{}", "b:g:{}"]),
    ("indexes from 1", [_call(1, "a", "f", "{}"), _call(2, "b", "g", "{}")], ["a:f:{}", "b:g:{}"]),
    ("arguments as an object", [_call(0, "a", "f", {"x": 1}), _call(0, "b", "g", {})], ["a:f:{'x': 1}", "b:g:{}"]),
]  # fmt: skip


@pytest.mark.parametrize(("calls", "expected"), [case[1:] for case in CALLS], ids=[case[0] for case in CALLS])
def test_pieces_of_calls_are_put_together(calls: list[Any], expected: list[str]) -> None:
    read = wire.read_tool_calls(_message(*_calling(*calls))["tool_calls"])
    assert expected == [
        f"{call.id}:{call.name}:{json.loads(call.arguments) if call.arguments else None}" for call in read
    ]


def test_calls_of_one_piece_and_their_other_fields() -> None:
    signed = {**_call(0, "a", "f", "{}"), "type": "function", "extra_content": {"google": {"thought_signature": "s"}}}
    read = _message(_piece("tool_calls", tool_calls=[signed, _call(1, "b", "g", "{}")]))["tool_calls"]
    assert [call["id"] for call in read] == ["a", "b"] and "index" not in read[0]
    assert (read[0]["type"], read[0]["extra_content"]) == ("function", {"google": {"thought_signature": "s"}})


def test_all_fields_of_a_message_survive() -> None:
    details = [{"type": "reasoning.text", "index": 0, "format": "f", "text": "a"},
               {"type": "reasoning.text", "index": 0, "format": "f", "text": "b"},
               {"type": "reasoning.text", "index": 0, "format": "f", "signature": "s"},
               {"type": "reasoning.encrypted", "index": 0, "id": "e1", "data": "x"},
               {"type": "reasoning.encrypted", "index": 0, "id": "e2", "data": "y"}]  # fmt: skip
    message = _message(
        _piece(None, role="assistant", content=None, reasoning_content="th", refusal=None),
        _piece(None, role="assistant", reasoning_content="ought", made_up={"n": 1}),
        *(_piece(None, reasoning_details=[one]) for one in details),
        _piece("stop", refusal="no", reasoning="r"),
    )
    assert message["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "format": "f", "text": "ab", "signature": "s"},
        *details[3:],
    ]
    del message["reasoning_details"]
    assert message == {"role": "assistant", "content": None, "reasoning_content": "thought", "made_up": {"n": 1},
                       "refusal": "no", "reasoning": "r"}  # fmt: skip


def test_parts_between_texts_keep_their_order() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    message = _message(_piece(None, content=[thinking]), _piece(None, content="Do"), _piece("stop", content="ne."))
    reply = wire.read_reply({"choices": [{"message": message}]}, spec_at("http://x"))
    assert isinstance(reply, ChatReply) and reply.text == "Done." and message["content"][0] == thinking


@pytest.mark.parametrize(
    "last",
    [
        [{"choices": [], "usage": USAGE}],
        [_piece("stop") | {"usage": USAGE}],
        [_piece("stop") | {"usage": {"prompt_tokens": 7, "completion_tokens": 1}}, {"usage": USAGE}],  # growing
        [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": USAGE}]}],
    ],
)
def test_usage_is_found(last: list[Any]) -> None:
    reply = wire.read_reply(_whole(_events(*ENDED, *last, DONE)), spec_at("http://x"))
    assert isinstance(reply, ChatReply) and reply.usage == Usage(1, 7, 3)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b": ping\n\n",
        _events(*TEXT),
        _events(*TEXT)[:-10],
        _events(*_calling(_call(0, "a", "f", '{"x"'))[:-1]),
        _events({"choices": []}),
        _events(_piece("null", content="half")),
        _events({"type": "response.created", "response": {"status": "in_progress", "output": []}}),
    ],
)
def test_a_stream_that_breaks_off_is_no_reply(content: bytes) -> None:
    assert _whole(content).cause == "truncated body"


@pytest.mark.parametrize("after", [ENDED, []])
def test_an_event_that_is_no_json_is_named(after: list[Any]) -> None:
    broken = _whole(_events(*TEXT, "<html>", *after))
    assert isinstance(broken, Failure) and broken.cause == "garbled body" and "'<html>'" in broken.message


def test_a_stream_that_is_cut_in_a_character_is_cut() -> None:
    assert _whole(_events(*TEXT) + 'data: {"a": "ü'.encode()[:-1]).cause == "truncated body"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"bad request", "bad request"),
        (_events({"error": {"message": "too long"}}), "too long"),
        (b'id:1\nevent:error\n:HTTP_STATUS/400\ndata:{"code":"InvalidParameter","message":"wrong"}\n\n', "wrong"),
    ],
)
def test_a_refusal_that_comes_as_a_stream(content: bytes, said: str) -> None:
    act = serve.body(content, code=400, kind="text/event-stream")
    with FaultServer([act]) as server, pytest.raises(ModelFault) as fault:
        talk_to(spec_at(server.url))
    assert fault.value.cause == "http 400" and said in str(fault.value)


def test_many_pieces_of_a_long_reply() -> None:
    pieces = _events(*[_piece(None, content="word ")] * 20_000, _piece("stop"))
    assert len(_whole(pieces)["choices"][0]["message"]["content"]) == 100_000


@pytest.mark.parametrize(
    ("last", "cause", "said"),
    [
        (_events({"error": {"message": "overloaded", "code": 529}}), "http 529", "overloaded"),
        (_events(_piece("error") | {"error": {"message": "lost", "code": "502"}}), "http 502", "lost"),
        (_events({"error": "all slots are busy"}), "no choices", "all slots are busy"),
        (_events({"object": "error", "message": "too long", "code": 400}), "http 400", "too long"),
        (b'event: error\ndata: {"code": "Throttling", "message": "slow down"}\n\n', "failed: Throttling", "slow down"),
        (_events({"code": "DataInspectionFailed", "message": "no", "request_id": "1"}), "content filter", "no"),
        (b"event: error\ndata: overloaded\n\n", "no choices", "overloaded"),
        (b'error: {"code": 500, "message": "slot failed"}\n\n', "http 500", "slot failed"),
    ],
)
@pytest.mark.parametrize("before", [[], TEXT, ENDED])
def test_an_error_in_the_stream_is_no_reply(before: list[Any], last: bytes, cause: str, said: str) -> None:
    failure = wire.read_reply(_whole(_events(*before) + last), spec_at("http://x"))
    assert isinstance(failure, Failure) and failure.cause.startswith(cause) and said in failure.message


@pytest.mark.parametrize("in_response", [True, False])
def test_streams_of_the_responses_api(in_response: bool) -> None:
    item = {"type": "message", "content": [{"type": "output_text", "text": "Hello"}]}
    final = {"status": "completed", "output": [item] if in_response else [], "usage": {"input_tokens": 7}}
    body = _whole(
        _events(
            {"type": "response.created", "response": {"status": "in_progress"}},
            {"type": "response.output_text.delta", "delta": "Hello"},
            {"type": "response.output_item.done", "item": item},
            {"type": "response.completed", "response": final},
        )
    )
    reply = responses.read_reply(body, spec_at("http://x"))
    assert isinstance(reply, ChatReply) and (reply.text, reply.usage.prompt_tokens) == ("Hello", 7)


@settings(max_examples=100, deadline=None)
@given(st.text(min_size=1), st.text(), st.data())
def test_any_text_in_any_pieces_comes_back(text: str, thought: str, data: st.DataObject) -> None:
    def pieces(key: str, value: str) -> list[Any]:
        cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(value) - 1)), max_size=5)))
        spans = zip([0, *cuts], [*cuts, len(value)], strict=True)
        return [_piece(None, **{key: value[low:high]}) for low, high in spans]

    message = _message(*pieces("reasoning_content", thought), *pieces("content", text), _piece("stop"))
    assert (message["content"], message["reasoning_content"]) == (text, thought)


# -- over the wire

REFUSALS = [
    "parameter.enable_thinking must be set to false for non-streaming calls",
    "This model only support stream mode, please enable the stream parameter to access the model.",
    "Requests with max_tokens > 4096 must have stream=true",
    "Stream must be set to true",
]


def _events_act(*data: Any, keep: int | None = None) -> Act:
    return serve.body(_events(*data), kind="text/event-stream", keep=keep)


def test_a_stream_that_was_not_asked_for_is_read() -> None:
    with FaultServer([_events_act(*ENDED, {"choices": [], "usage": USAGE}, DONE)]) as server:
        reply = talk_to(spec_at(server.url))
    assert (reply.text, reply.usage.prompt_tokens) == ("Hello", 7)
    assert "stream" not in server.requests[0].body


@pytest.mark.parametrize("message", REFUSALS)
def test_an_endpoint_that_only_streams_is_asked_for_streams_from_then_on(message: str) -> None:
    def choose(seen: Seen) -> Act:
        return _events_act(*ENDED, DONE) if seen.body.get("stream") else serve.status(400, message)

    with FaultServer(choose=choose) as server:

        async def twice(model: Any) -> list[str]:
            return [(await model.complete(HELLO)).text for _ in range(2)]

        assert talk_to(spec_at(server.url), twice) == ["Hello", "Hello"]
    assert [bool(seen.body.get("stream")) for seen in server.requests] == [False, True, True]
    assert server.requests[1].body["stream_options"] == {"include_usage": True}


def test_a_refusal_that_streaming_does_not_mend_stays() -> None:
    with FaultServer([serve.status(400, "stream_id is wrong")]) as server, pytest.raises(ModelFault) as fault:
        talk_to(spec_at(server.url))
    assert fault.value.cause == "http 400" and "stream_id is wrong" in str(fault.value)
    assert len(server.requests) == 2


def test_a_table_asks_for_streams(tmp_path: Any) -> None:
    (tmp_path / "agentgauge.toml").write_text(
        '[models.m]\nurl = "http://x/v1"\nextra_body = { stream_options = { include_usage = false } }\n'
        "[models.m.quirks]\nstream = true\n"
    )
    spec = resolve("m", config=load_config(root=tmp_path), environ={})
    with FaultServer([_events_act(*ENDED, DONE)]) as server:
        assert talk_to(replace(spec, url=server.url), environ={}).text == "Hello"
    (seen,) = server.requests
    assert seen.body["stream"] is True and seen.body["stream_options"] == {"include_usage": False}


def test_half_a_stream_is_a_fault() -> None:
    half = [_events_act(*TEXT), _events_act(*ENDED, DONE, keep=200)]
    for act in half:
        with FaultServer([act]) as server, pytest.raises(ModelFault) as fault:
            talk_to(spec_at(server.url))
        assert fault.value.cause == "truncated body"


def test_a_stream_has_a_limit_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_STREAM", 40 << 20)
    padding = ": " + "x" * (1 << 20)
    for size, cause in ((35, None), (45, "answer too long")):
        content = "\n".join([padding] * size).encode() + b"\n\n" + _events(*ENDED, DONE)
        with FaultServer([serve.body(content, kind="text/event-stream")]) as server:
            if cause is None:
                assert talk_to(spec_at(server.url)).text == "Hello"
                continue
            with pytest.raises(ModelFault) as fault:
                talk_to(spec_at(server.url))
            assert fault.value.cause == cause
