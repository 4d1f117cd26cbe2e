"""All servers of AgentGauge against those who connect and send nothing, little, too slowly or nonsense."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from agentgauge.core import web_server
from agentgauge.core.files import raise_file_limit
from agentgauge.core.registry import Registry
from agentgauge.core.web_server import answering, bind, served, whole_body
from agentgauge.run.endpoint_proxy import EndpointProxy
from bench_gta.similarity import similarity
from bench_gta.similarity_server import make_app as similarity_app
from tests.plugin.project import ROOT
from tests.tools.servers import background, threaded
from tests.tools.test_server import make
from tool_impls.mcp.gateway import Gateway
from tool_impls.server.app import running

CAP = 12
WAITING = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"

Start = Callable[[Path], AbstractAsyncContextManager[int]]


@asynccontextmanager
async def view(folder: Path) -> AsyncIterator[int]:
    from agentgauge_reports.view.server import Viewer

    viewer = Viewer(folder, Registry())
    async with served(viewer.app(), bind("127.0.0.1", 0)) as port:
        yield port
    viewer.close()


@asynccontextmanager
async def tools(_: Path) -> AsyncIterator[int]:
    server = threaded([make("Tool", lambda folder, word: word)])
    async with running(server, ("127.0.0.1", 0)) as port:
        yield port


@asynccontextmanager
async def mcp(_: Path) -> AsyncIterator[int]:
    gateway = await Gateway.start()
    yield gateway.port
    await gateway.close()


@asynccontextmanager
async def agents(_: Path) -> AsyncIterator[int]:
    proxy = EndpointProxy()
    yield await proxy.start()
    await proxy.close()


def texts(_: Path) -> AbstractAsyncContextManager[int]:
    return served(similarity_app(similarity("trigram")), bind("127.0.0.1", 0))


SERVERS: dict[str, tuple[Start, str, int]] = {
    "view": (view, "GET /", 403),
    "tools": (tools, "GET /health", 200),
    "mcp": (mcp, "POST /mcp", 401),
    "agents": (agents, "POST /v1/chat/completions", 401),
    "texts": (texts, "GET /", 405),
}


def of_plugins(names: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.uses(name) if name == "view" else ()) for name in names]


@contextmanager
def started(start: Start, folder: Path) -> Iterator[int]:
    ports: list[int] = []

    async def serve(ready: asyncio.Event) -> None:
        async with start(folder) as port:
            ports.append(port)
            ready.set()
            await asyncio.Event().wait()

    with background(serve):
        yield ports[0]


def connect(port: int, send: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.sendall(send)
    return connection


def ask(port: int, line: str, more: bytes = b"") -> bytes:
    """The start of the answer to a request without a body."""
    with connect(port, f"{line} HTTP/1.1\r\nHost: localhost:{port}\r\n".encode() + more + b"\r\n") as connection:
        return connection.recv(1 << 16)


def closed(connection: socket.socket) -> bool:
    """Whether the server has closed it, or does so in time; it may have said something before."""
    try:
        while connection.recv(1 << 16):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "MOST_CONNECTIONS", CAP)
    monkeypatch.setattr(web_server, "_UNDISTURBED", 0.02)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: loc", b"nothing"], ids=["silent", "slow", "odd"])
@pytest.mark.parametrize("name", of_plugins(SERVERS))
def test_idle_connections_keep_nobody_out(
    name: str, sent: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    start, line, status = SERVERS[name]
    with started(start, tmp_path) as port, contextlib.ExitStack() as idle:
        many = [idle.enter_context(connect(port, sent)) for _ in range(4 * CAP)]
        for _ in range(3):
            assert ask(port, line).split()[1] == b"%d" % status
        assert all(map(closed, many[: 2 * CAP]))
    assert caplog.text == ""


BAD = {
    "a bad chunk": b"POST PATH HTTP/1.1\r\nHost: localhost:PORT\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a chunk that is cut": b"POST PATH HTTP/1.1\r\nHost: localhost:PORT\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    "a body that is cut": b"POST PATH HTTP/1.1\r\nHost: localhost:PORT\r\nContent-Length: 9\r\n\r\nab",
    "no gzip": b"POST PATH HTTP/1.1\r\nHost: localhost:PORT\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "two lengths": b"POST PATH HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
    "a long header": b"GET PATH HTTP/1.1\r\nX: " + b"y" * 20_000 + b"\r\n\r\n",
    "a bad target": b"GET http://[ HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n",
}


@pytest.mark.parametrize("name", of_plugins(SERVERS))
def test_nonsense_leaves_nothing_in_the_log(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A stranger could write any number of lines."""
    start, line, _ = SERVERS[name]
    with started(start, tmp_path) as port, contextlib.ExitStack() as open_:
        links = []
        for lines in BAD.values():
            path = line.split()[1].encode()
            links.append(
                open_.enter_context(connect(port, lines.replace(b"PATH", path).replace(b"PORT", b"%d" % port)))
            )
            links[-1].shutdown(socket.SHUT_WR)
        assert all(map(closed, links))
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


@asynccontextmanager
async def plain(handle: Callable[[web.Request], object]) -> AsyncIterator[int]:
    app = web.Application()
    app.router.add_route("*", "/", handle)  # type: ignore[arg-type]
    async with served(app, bind("127.0.0.1", 0)) as port:
        yield port


class Held:
    """An application that answers when it may go on."""

    def __init__(self) -> None:
        self.goes_on = threading.Event()
        self.arrived: list[web.Request] = []

    async def handle(self, request: web.Request) -> web.Response:
        with answering(request):
            self.arrived.append(request)
            await asyncio.to_thread(self.goes_on.wait, 10)
        return web.Response(text="done")

    def wait_for(self, count: int) -> None:
        until = time.monotonic() + 10
        while len(self.arrived) < count and time.monotonic() < until:
            time.sleep(0.01)
        assert len(self.arrived) == count


@pytest.mark.usefixtures("few")
def test_a_connection_whose_request_is_answered_is_not_closed(tmp_path: Path) -> None:
    held = Held()
    with started(lambda _: plain(held.handle), tmp_path) as port, contextlib.ExitStack() as all_:
        waiting = []
        for count in range(CAP):
            waiting.append(all_.enter_context(connect(port, WAITING)))
            held.wait_for(count + 1)
        late = all_.enter_context(connect(port, WAITING))  # has to wait until one of them ends
        late.settimeout(0.2)
        with pytest.raises(TimeoutError):
            late.recv(1)
        held.goes_on.set()
        late.settimeout(10)
        assert all(b"done" in link.recv(1 << 16) for link in [*waiting, late])


def test_of_many_who_ask_at_once_none_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "MOST_CONNECTIONS", CAP)
    last = WAITING.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    held = Held()
    held.goes_on.set()
    with started(lambda _: plain(held.handle), tmp_path) as port, contextlib.ExitStack() as all_:
        links = [all_.enter_context(connect(port, last)) for _ in range(5 * CAP)]
        assert all(b"done" in link.recv(1 << 16) for link in links)


@pytest.mark.usefixtures("few")
def test_another_machine_gets_half_of_the_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "_is_this_machine", lambda host: False)
    held = Held()
    with started(lambda _: plain(held.handle), tmp_path) as port, contextlib.ExitStack() as all_:
        idle = [all_.enter_context(connect(port)) for _ in range(CAP // 2)]
        time.sleep(0.1)
        links = []
        for count in range(CAP // 2):  # the oldest make room
            links.append(all_.enter_context(connect(port, WAITING)))
            held.wait_for(count + 1)
        assert all(map(closed, idle))
        assert closed(all_.enter_context(connect(port)))  # no other one is idle
        held.goes_on.set()
        assert all(b"done" in link.recv(1 << 16) for link in links)


def test_slow_headers_and_bodies_are_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a new connection, and on one that was used before; bytes that trickle in do not count."""
    monkeypatch.setattr(web_server, "SECONDS", 0.4)
    used = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"

    async def handle(request: web.Request) -> web.Response:
        return web.Response(text=f"{len(await whole_body(request))} bytes")

    def trickle(link: socket.socket) -> bytes:
        """Send a byte every 50 ms until the server closes; returns what it said."""
        said = b""
        link.settimeout(0.05)
        for _ in range(100):
            try:
                link.sendall(b"x")
                part = link.recv(1 << 16)
            except TimeoutError:
                continue
            except ConnectionError:
                return said
            said += part
            if not part or b" 408 " in said:
                return said
        raise AssertionError("the server waits for ever")

    with started(lambda _: plain(handle), tmp_path) as port:
        for before in (b"", used):
            for begun, end in (
                (b"GET / HTTP/1.1\r\nX: ", b""),
                (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999\r\n\r\n", b"408"),
            ):
                with connect(port, before) as link:
                    if before:
                        assert b"0 bytes" in link.recv(1 << 16)
                    link.sendall(begun)
                    assert end in trickle(link)


LOW = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (150, 150))
from agentgauge.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
COMMANDS = {
    "view": (["view", "RUNS"], "GET /static/view.js", b"403"),
    "tools": (["serve-tools", "--port=0", "--tools=Calculator"], "GET /health", b"200"),
    "mcp": (["serve-tools", "--port=0", "--tools=Calculator", "--mcp"], "POST /mcp", b"401"),
    "model": (["serve-model", "--model=baseline"], "GET /v1/models", b"200"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", of_plugins(COMMANDS))
def test_a_command_with_few_files_answers_beside_idle_connections(name: str, tmp_path: Path) -> None:
    """150 files may be open, which no more connections than that would use up without a bound."""
    command, line, status = COMMANDS[name]
    (tmp_path / "runs").mkdir()
    words = [word.replace("RUNS", str(tmp_path / "runs")) for word in command]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-c", LOW, *words], stdout=subprocess.PIPE, stderr=log, cwd=ROOT)
    try:
        assert process.stdout
        said = process.stdout.readline().decode()
        url = json.loads(said)["url"] if said.startswith("{") else said
        port = int(url.split(":")[2].split("/")[0])
        with contextlib.ExitStack() as idle:
            for _ in range(300):
                idle.enter_context(connect(port))
            assert ask(port, line).split()[1] == status
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    assert (tmp_path / "log").read_text() == ""


def test_the_limit_of_files_is_raised_and_never_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = resource.RLIM_INFINITY
    for soft, hard, wanted, found in (
        (1024, 4096, 2000, 2000),
        (1024, 4096, 9000, 4096),
        (1024, endless, 9000, 9000),
        (4096, 4096, 2000, 4096),
        (24, 24, 2000, 24),
        (endless, endless, 2000, 2000),
    ):
        limits = [(soft, hard)]
        monkeypatch.setattr(resource, "getrlimit", lambda _, limits=limits: limits[-1])
        monkeypatch.setattr(resource, "setrlimit", lambda _, new, limits=limits: limits.append(new))
        assert raise_file_limit(wanted) == found
        assert limits[-1] == ((found, hard) if 0 < soft < found else (soft, hard))
