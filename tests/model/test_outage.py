"""Outages of an endpoint that has answered: who waits, who probes, and for how long."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.causes import Failure
from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.errors import ModelFault
from agentgauge.model import outage
from agentgauge.model.client import OpenAIModel
from agentgauge.model.limits import AdaptiveLimiter
from agentgauge.model.outage import Outage, outage_notes, outages, shows_outage
from agentgauge.model.retry import RetryPolicy
from tests.model import fault_server as serve
from tests.model.fault_server import Act, FaultServer, Seen
from tests.model.talking import ENVIRON, HELLO, spec_at

SCALE = 0.01
"""A wait of a second takes 10 ms, and a patience of 1000 s ends after 10."""


def _worker(server: FaultServer, file: Path | None = None, **changes: Any) -> OpenAIModel:
    spec = spec_at(server.url, **{"max_retries": 6, "outage_patience": 1000.0, **changes})
    policy, shared = RetryPolicy(max_retries=spec.max_retries, scale=SCALE), Outage(spec, scale=SCALE, file=file)
    return OpenAIModel(spec, AdaptiveLimiter(8), policy=policy, environ=ENVIRON, outage=shared)


async def _all(*models: OpenAIModel, count: int = 8) -> list[ChatReply | ModelFault]:
    """So many requests to each model at once."""
    requests = [model.complete(HELLO) for model in models for _ in range(count)]
    try:
        return await asyncio.gather(*requests, return_exceptions=True)  # type: ignore[return-value]
    finally:
        for model in models:
            await model.close()


def _texts(results: list[ChatReply | ModelFault]) -> list[str]:
    return [result.text if isinstance(result, ChatReply) else str(result) for result in results]


HEADERS = (("Retry-After", "0"), ("retry-after-ms", "0"), ("Retry-After", "-1"))
FORMS: dict[str, Act] = {
    "502": serve.body(b"<html>502 Bad Gateway</html>", code=502, kind="text/html"),
    "503 of llama.cpp": serve.data(
        {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}, code=503
    ),
    "503 without an upstream": serve.body(b"no healthy upstream", code=503, kind="text/plain"),
    "504": serve.status(504),
    "500 of LiteLLM": serve.status(500, "litellm.InternalServerError: OpenAIException - Connection error."),
    "429 of LiteLLM": serve.status(429, "No deployments available for selected model, Try again in 5 seconds."),
    "502 inside an answer": serve.data({"error": {"code": 502, "message": "Bad gateway"}}),
    "reset": serve.reset(),
    "half a body": serve.half_a_body(),
}


@pytest.mark.parametrize("act", FORMS.values(), ids=list(FORMS))
def test_an_endpoint_that_comes_back_answers_all_requests_and_was_probed_one_at_a_time(act: Act) -> None:
    """Twelve failures after the first answer: of up to eight requests at once, the others of probes."""
    with FaultServer([serve.answer("first"), *[act] * 12, serve.answer("back")]) as server:

        async def main() -> list[ChatReply | ModelFault]:
            model = _worker(server)
            assert (await model.complete(HELLO)).text == "first"
            return await _all(model, count=30)

        results = asyncio.run(main())
    assert _texts(results) == ["back"] * 30
    assert len(server.requests) == 1 + 12 + 30


@pytest.mark.parametrize("act", [serve.reset(), serve.status(503), serve.status(502)], ids=["reset", "503", "502"])
def test_an_endpoint_that_has_never_answered_is_not_waited_for(act: Act) -> None:
    with FaultServer([act]) as server:
        results = asyncio.run(_all(_worker(server), count=1))
    assert len(server.requests) == 3 and "no answer for" not in _texts(results)[0]


THERE = {f"{name}: {value}": serve.status(503, headers={name: value}) for name, value in HEADERS} | {
    "loading": FORMS["503 of llama.cpp"]
}


@pytest.mark.parametrize("act", THERE.values(), ids=list(THERE))
def test_an_endpoint_that_says_that_it_will_be_back_is_there(act: Act) -> None:
    """It has not answered yet, and has more failures than tries."""
    with FaultServer([*[act] * 9, serve.answer("back")]) as server:
        assert _texts(asyncio.run(_all(_worker(server), count=3))) == ["back"] * 3


@pytest.mark.parametrize("seconds", [0.1, 60.0])
def test_an_endpoint_that_broke_off_while_it_worked_on_its_first_request_is_there(
    monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """Small machines work on the first prompt for minutes. One that breaks off earlier has not shown that it works."""
    monkeypatch.setattr(outage, "WORKED_SECONDS", seconds)
    with FaultServer([serve.silence(0.2), *[serve.reset()] * 9, serve.answer("back")]) as server:
        (text,) = _texts(asyncio.run(_all(_worker(server), count=1)))
    assert (text == "back") == (seconds < 0.2), text


def test_a_refused_connection_is_waited_for() -> None:
    with FaultServer([serve.answer("here")]) as server:

        async def main() -> list[ChatReply | ModelFault]:
            model = _worker(server)
            await model.complete(HELLO)
            server.stop()
            requests = asyncio.create_task(_all(model))
            await asyncio.sleep(0.6)
            assert not requests.done()
            server.start()
            return await requests

        assert _texts(asyncio.run(main())) == ["here"] * 8


def test_workers_share_what_they_know(tmp_path: Path) -> None:
    """Only the first has been answered. One probe at a time for both, and one note for the run."""
    down = True

    def choose(seen: Seen) -> Act:
        return serve.status(503) if down and len(server.requests) > 1 else serve.answer("here")

    with FaultServer(choose=choose) as server:

        async def main() -> list[ChatReply | ModelFault]:
            nonlocal down
            first, second = (_worker(server, tmp_path / "outages") for _ in range(2))
            await first.complete(HELLO)
            requests = asyncio.create_task(_all(first, second))
            await asyncio.sleep(1.5)
            (away,) = outages(tmp_path, time.time())
            assert away.place == f"127.0.0.1:{server.port}" and 0.1 < away.seconds < 5 and away.patience == 10
            assert len(server.requests) <= 1 + 16 + 2 * 8  # each tries once or twice; then one probe in 0.2 s
            down = False
            return await requests

        assert _texts(asyncio.run(main())) == ["here"] * 16
    (away,) = outages(tmp_path, time.time())
    assert away.seconds == 0 and away.waited >= 1
    assert len(outage_notes([away])) == 1


@pytest.mark.parametrize("patience", [100.0, 0.0])
def test_when_the_patience_is_used_up_all_end_at_once_with_the_reason(patience: float) -> None:
    with FaultServer([serve.answer("here")]) as server:

        async def main() -> list[ChatReply | ModelFault]:
            model = _worker(server, outage_patience=patience)
            await model.complete(HELLO)
            server.stop()
            try:
                return await asyncio.wait_for(_all(model, count=20), 10)
            finally:
                server.start()

        results = asyncio.run(main())
    assert all(isinstance(result, ModelFault) and result.cause == "connection" for result in results)
    texts = _texts(results)
    assert all("no connection to 127.0.0.1" in text for text in texts), texts
    assert all(("; no answer for " in text) == (patience > 0) for text in texts), texts
    assert patience or any(text.endswith(", after 3 tries") for text in texts), texts


def test_the_end_of_the_run_ends_the_wait() -> None:
    with FaultServer([serve.answer("here")]) as server:
        stopped = False

        async def main() -> list[ChatReply | ModelFault]:
            nonlocal stopped
            spec = spec_at(server.url, max_retries=6)
            ending = Outage(spec, scale=1.0, stopped=lambda: stopped)
            policy = RetryPolicy(scale=SCALE)
            model = OpenAIModel(spec, AdaptiveLimiter(8), policy=policy, environ=ENVIRON, outage=ending)
            await model.complete(HELLO)
            server.stop()
            requests = asyncio.create_task(_all(model))
            await asyncio.sleep(0.5)
            stopped = True
            try:
                return await asyncio.wait_for(requests, 10)
            finally:
                server.start()

        results = asyncio.run(main())
    assert all("when the run was stopped" in text for text in _texts(results)), _texts(results)


def test_a_request_that_always_fails_is_broken_while_others_are_answered() -> None:
    """It may end its server each time: the others must not wait for it."""

    def choose(seen: Seen) -> Act:
        return serve.reset() if "poison" in str(seen.body) else serve.answer("here")

    poison = ChatRequest(messages=({"role": "user", "content": "poison"},))
    with FaultServer(choose=choose) as server:

        async def main() -> tuple[ChatReply | ModelFault, list[str]]:
            model = _worker(server)
            await model.complete(HELLO)
            bad = asyncio.create_task(model.complete(poison))
            texts = []
            while not bad.done():
                texts.append((await model.complete(HELLO)).text)
                await asyncio.sleep(0.02)
            await model.close()
            (result,) = await asyncio.gather(bad, return_exceptions=True)
            return result, texts  # type: ignore[return-value]

        result, texts = asyncio.run(asyncio.wait_for(main(), 60))
    assert isinstance(result, ModelFault) and result.cause == "disconnected"
    assert set(texts) == {"here"}


@pytest.mark.parametrize(
    ("cause", "message", "final", "away"),
    [
        ("connection", "no connection to h:1: Connect call failed", False, True),
        ("truncated body", "closed in the middle", False, True),
        ("http 503", "not now", False, True),
        ("http 521", "web server is down", False, True),
        ("http 500", "dial tcp [::1]:11434: connect: connection refused", False, True),
        ("http 500", "litellm.APIConnectionError: OllamaException - Cannot connect to host", False, True),
        ("proxy", "the proxy refuses the connection to h: HTTP 503 Service Unavailable", False, True),
        ("failed: server_error", "Connection error.", False, True),
        ("http 520", "web server returned an unknown error", False, True),
        ("http 500", "llama runner process has terminated: signal: killed", False, True),
        ("http 500", "EngineCore encountered an issue. See stack trace (above) for the root cause.", False, True),
        ("http 500", "The model is still loading", False, True),
        ("http 500", "internal error", False, False),
        ("http 429", "rate limit", False, False),
        ("http 529", "overloaded", False, False),
        ("http 400", "connection refused", True, False),
        ("http 503", "no credit", True, False),
        ("timeout", "no answer within 600 s", False, False),
        ("certificate", "not trusted", True, False),
        ("invalid json", "not valid JSON: 'no healthy upstream'", False, False),
    ],
)
def test_what_shows_an_outage(cause: str, message: str, final: bool, away: bool) -> None:
    assert shows_outage(Failure(cause, message, final)) is away
