"""The client against a real endpoint on loopback, well-behaved and otherwise."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.chat import CaseKey, ChatReply, ChatRequest, ToolCall
from agentgauge.core.config import Config as FileConfig
from agentgauge.core.config import ModelTable, Prices
from agentgauge.core.errors import ModelFault
from agentgauge.core.types import Sample, Usage
from agentgauge.model.client import OpenAIModel
from agentgauge.model.limits import AdaptiveLimiter
from agentgauge.model.presets import resolve
from agentgauge.model.providers import Quirks
from agentgauge.model.retry import RetryPolicy
from agentgauge.model.spec import ModelSpec
from agentgauge.model.wire import request_body
from tests.model import fault_server as serve
from tests.model.fault_server import Act, FaultServer

pytestmark = pytest.mark.slow

SECRET = "own-endpoint-key-0815"
ENVIRON = {"AGENTGAUGE_API_KEY": SECRET}
HELLO = ChatRequest(messages=({"role": "user", "content": "Hello"},))


def _spec(server: FaultServer, **changes: Any) -> ModelSpec:
    return replace(resolve("test-model", url=server.url, environ=ENVIRON), timeout=5.0, **changes)


def _ask(
    spec: ModelSpec, *requests: ChatRequest, environ: Mapping[str, str] = ENVIRON, waits: list[float] | None = None
) -> list[ChatReply]:
    """Put requests one after the other. Waits between tries are noted, not slept."""

    async def sleep(seconds: float) -> None:
        if waits is not None:
            waits.append(seconds)

    async def main() -> list[ChatReply]:
        policy = RetryPolicy(max_retries=spec.max_retries, sleep=sleep, chance=lambda: 0.0)
        model = OpenAIModel(spec, AdaptiveLimiter(4), policy=policy, environ=environ)
        try:
            return [await model.complete(request) for request in requests]
        finally:
            await model.close()

    return asyncio.run(main())


def test_a_request_with_everything_goes_out_as_it_should() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    tool = {"type": "function", "function": {"name": "OCR", "parameters": {"type": "object", "properties": {}}}}
    request = ChatRequest(
        messages=(
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": [{"type": "text", "text": "é"}, picture]},
        ),
        tools=(tool,),
        temperature=0.0,
        max_tokens=7,
        seed=3,
        repeated=True,
        stop=("END",),
        case=CaseKey("gta_atomic.e2e", "12"),
    )
    with FaultServer([serve.answer("fine")]) as server:
        (reply,) = _ask(
            _spec(server, prices=Prices(1.0, 2.0), extra_body={"top_p": 0.5}, headers={"X-Title": "t"}), request
        )
    assert reply == ChatReply(text="fine", usage=Usage(1, 10, 5, 20e-6))
    (seen,) = server.requests
    assert (seen.method, seen.path) == ("POST", "/v1/chat/completions")
    assert seen.body == {
        "model": "test-model",
        "messages": [dict(message) for message in request.messages],
        "tools": [tool],
        "temperature": 0.0,
        "max_tokens": 7,
        "seed": 3,
        "stop": ["END"],
        "top_p": 0.5,
    }
    assert seen.headers["authorization"] == f"Bearer {SECRET}" and seen.headers["x-title"] == "t"
    assert "x-agentgauge-case" not in seen.headers  # real endpoints do not learn which case it is


def test_quirks_shape_the_request_and_stop_words_cut_the_reply() -> None:
    table = ModelTable(provider="openai", model="o3", key_env="AGENTGAUGE_API_KEY")
    messages = (
        {"role": "system", "content": "a"},
        {"role": "user", "content": "b"},
        {"role": "system", "content": "c"},
    )
    request = ChatRequest(messages=messages, temperature=0.5, max_tokens=9, seed=1, stop=("Response:",))
    with FaultServer([serve.answer("Action: x\nResponse: made up")]) as server:
        spec = resolve("mine", url=server.url, config=FileConfig(models={"mine": table}), environ=ENVIRON)
        (reply,) = _ask(replace(spec, quirks=replace(spec.quirks, later_system="user", seed=False)), request)
    body = server.requests[0].body
    assert [message["role"] for message in body.pop("messages")] == ["system", "user", "user"]
    assert body == {"model": "o3", "max_completion_tokens": 9}
    assert reply.text == "Action: x\n"


@pytest.mark.parametrize(
    ("quirk", "repeated", "sent"),
    [
        (None, False, False),
        (None, True, True),
        (True, False, True),
        (True, True, True),
        (False, False, False),
        (False, True, False),
    ],
)
def test_a_seed_is_sent_where_draws_have_to_differ_or_the_model_wants_it(
    quirk: bool | None, repeated: bool, sent: bool
) -> None:
    spec = ModelSpec("m", "openai", "m", "openai", quirks=Quirks(seed=quirk))
    assert ("seed" in request_body(spec, replace(HELLO, seed=5, repeated=repeated))) is sent


@pytest.mark.parametrize(
    ("attempts", "draw", "repeated", "seed"),
    [(1, None, False, 7), (2, None, True, 7), (1, 0, True, 7), (1, 2, True, 9)],
)
def test_attempts_and_draws_of_a_case_have_seeds(attempts: int, draw: int | None, repeated: bool, seed: int) -> None:
    asked = []

    class Model:
        name = fingerprint = "m"

        async def complete(self, request: ChatRequest) -> ChatReply:
            asked.append((request.repeated, request.seed))
            return ChatReply("fine")

        async def close(self) -> None: ...

    sample = Sample("0", "t", (), {}, Path())
    case = Case(sample, 1, 7, CaseSettings(attempts=attempts), Model(), None, Path())
    asyncio.run(case.ask([{"role": "user", "content": "Hi"}], draw=draw))
    assert asked == [(repeated, seed)]


def test_an_event_has_the_tools_that_were_not_offered_before() -> None:
    class Model:
        name = fingerprint = "m"

        async def complete(self, request: ChatRequest) -> ChatReply:
            return ChatReply("fine")

        async def close(self) -> None: ...

    def offered(*names: str) -> list[dict[str, Any]]:
        return [{"type": "function", "function": {"name": name, "description": f"A {name}."}} for name in names]

    case = Case(Sample("0", "t", (), {}, Path()), 1, 7, CaseSettings(), Model(), None, Path())
    for tools in ([], offered("a", "b"), offered("a", "b"), offered("a"), [{"name": "odd", "function": None}], []):
        asyncio.run(case.ask("Hi", tools=tools))
    told = [event.detail.get("tools") for event in case.events]
    a, b = ({"name": name, "description": f"A {name}."} for name in "ab")
    assert told == [None, [a, b], None, [a], [{"name": "odd", "description": ""}], []]


def test_azure_requests_go_to_the_deployment() -> None:
    with FaultServer([serve.answer("fine")]) as server:
        table = ModelTable(
            provider="azure",
            model="gpt-4o",
            deployment="dep",
            endpoint=server.url.removesuffix("/v1"),
            api_version="2024-10-21",
        )
        spec = resolve("mine", config=FileConfig(models={"mine": table}), environ={"AZURE_OPENAI_API_KEY": SECRET})
        assert _ask(spec, HELLO, environ={"AZURE_OPENAI_API_KEY": SECRET})[0].text == "fine"
    assert server.requests[0].path == "/openai/deployments/dep/chat/completions?api-version=2024-10-21"
    assert server.requests[0].headers["api-key"] == SECRET


def test_what_the_environment_holds_for_openai_stays_away_from_other_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package would send these along by itself."""
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY", "AZURE_OPENAI_AD_TOKEN"):
        monkeypatch.setenv(name, f"ambient-{name}")
    headers = "X-Ambient: ambient-header\nAuthorization: Bearer ambient-authorization"
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", headers)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    environ = {"OPENAI_API_KEY": "ambient-OPENAI_API_KEY", "OPENAI_CUSTOM_HEADERS": headers}
    with FaultServer([serve.answer()]) as server:
        _ask(replace(resolve("gpt-4o", url=server.url, environ=environ), timeout=5), HELLO, environ=environ)
        _ask(_spec(server), HELLO, environ={**environ, **ENVIRON})
    assert all("ambient" not in value for seen in server.requests for value in seen.headers.values())
    assert [seen.headers.get("authorization") for seen in server.requests] == [None, f"Bearer {SECRET}"]


REPLIES: list[tuple[str, Any, ChatReply]] = [
    ("null content", serve.completion(None), ChatReply(received={"content": None})),
    ("empty text", serve.completion(""), ChatReply()),
    (
        "refusal",
        serve.completion(None, refusal="I will not."),
        ChatReply(refusal="I will not.", received={"content": None}),
    ),
    (
        "broken arguments",
        serve.completion(None, tool_calls=[serve.tool_call("OCR", '{"image": ')]),
        ChatReply(tool_calls=(ToolCall("OCR", '{"image": ', "call_1"),)),
    ),
    (
        "arguments as an object, no id",
        serve.completion(None, tool_calls=[{"function": {"name": "OCR", "arguments": {"a": "é"}}}]),
        ChatReply(
            tool_calls=(ToolCall("OCR", '{"a": "é"}'),),
            received={
                "content": None,
                "tool_calls": [{"id": None, "type": None, "function": {"name": "OCR", "arguments": {"a": "é"}}}],
            },
        ),
    ),
    (
        "calls of odd shapes",
        serve.completion("t", tool_calls=["x", {"function": None}, {"id": 5, "function": {"name": None}}]),  # type: ignore[list-item]
        ChatReply(
            text="t",
            tool_calls=(ToolCall("", ""),),
            received={
                "content": "t",
                "tool_calls": [
                    "x",
                    {"id": None, "type": None, "function": None},
                    {"id": 5, "type": None, "function": {"name": None, "arguments": None}},
                ],
            },
        ),
    ),
    (
        "a signature beside a call",
        serve.completion(
            None, tool_calls=[{**serve.tool_call("OCR", "{}"), "extra_content": {"signature": "s\ud800"}}]
        ),
        ChatReply(tool_calls=(ToolCall("OCR", "{}", "call_1", {"extra_content": {"signature": "s?"}}),)),
    ),
    (
        "text in parts",
        serve.completion([{"type": "text", "text": "a"}, "b"]),  # type: ignore[arg-type]
        ChatReply(text="ab", received={"content": [{"type": "text", "text": "a"}, "b"]}),
    ),
    (
        "parts of other kinds",
        serve.completion([{"type": "text", "text": "a"}, {"type": "x"}]),  # type: ignore[arg-type]
        ChatReply(
            text="a",
            received={"content": [{"type": "text", "text": "a"}, {"type": "x"}]},
            extra={"content": [{"type": "text", "text": "a"}, {"type": "x"}]},
        ),
    ),
    ("lone surrogate", serve.completion("\ud800!"), ChatReply(text="?!")),
    (
        "no usage",
        {"choices": [{"message": {"content": "t"}}]},
        ChatReply(text="t", usage=Usage(1, 6, 1, estimated_requests=1)),
    ),
    (
        "odd usage",
        {"choices": [{"message": {"content": "t"}}], "usage": {"prompt_tokens": "9", "completion_tokens": -1}},
        ChatReply(text="t", usage=Usage(1, 9, 1, estimated_requests=1)),
    ),
]


@pytest.mark.parametrize(("data", "reply"), [case[1:] for case in REPLIES], ids=[case[0] for case in REPLIES])
def test_replies_are_read_leniently(data: Any, reply: ChatReply) -> None:
    if "usage" in data and reply.usage == Usage():
        reply = replace(reply, usage=Usage(1, 10, 5))
    with FaultServer([serve.data(data)]) as server:
        assert _ask(_spec(server), HELLO) == [reply]


def test_json_under_another_content_type_is_accepted() -> None:
    with FaultServer([serve.data(serve.completion("fine"), kind="text/plain")]) as server:
        assert _ask(_spec(server), HELLO)[0].text == "fine"


def test_a_content_filter_is_a_refusal() -> None:
    with FaultServer([serve.status(400, "filtered", error_code="content_filter")]) as server:
        (reply,) = _ask(_spec(server), HELLO)
    assert (reply.refusal, reply.finish_reason) == ("filtered", "content_filter")


FAULTS: list[tuple[Act, str, int, str]] = [
    # what the endpoint does, cause, tries, part of the message
    (serve.status(500), "http 500", 3, "HTTP 500: not now, after 3 tries"),
    (serve.status(429), "http 429", 7, "HTTP 429"),
    (serve.status(529), "http 529", 7, "HTTP 529"),
    (serve.status(429, "pay first", error_code="insufficient_quota"), "http 429", 1, "pay first"),
    (serve.status(400, "too long"), "http 400", 1, "too long"),
    (serve.status(401), "http 401", 1, "check the key in AGENTGAUGE_API_KEY"),
    (serve.status(404), "http 404", 1, "is 'test-model' a model of this endpoint"),
    (serve.body(b"<h1>Bad gateway</h1>", code=502, kind="text/html"), "http 502", 3, "<h1>Bad gateway</h1>"),
    (serve.half_a_body(), "truncated body", 3, "in the middle of its answer"),
    (serve.html(), "not json (text/html)", 3, "text/html instead of JSON"),
    (serve.invalid_json(), "invalid json", 3, "not valid JSON"),
    (serve.body(b"[" * 100_000), "invalid json", 3, "JSON"),
    (serve.body(b"\xff\xfe"), "invalid json", 3, "not valid JSON"),
    (serve.data([]), "no choices", 3, "JSON list"),
    (serve.data({"choices": []}), "no choices", 3, "no choices"),
    (serve.data({"choices": [{}]}), "no choices", 3, "no choices"),
    (serve.data({"error": {"message": "upstream down", "code": 503}}), "http 503", 3, "upstream down"),
    (serve.data({"error": "odd"}), "no choices", 3, "odd"),
    (serve.body(b"plain", headers={"Content-Encoding": "gzip"}), "garbled body", 3, "cannot be decoded"),
    (serve.raw(b"SSH-2.0-OpenSSH\r\n\r\n"), "not http", 3, "is not HTTP: bad status line 'SSH-2.0-OpenSSH', after"),
    (serve.raw(b"<html>400 Bad"), "not http", 3, "is not HTTP: bad status line '<html>400 Bad', after"),
    (
        serve.raw(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}"),
        "not http",
        3,
        "in Content-Length 'Content-Length: -5', after",
    ),
    (
        serve.raw(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 9000 + b"\r\n\r\n"),
        "not http",
        3,
        "got more than 8190 bytes when reading, after",
    ),
    (serve.raw(b""), "disconnected", 3, "closed the connection before its answer: Server disconnected"),
    (serve.reset(), "disconnected", 3, "closed the connection before its answer: "),
]


@pytest.mark.parametrize(
    ("act", "cause", "tries", "said"), FAULTS, ids=[f"{case[1]}-{number}" for number, case in enumerate(FAULTS)]
)
def test_faults_have_a_cause_and_bounded_tries(act: Act, cause: str, tries: int, said: str) -> None:
    with FaultServer([act]) as server, pytest.raises(ModelFault) as fault:
        _ask(_spec(server, max_retries=2), HELLO)
    assert fault.value.cause == cause
    assert len(server.requests) == tries
    assert said in str(fault.value)
    assert fault.value.__cause__ is None and fault.value.__context__ is None  # no costly chain behind it


def _spoiled(finish: str = "stop", text: str | None = "half an ans", **error: Any) -> Act:
    """A reply beside which an error stands, as gateways send it when the server behind them fails."""
    reply = serve.completion(text)
    reply["choices"][0] |= {"finish_reason": finish, **error}
    return serve.data(reply)


SPOILED: list[tuple[Act, str, int, str]] = [
    # what the endpoint does, cause, tries, part of the message
    (
        _spoiled("error", error={"code": 502, "message": "upstream died"}),
        "http 502",
        3,
        "reported error 502: upstream died",
    ),
    (_spoiled("error", error={"code": "502", "message": "upstream died"}), "http 502", 3, "reported error 502"),
    (_spoiled(error={"code": 429, "message": "slow down"}), "http 429", 7, "slow down"),
    (_spoiled(error={"code": 401, "message": "no credit"}), "http 401", 1, "no credit"),
    (
        _spoiled(error={"code": "rate_limit_exceeded", "message": "m"}),
        "failed: rate_limit_exceeded",
        7,
        "(rate_limit_exceeded): m",
    ),
    (_spoiled(error={"code": "insufficient_quota", "message": "m"}), "failed: insufficient_quota", 1, "m"),
    (_spoiled(error={"code": "odd", "message": "m"}), "failed: odd", 3, "m"),
    (_spoiled(error={"code": True, "message": "m"}), "failed", 3, "m"),
    (_spoiled(error="it broke"), "failed", 3, "it broke"),
    (_spoiled(error=["it broke"]), "failed", 3, "it broke"),
    (_spoiled("error"), "failed", 3, "its finish_reason is 'error'"),
    (_spoiled("error", text=None), "failed", 3, "its finish_reason is 'error'"),
    (
        serve.data({"choices": [{"finish_reason": "error", "message": {"content": "a"}}], "error": {"code": 503}}),
        "http 503",
        3,
        "503",
    ),
]


@pytest.mark.parametrize(
    ("act", "cause", "tries", "said"), SPOILED, ids=[f"{case[1]}-{number}" for number, case in enumerate(SPOILED)]
)
def test_an_error_beside_a_reply_is_a_fault(act: Act, cause: str, tries: int, said: str) -> None:
    with FaultServer([act]) as server, pytest.raises(ModelFault) as fault:
        _ask(_spec(server, max_retries=2), HELLO)
    assert (fault.value.cause, len(server.requests)) == (cause, tries)
    assert said in str(fault.value)


@pytest.mark.parametrize("error", [None, {}, "", False])
def test_no_error_beside_a_reply_is_none(error: object) -> None:
    with FaultServer([_spoiled(error=error)]) as server:
        assert _ask(_spec(server), HELLO)[0].text == "half an ans"


def test_an_error_beside_a_reply_passes() -> None:
    with FaultServer([_spoiled("error", error={"code": 502}), serve.answer("whole")]) as server:
        assert _ask(_spec(server), HELLO)[0].text == "whole"


@pytest.mark.parametrize("act", [serve.silence(), serve.trickle()], ids=["silence", "trickle"])
def test_an_answer_that_does_not_come_times_out(act: Act) -> None:
    with FaultServer([act]) as server, pytest.raises(ModelFault) as fault:
        _ask(replace(_spec(server, max_retries=1), timeout=0.2), HELLO)
    assert fault.value.cause == "timeout" and "within 0.2 s" in str(fault.value)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "acts",
    [
        [serve.status(429, headers={"Retry-After": "3"})],
        [serve.status(500), serve.status(500)],
        [serve.half_a_body(), serve.reset()],
        [serve.html(), serve.invalid_json(), serve.data({})],
    ],
)
def test_passing_faults_leave_no_trace_in_the_reply(acts: Sequence[Act]) -> None:
    waits: list[float] = []
    with FaultServer([*acts, serve.answer("at last")]) as server:
        (reply,) = _ask(_spec(server), HELLO, waits=waits)
    assert reply == ChatReply(text="at last", usage=Usage(1, 10, 5))
    assert len(server.requests) == len(acts) + 1 == len(waits) + 1


def test_retry_after_is_honoured() -> None:
    waits: list[float] = []
    with FaultServer(
        [serve.status(code, headers={"Retry-After": "7"}) for code in (429, 503, 500)] + [serve.answer()]
    ) as server:
        _ask(_spec(server), HELLO, waits=waits)
    assert waits == [7.0, 7.0, 2.0]  # a 500 has no say


def test_rate_limits_lower_the_number_in_flight() -> None:
    async def main(server: FaultServer) -> AdaptiveLimiter:
        async def sleep(_seconds: float) -> None: ...

        limiter = AdaptiveLimiter(8)
        model = OpenAIModel(_spec(server), limiter, policy=RetryPolicy(sleep=sleep), environ=ENVIRON)
        await model.complete(HELLO)
        await model.close()
        return limiter

    with FaultServer([serve.status(429), serve.answer()]) as server:
        assert asyncio.run(main(server)).limit == 5  # half of it, and one back for the answer


def test_the_key_is_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    """Not by an endpoint that quotes it, not in a repr, not in a log."""
    caplog.set_level(logging.DEBUG)
    masked = serve.data({"error": {"message": "Incorrect API key provided: sk-abcde*****wxyz."}}, code=401)
    for act in (
        serve.echo_authorization(401),
        serve.echo_authorization(500),
        serve.body(SECRET.encode(), kind="text/plain"),
        masked,
    ):
        with FaultServer([act]) as server, pytest.raises(ModelFault) as fault:
            _ask(_spec(server), HELLO)
        assert SECRET not in str(fault.value) and "wxyz" not in str(fault.value)
        assert "[key]" in str(fault.value)
    model = OpenAIModel(_spec(server), environ=ENVIRON)
    assert SECRET not in repr(model) + repr(vars(model)["spec"]) + caplog.text
