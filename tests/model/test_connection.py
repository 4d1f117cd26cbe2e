"""The connection: what becomes of a request, also where it ends early."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.causes import Failure
from agentgauge.core.chat import ChatRequest
from agentgauge.core.config import Config, ModelTable
from agentgauge.core.errors import ModelFault, UsageProblem
from agentgauge.model import connection
from agentgauge.model.client import OpenAIModel
from agentgauge.model.limits import AdaptiveLimiter
from agentgauge.model.open_requests import UNSENT, OpenRequests
from agentgauge.model.presets import resolve
from agentgauge.model.retry import EndpointHealth, RetryPolicy, persist
from tests.model import fault_server as serve
from tests.model.fault_server import Act, FaultServer
from tests.model.talking import ENVIRON, HELLO, SECRET, spec_at, talk_to

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_proxies")]


def _redirect(code: int, location: str) -> Act:
    return serve.body(b"", code=code, headers={"Location": location})


@pytest.mark.parametrize(("code", "method"), [(307, "POST"), (308, "POST"), (301, "GET"), (302, "GET"), (303, "GET")])
def test_redirects_are_followed(code: int, method: str) -> None:
    with FaultServer([_redirect(code, "/v2/elsewhere?a=b"), serve.answer("there")]) as server:
        assert talk_to(spec_at(server.url)).text == "there"
    first, second = server.requests
    assert (second.method, second.path) == (method, "/v2/elsewhere?a=b")
    assert second.headers["authorization"] == f"Bearer {SECRET}"
    assert second.body == (first.body if method == "POST" else None)


@pytest.mark.parametrize("azure", [False, True])
def test_the_key_does_not_follow_a_redirect_to_another_place(azure: bool) -> None:
    with FaultServer([serve.answer("there")]) as other, FaultServer([_redirect(307, f"{other.url}/x")]) as server:
        if azure:
            table = ModelTable(provider="azure", model="gpt-4o", endpoint=server.url.removesuffix("/v1"), timeout=5.0)
            environ = {"AZURE_OPENAI_API_KEY": SECRET}
            spec = resolve("mine", config=Config(models={"mine": table}), environ=environ)
        else:
            spec, environ = spec_at(server.url), ENVIRON
        assert talk_to(spec, environ=environ).text == "there"
    assert SECRET in str(server.requests[0].headers)
    assert SECRET not in str(other.requests[0].headers)


def test_a_redirect_in_a_circle_ends_at_once() -> None:
    with FaultServer([_redirect(307, "/v1/chat/completions")]) as server, pytest.raises(ModelFault) as fault:
        talk_to(spec_at(server.url, max_retries=6))
    assert fault.value.cause == "redirects" and "cannot be followed" in str(fault.value)
    assert len(server.requests) == 21


def test_requests_share_a_kept_connection() -> None:
    ports: list[int] = []

    def act(connection: socket.socket, seen: serve.Seen, stopped: threading.Event) -> bool:
        ports.append(connection.getpeername()[1])
        return serve.answer()(connection, seen, stopped)

    async def talk(model: OpenAIModel) -> None:
        for _ in range(5):
            await model.complete(HELLO)

    with FaultServer([act]) as server:
        talk_to(spec_at(server.url), talk)
    assert len(ports) == 5 and len(set(ports)) == 1


def test_every_concurrent_request_has_a_connection() -> None:
    all_there = threading.Barrier(150)  # more than aiohttp has by default

    def act(connection: socket.socket, seen: serve.Seen, stopped: threading.Event) -> bool:
        all_there.wait(20)
        return serve.answer()(connection, seen, stopped)

    async def talk(model: OpenAIModel) -> None:
        await asyncio.gather(*(model.complete(HELLO) for _ in range(150)))

    with FaultServer([act]) as server:
        talk_to(spec_at(server.url, timeout=30.0), talk, limiter=AdaptiveLimiter(150, start=150))


def test_an_idle_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_IDLE", 0.2)
    gone = threading.Event()

    def act(channel: socket.socket, seen: serve.Seen, stopped: threading.Event) -> bool:
        serve.answer()(channel, seen, stopped)
        channel.settimeout(5)
        if channel.recv(1) == b"":
            gone.set()
        return False

    async def talk(model: OpenAIModel) -> None:
        await model.complete(HELLO)
        assert await asyncio.to_thread(gone.wait, 5)

    with FaultServer([act]) as server:
        talk_to(spec_at(server.url), talk)


def _answer_and_hang_up(connection: socket.socket, seen: serve.Seen, stopped: threading.Event) -> bool:
    serve.answer()(connection, seen, stopped)
    return False  # closes without having said so


def test_a_connection_that_the_server_closed_meanwhile_costs_no_try() -> None:
    async def talk(model: OpenAIModel) -> None:
        for _ in range(3):
            await model.complete(HELLO)
            await asyncio.sleep(0.05)

    with FaultServer([_answer_and_hang_up]) as server:
        talk_to(spec_at(server.url), talk)
    assert len(server.requests) == 3


def test_a_connection_that_the_server_closed_while_the_loop_was_busy_costs_no_try() -> None:
    async def talk(model: OpenAIModel) -> None:
        for _ in range(2):
            await asyncio.gather(*(model.complete(HELLO) for _ in range(8)))
            time.sleep(0.2)  # noqa: ASYNC251 - scores, say, which take a while

    with FaultServer([_answer_and_hang_up]) as server:
        talk_to(spec_at(server.url), talk)
    assert len(server.requests) == 16


def test_cookies_are_not_sent_back() -> None:
    async def talk(model: OpenAIModel) -> None:
        for _ in range(3):
            await model.complete(HELLO)

    with FaultServer([serve.data(serve.completion("ok"), headers={"Set-Cookie": "replica=7; Path=/"})]) as server:
        talk_to(spec_at(server.url), talk)
    assert not any("cookie" in request.headers for request in server.requests)


@pytest.mark.parametrize("reason", ["成功".encode("gbk"), "Indisponível".encode("latin-1")])
def test_a_reason_in_any_encoding_is_no_fault(reason: bytes) -> None:
    content = json.dumps(serve.completion("ok")).encode()
    head = b"HTTP/1.1 200 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (reason, len(content))
    with FaultServer([serve.raw(head + content)]) as server:
        assert talk_to(spec_at(server.url)).text == "ok"


@pytest.mark.parametrize("charset", ["idna", "punycode", "base64", "rot13", "undefined", "nonsense"])
def test_an_error_in_any_charset_is_that_error(charset: str) -> None:
    busy = serve.body(b'{"error": {"message": "busy"}}', code=503, kind=f"application/json; charset={charset}")
    with FaultServer([busy, serve.answer("ok")]) as server:
        assert talk_to(spec_at(server.url, max_retries=1)).text == "ok"


def test_a_cancelled_request_hangs_up_and_the_next_one_goes_on() -> None:
    begun, hung_up = threading.Event(), threading.Event()

    def wait(connection: socket.socket, _seen: serve.Seen, _stopped: threading.Event) -> bool:
        begun.set()
        connection.settimeout(5)
        if connection.recv(1) == b"":
            hung_up.set()
        return False

    async def talk(model: OpenAIModel) -> str:
        task = asyncio.create_task(model.complete(HELLO))
        await asyncio.to_thread(begun.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(hung_up.wait, 5)
        return (await model.complete(HELLO)).text

    with FaultServer([wait, serve.answer("next")]) as server:
        assert talk_to(spec_at(server.url), talk) == "next"


def test_closing_ends_every_connection_and_can_be_repeated() -> None:
    gone = threading.Event()

    def act(connection: socket.socket, seen: serve.Seen, stopped: threading.Event) -> bool:
        serve.answer()(connection, seen, stopped)
        connection.settimeout(5)
        if connection.recv(1) == b"":
            gone.set()
        return False

    async def talk(model: OpenAIModel) -> None:
        await model.complete(HELLO)
        await model.close()
        assert await asyncio.to_thread(gone.wait, 5)
        await model.close()

    with FaultServer([act]) as server:
        talk_to(spec_at(server.url), talk)


def test_a_request_of_20_mb_arrives_whole_at_every_try_and_redirect() -> None:
    text = "é" * 10_000_000
    acts = [_redirect(307, "/v1/x"), serve.status(500), serve.answer("read")]
    with FaultServer(acts) as server:
        reply = talk_to(spec_at(server.url, max_retries=1), lambda model: model.complete(_says(text)))
    assert reply.text == "read"
    assert [len(seen.body["messages"][0]["content"]) for seen in server.requests] == [len(text)] * 3


def _says(text: str) -> ChatRequest:
    return ChatRequest(messages=({"role": "user", "content": text},))


def test_text_goes_out_as_it_is_and_what_json_cannot_carry_is_replaced_or_refused() -> None:
    with FaultServer([serve.answer()]) as server:
        talk_to(spec_at(server.url), lambda model: model.complete(_says('é 漢 \u2028 " \ud800')))
        with pytest.raises(UsageProblem, match="look at its extra_body"):
            talk_to(spec_at(server.url, extra_body={"top_p": float("nan")}))
    (seen,) = server.requests
    assert seen.body["messages"][0]["content"] == 'é 漢 \u2028 " ?'


def test_an_answer_without_end_is_cut_off() -> None:
    sent = 0

    def act(connection: socket.socket, _seen: serve.Seen, _stopped: threading.Event) -> bool:
        nonlocal sent
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 200000000\r\n\r\n")
        for _ in range(200):
            connection.sendall(b" " * 1_000_000)
            sent += 1_000_000
        return False

    with FaultServer([act]) as server, pytest.raises(ModelFault) as fault:
        talk_to(spec_at(server.url))
    assert fault.value.cause == "answer too long" and "longer than 32 MB" in str(fault.value)
    assert sent < 100_000_000


@pytest.mark.parametrize(("code", "headers"), [(200, {}), (500, {}), (307, {"Location": "/v1/chat/completions"})])
def test_a_packed_answer_is_counted_unpacked(code: int, headers: dict[str, str]) -> None:
    bomb = gzip.compress(b" " * 40_000_000)
    headers = {"Content-Encoding": "gzip", **headers}
    with (
        FaultServer([serve.body(bomb, code=code, headers=headers)]) as server,
        pytest.raises(ModelFault) as fault,
    ):
        talk_to(spec_at(server.url))
    assert fault.value.cause == "answer too long" and len(bomb) < 100_000


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_packed_answers_are_unpacked(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    content = json.dumps(serve.completion("unpacked")).encode()
    with FaultServer([serve.body(pack(content), headers={"Content-Encoding": encoding})]) as server:
        assert talk_to(spec_at(server.url)).text == "unpacked"
    assert encoding in server.requests[0].headers["accept-encoding"]


def test_a_packed_answer_that_breaks_off_is_a_fault() -> None:
    content = gzip.compress(json.dumps(serve.completion("x" * 5000)).encode())[:-20]
    with (
        FaultServer([serve.body(content, headers={"Content-Encoding": "gzip"})]) as server,
        pytest.raises(ModelFault) as fault,
    ):
        talk_to(spec_at(server.url))
    assert fault.value.cause in ("garbled body", "invalid json", "truncated body")


def test_an_answer_in_pieces_is_put_together() -> None:
    content = json.dumps(serve.completion("in pieces")).encode()
    pieces = b"".join(
        b"%x\r\n%b\r\n" % (len(content[n : n + 7]), content[n : n + 7]) for n in range(0, len(content), 7)
    )
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    with FaultServer([serve.raw(head + pieces + b"0\r\n\r\n", close=False)]) as server:
        assert talk_to(spec_at(server.url)).text == "in pieces"


PROBE = """
import asyncio, json, sys
from agentgauge.model.client import OpenAIModel
from agentgauge.model.presets import resolve
from agentgauge.core.chat import ChatRequest

def imported():
    return sorted({"openai", "httpx2", "aiohttp", "requests", "numpy"} & sys.modules.keys())

async def main(url):
    model = OpenAIModel(resolve("m", url=url, environ={}), environ={})
    before = imported()
    reply = await model.complete(ChatRequest(({"role": "user", "content": "Hello"},)))
    await model.close()
    return [reply.text, before, imported()]

print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
"""


def test_only_the_first_request_imports_the_package() -> None:
    with FaultServer([serve.answer("fine")]) as server:
        done = subprocess.run(
            [sys.executable, "-c", PROBE, server.url],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
            cwd=Path(__file__).parents[2],
        )
    assert json.loads(done.stdout) == ["fine", [], ["aiohttp", "httpx2", "openai"]]


# -- requests that are open when the run stops

LONG = 60.0


def run(*sends: Any) -> tuple[list[Any], OpenRequests]:
    """The outcomes of requests; the run stops when all of them have begun. Fails if that takes long."""
    requests = OpenRequests()

    async def main() -> list[Any]:
        running = [asyncio.ensure_future(requests.run(send)) for send in sends]
        await asyncio.sleep(0.05)
        requests.stop()
        async with asyncio.timeout(5):
            return await asyncio.gather(*running, requests.run(at_once), return_exceptions=True)

    return asyncio.run(main()), requests


async def at_once(sending: AbstractContextManager[None]) -> str:
    with sending:
        return "answer"


async def on_its_way(sending: AbstractContextManager[None]) -> str:
    with sending:
        await asyncio.sleep(0.2)
    return "answer"


async def waiting_for_a_slot(sending: AbstractContextManager[None]) -> str:
    await asyncio.sleep(LONG)
    return "never"


async def between_two_attempts(sending: AbstractContextManager[None]) -> str | Failure:
    async def attempt() -> str | Failure:
        with sending:
            return Failure("http 500", "")

    return await persist(attempt, RetryPolicy(base=LONG, cap=LONG), EndpointHealth())


async def failing_when_the_run_stops(sending: AbstractContextManager[None]) -> str | Failure:
    async def attempt() -> str | Failure:
        with sending:
            await asyncio.sleep(0.2)
            return Failure("http 500", "")

    return await persist(attempt, RetryPolicy(base=LONG, cap=LONG), EndpointHealth())


async def failing_without_a_wait(sending: AbstractContextManager[None]) -> str | Failure:
    async def attempt() -> str | Failure:
        with sending:
            await asyncio.sleep(0.2)
            return Failure("http 429", "", limited=True)

    return await persist(attempt, RetryPolicy(scale=0.0), EndpointHealth())


async def with_a_timeout_of_its_own(sending: AbstractContextManager[None]) -> str:
    with sending:
        async with asyncio.timeout(0.1):
            await asyncio.sleep(LONG)
    return "never"


@pytest.mark.parametrize(
    ("send", "outcome"),
    [
        (on_its_way, "answer"),
        (at_once, "answer"),
        (waiting_for_a_slot, UNSENT),
        (between_two_attempts, UNSENT),
        (failing_when_the_run_stops, UNSENT),
        (failing_without_a_wait, UNSENT),
    ],
)
def test_what_becomes_of_a_request(send: Any, outcome: Any) -> None:
    (found, later), requests = run(send)
    assert found == outcome
    assert later is UNSENT  # begun after the stop
    assert requests.sent == 0


def test_a_timeout_of_the_request_itself_is_no_stop() -> None:
    (found, _), _ = run(with_a_timeout_of_its_own)
    assert isinstance(found, TimeoutError)
