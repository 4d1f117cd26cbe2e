"""Requests that the tool server refuses: of foreign pages and names, without its token, slow, long, malformed."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from urllib.parse import urlsplit

import pytest
from aiohttp import StreamReader
from multidict import CIMultiDict

from agentgauge.core.errors import ToolFault, UsageProblem
from agentgauge.core.processes import TOOL_TOKEN, without_token
from tests.tools.servers import threaded, web_server
from tests.tools.test_server import make
from tool_impls.server.client import ToolServerBox, server_fingerprints
from tool_impls.server.command import main
from tool_impls.server.requests import Access, TooLarge, Uploads

NASTY = Path(__file__).with_name("nasty_tools.py")
HERE = ("127.0.0.1", 8000)
OURS = {"Host": "127.0.0.1:8000"}


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1:8000", HERE),
        ("LocalHost:8000", HERE),
        ("[::1]:8000", ("::1", 8000, 0, 0)),
        ("127.0.0.1", ("127.0.0.1", 80)),
        (
            "10.1.2.3:8000",
            ("10.1.2.3", 8000),
        ),  # a server on all addresses, called by the one at which the request arrived
        ("10.1.2.3:8000", ("::ffff:10.1.2.3", 8000, 0, 0)),
        ("gpu-box:8000", HERE),
        ("GPU-box", HERE),  # behind a proxy or a tunnel, at another port
        ("[2001:db8::1]:7", HERE),
    ],
)
def test_hosts_that_are_the_servers(host: str, local: Any) -> None:
    assert Access(names=frozenset({"gpu-box", "2001:db8::1"})).refusal("/tools", {"Host": host}, local) is None


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:8000",
        "127.0.0.1:8001",
        "127.0.0.1.evil.example:8000",
        "localhost.:8000",
        "user@127.0.0.1:8000",
        "127.0.0.1:8000 evil.example",
        "[::1:8000",
        "10.9.9.9:8000",
        "localhost:8000\n",
        "localhost:99999999",
    ],
)
@pytest.mark.parametrize("path", ["/health", "/Tool"])
def test_foreign_hosts_are_refused(host: str, path: str) -> None:
    refusal = Access("t").refusal(path, {"Host": host, "Authorization": "Bearer t"}, HERE)
    assert refusal is not None and refusal.status == 403 and repr(host) in refusal.reason


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:8001"},
        {"Origin": "http://localhost:8000"},  # another origin than 127.0.0.1, and another page's
        {"Origin": "null"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://127.0.0.1:8000", "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_foreign_pages_are_refused(headers: Mapping[str, str]) -> None:
    refusal = Access().refusal("/health", {**OURS, **headers}, HERE)
    assert refusal is not None and refusal.status == 403 and "web pages" in refusal.reason


@pytest.mark.parametrize(
    "headers", [{}, {"Origin": "http://127.0.0.1:8000"}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}]
)
def test_programs_and_own_pages_are_not(headers: Mapping[str, str]) -> None:
    assert Access().refusal("/Tool", {**OURS, **headers}, HERE) is None


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("header", ["Bearer tökén", "bearer tökén", basic("user:tökén"), basic(":tökén")])
def test_the_token_is_taken(header: str) -> None:
    assert Access("tökén").refusal("/Tool", {**OURS, "Authorization": header}, HERE) is None


@pytest.mark.parametrize(
    "header",
    [
        *("", "tökén", "Bearer", "Bearer x", "Bearer tökén ", "Digest tökén", "Basic ???", "Bearer \udcff"),
        basic("tökén"),
    ],
)
def test_anything_else_is_not(header: str) -> None:
    refusal = Access("tökén").refusal("/Tool", {**OURS, "Authorization": header}, HERE)
    assert refusal is not None and refusal.status == 401 and "tökén" not in refusal.reason


@pytest.mark.parametrize(
    ("address", "plain", "token"),
    [
        ("http://:t%2Fk@box:1", "http://box:1", "t/k"),
        ("http://user:t@box:1/x", "http://box:1/x", "t"),
        ("http://user@box:1", "http://box:1", None),
        ("http://:t@[::1]:1", "http://[::1]:1", "t"),
        ("http://box:1", "http://box:1", None),
    ],
)
def test_an_address_carries_a_token(address: str, plain: str, token: str | None) -> None:
    assert without_token(address) == (plain, token)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--host", "0.0.0.0", "--no-token"], "--host 0.0.0.0 can be reached from other machines"),
        (["--host", "gpu-box", "--no-token"], "--host gpu-box can be reached from other machines"),
        (
            ["--allow-host", "http://gpu-box"],
            "--allow-host takes a host name or IP address without port, such as gpu-box; got 'http://gpu-box'",
        ),
        (["--allow-host", "gpu-box:80"], "got 'gpu-box:80'"),
    ],
)
def test_wrong_usage_is_one_sentence(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 4
    captured = capsys.readouterr()
    assert captured.out == "" and told in captured.err and captured.err.count("\n") == 1


# --- a server process -----------------------------------------------------------------------------------------------


class Served:
    """A running ``serve-tools``: what it printed when it started, and what it wrote to its log."""

    def __init__(self, announced: Mapping[str, str], log: Path) -> None:
        self.announced = announced
        self.url = announced["url"]
        self.token = announced.get("token", "")
        self.netloc = urlsplit(self.url).netloc
        self.log = log

    def raw(self, request: bytes, *, seconds: float = 10) -> bytes:
        """The bytes of the answer to bytes; the connection is the server's to close."""
        host, _, port = self.netloc.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=seconds) as connection:
            connection.sendall(request)
            answer = b""
            while part := connection.recv(65536):
                answer += part
        return answer

    def ask(self, start: str = "GET /tools", body: bytes = b"", **headers: str) -> tuple[int, Any]:
        """Status and decoded body. Names of headers are written with ``_``; Host is the server's by default."""
        lines = {"Host": self.netloc, "Connection": "close", "Content-Length": str(len(body))}
        lines |= {name.replace("_", "-"): value for name, value in headers.items()}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        answer = self.raw(f"{start} HTTP/1.1\r\n{head}\r\n".encode() + body)
        first, _, rest = answer.partition(b"\r\n")
        content = rest.partition(b"\r\n\r\n")[2]
        return int(first.split()[1]), json.loads(content) if content[:1] in (b"{", b"[", b'"') else content

    def calls(self) -> float:
        """Calls of its tools that it has answered, whatever it answered."""
        _, figures = self.ask("GET /metrics", Authorization=f"Bearer {self.token}")
        lines = figures.decode().splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("agentgauge_tool_calls_total{"))


@contextmanager
def serve(*arguments: str, **environment: str) -> Iterator[Served]:
    command = [
        sys.executable,
        "-m",
        "tool_impls.server.command",
        "--port",
        "0",
        *("--extra", str(NASTY)),
        "--tools",
        "Echo,DrawBox",
        *arguments,
    ]
    inherited = {name: value for name, value in os.environ.items() if name != TOOL_TOKEN}
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("w") as log:
        given = {**inherited, **environment}
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=given)
        try:
            assert child.stdout is not None
            yield Served(json.loads(child.stdout.readline()), Path(log.name))
        finally:
            child.terminate()
            child.communicate(timeout=10)


@pytest.fixture(scope="module")
def guarded() -> Iterator[Served]:
    with serve() as served:
        yield served


@pytest.fixture(scope="module")
def open_() -> Iterator[Served]:
    with serve("--no-token") as served:
        yield served


CALL = {"Content_Type": "application/x-www-form-urlencoded", "body": b"word=hello"}


def test_a_token_is_made_printed_and_needed(guarded: Served) -> None:
    assert len(guarded.token) >= 32
    for start in ("GET /tools", "GET /openapi.json", "GET /metrics", "POST /Echo", "GET /nowhere"):
        status, body = guarded.ask(start, **CALL)
        assert status == 401 and "requires a token" in body["detail"], start
    assert guarded.ask("GET /health")[0] == 200
    assert guarded.ask("POST /Echo", Authorization=f"Bearer {guarded.token}", **CALL) == (200, "hello")
    assert guarded.log.read_text() == ""


def test_every_server_has_another_token(guarded: Served) -> None:
    with serve() as other:
        assert other.token != guarded.token
        assert other.ask(Authorization=f"Bearer {guarded.token}")[0] == 401


def test_a_token_that_is_given_is_not_printed() -> None:
    with serve(**{TOOL_TOKEN: "given-by-hand"}) as served:
        assert served.announced.keys() == {"url"}
        assert served.ask(Authorization="Bearer given-by-hand")[0] == 200


def test_the_client_takes_the_token_from_the_address(
    guarded: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TOOL_TOKEN, raising=False)

    async def call(address: str) -> str:
        box = ToolServerBox(address)
        try:
            (output,) = await box.call("Echo", {"word": "42"}, folder=tmp_path, readable=())
            return str(output.content)
        finally:
            await box.close()

    address = guarded.url.replace("http://", f"http://:{guarded.token}@")
    assert asyncio.run(call(address)) == "42"
    assert server_fingerprints(address, ["Echo"])["Echo"]["state"] == "ready"
    with pytest.raises(
        ToolFault,
        match=f"{guarded.url} answered HTTP 401 for its list of tools; it requires its token: set {TOOL_TOKEN}",
    ) as fault:
        asyncio.run(call(guarded.url.replace("http://", "http://:wrong-one@")))
    with pytest.raises(UsageProblem, match="does not accept this token; give the one that it printed") as problem:
        server_fingerprints(guarded.url.replace("http://", "http://:wrong-one@"), ["Echo"])
    where = f"in the environment variable {TOOL_TOKEN}, or as :TOKEN@ before the host of --tool-server"
    with pytest.raises(UsageProblem, match=f"requires a token; give the one that it printed, {where}"):
        server_fingerprints(guarded.url, ["Echo"])
    assert "wrong-one" not in str(fault.value) + str(problem.value)


def test_a_token_goes_to_no_other_server_that_a_document_names(guarded: Served, tmp_path: Path) -> None:
    from tests.tools.servers import canned_server, http

    document = json.loads(json.dumps(guarded.ask("GET /openapi.json", Authorization=f"Bearer {guarded.token}")[1]))
    with canned_server({"/Echo": [http(200, '"1"')]}) as other:
        document["servers"] = [{"url": other.url}]
        with canned_server({"/openapi.json": [http(200, document)]}) as named:

            async def call() -> None:
                box = ToolServerBox(named.url.replace("http://", "http://:s3cret@"))
                await box.call("Echo", {"word": "1"}, folder=tmp_path, readable=())
                await box.close()

            asyncio.run(call())
        assert named.requests[0].headers["authorization"] == "Bearer s3cret"
        assert [request.headers.get("authorization") for request in other.requests] == [None]


def test_a_name_that_was_rebound_reads_nothing(open_: Served, guarded: Served) -> None:
    """As after DNS rebinding: the browser sends the attacker's name, and would let its page read the answer."""
    port = open_.netloc.rpartition(":")[2]
    for served in (open_, guarded):
        before = served.calls()
        for start in ("GET /openapi.json", "GET /health", "POST /Echo"):
            headers = {
                "Host": f"evil.example:{port}",
                "Origin": f"http://evil.example:{port}",
                "Sec_Fetch_Site": "same-origin",
            }
            status, body = served.ask(start, **headers, **CALL)
            assert status == 403 and "does not serve the host 'evil.example" in body["detail"]
        assert served.calls() == before
    assert open_.ask()[0] == 200


def test_a_name_may_be_allowed() -> None:
    with serve("--no-token", "--allow-host", "gpu-box", "--allow-host", "10.1.2.3") as served:
        assert served.ask(Host="gpu-box:16181")[0] == served.ask(Host="10.1.2.3")[0] == 200
        assert served.ask(Host="other-box:16181")[0] == 403


def test_a_refused_request_is_answered_before_its_body(open_: Served) -> None:
    head = f"POST /Echo HTTP/1.1\r\nHost: evil.example\r\nContent-Length: {10 * 2**20}\r\n\r\n"
    start = time.monotonic()
    assert open_.raw(head.encode()).startswith(b"HTTP/1.1 403")
    assert time.monotonic() - start < 3


def test_no_header_lets_pages_read_answers(open_: Served) -> None:
    headers = f"Host: {open_.netloc}\r\nOrigin: http://evil.example\r\nConnection: close\r\n"
    answer = open_.raw(f"OPTIONS / HTTP/1.1\r\n{headers}\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 403") and b"access-control" not in answer.lower()


# --- malformed, slow and long requests ------------------------------------------------------------------------------

MULTIPART = "Connection: close\r\nContent-Type: multipart/form-data; boundary=b\r\n"
FORM = "POST /DrawBox HTTP/1.1\r\nHost: {host}\r\n" + MULTIPART


@pytest.mark.parametrize(
    "part",
    [
        b"Content-Disposition form-data\r\n\r\nx",
        b"A\x00: form-data\r\n\r\nx",
        b'Content-Disposition: form-data; name="image"\r\nContent-Length: -1\r\nContent-Length: x\r\n\r\nx',
        b'Content-Disposition: form-data; name="image"; filename="\xff\xfe"\r\n\r\nx',
        b"Content-Disposition: form-data; name*=utf-16''%00\r\n\r\nx",
        b"x" * 20000,
        b"\r\n",
        b"",
    ],
    ids=["no colon", "null byte", "lengths", "file name", "charset", "long", "empty", "nothing"],
)
def test_malformed_headers_of_parts_are_the_clients_doing(open_: Served, part: bytes) -> None:
    body = b"--b\r\n" + part + b"\r\n--b--\r\n"
    answer = open_.raw(FORM.format(host=open_.netloc).encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert answer.split(b" ", 2)[1] in (b"400", b"422"), answer
    assert b"defect" not in answer and open_.log.read_text() == ""


@pytest.mark.parametrize(
    "lines",
    [
        b"Bad\x00Name: 1\r\n",
        b"X: a\x00b\r\n",
        b"Host: other\r\n",
        b"Content-Length: abc\r\n",
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"X: " + b"y" * 20000 + b"\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\nzz\r\n",
    ],
)
def test_malformed_requests_get_one_sentence_and_no_traceback(open_: Served, lines: bytes) -> None:
    host = open_.netloc.encode()
    answer = open_.raw(b"POST /Echo HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n" + lines + b"\r\n")
    assert answer.split(b" ", 2)[1] == b"400"
    assert "\n" not in json.loads(answer.partition(b"\r\n\r\n")[2])["detail"]
    assert open_.log.read_text() == ""


def test_a_body_is_not_decompressed(open_: Served) -> None:
    """As with the original. So 64 MB on the wire are not 64 GB here."""
    assert open_.ask("POST /Echo", Content_Encoding="gzip", **CALL) == (200, "hello")


def endless(served: Served, head: str, first: bytes, *, chunked: bool, most: int) -> tuple[int, bytes]:
    """Send up to ``most`` bytes until the server hangs up: how many it took, and the start of its answer."""
    block = b"x" * 2**20
    sent = 0
    with socket.create_connection(("127.0.0.1", int(served.netloc.rpartition(":")[2])), timeout=30) as connection:
        connection.sendall(head.format(host=served.netloc).encode())
        try:
            for data in [first] + [block] * (most >> 20):
                connection.sendall(b"%x\r\n%b\r\n" % (len(data), data) if chunked else data)
                sent += len(data)
        except OSError:
            pass  # it has hung up
        try:
            return sent, connection.recv(100)
        except OSError:
            return sent, b""


def test_a_form_of_short_lines_is_refused_and_other_calls_are_served_meanwhile(tmp_path: Path) -> None:
    """The parser reads lines that have arrived without a pause of its own."""

    async def fields() -> int:
        other = 0

        async def count() -> None:
            nonlocal other
            while True:
                other += 1
                await asyncio.sleep(0)

        body = StreamReader(Mock(_reading_paused=False), 2**16, loop=asyncio.get_running_loop())
        body.feed_data(b"\n" * 2**20)
        body.feed_eof()
        headers = CIMultiDict({"Content-Type": "multipart/form-data; boundary=b"})
        request = Mock(content_length=None, content_type="multipart/form-data", content=body, headers=headers)
        counting = asyncio.create_task(count())
        with pytest.raises(TooLarge, match="lines beside its contents"):
            await Uploads(tmp_path, 2**26, 60).fields(request)
        counting.cancel()
        return other

    assert asyncio.run(fields()) > 5


@pytest.mark.parametrize(
    ("kind", "first"),
    [
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="image"; filename="image"\r\n\r\n',
        ),
        ("multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; name="image"\r\n\r\n'),
        ("multipart/form-data; boundary=b", b"before the first boundary"),
        ("multipart/form-data; boundary=b", b"--b\r\nX: "),
        ("application/x-www-form-urlencoded", b"word="),
        ("application/json", b"{"),
    ],
    ids=["file", "text", "preamble", "part header", "urlencoded", "no form"],
)
def test_a_chunked_upload_is_read_to_the_limit_and_no_further(open_: Served, kind: str, first: bytes) -> None:
    head = f"POST /DrawBox HTTP/1.1\r\nHost: {{host}}\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"
    sent, answer = endless(open_, head, first, chunked=True, most=300 * 2**20)
    assert sent < 80 * 2**20  # 64 MB, and what the sockets hold
    assert answer[:12] in (b"HTTP/1.1 413", b"HTTP/1.1 400", b""), answer
    assert open_.log.read_text() == ""


def test_a_client_that_says_how_much_it_sends_reads_the_answer(open_: Served) -> None:
    length = f"Content-Length: {100 * 2**20}"
    head = f"POST /DrawBox HTTP/1.1\r\nHost: {{host}}\r\nContent-Type: text/plain\r\n{length}\r\n\r\n"
    _, answer = endless(open_, head, b"", chunked=False, most=66 * 2**20)
    assert answer.startswith(b"HTTP/1.1 413")


def test_our_client_reads_that_its_upload_is_too_large(open_: Served, tmp_path: Path) -> None:
    (tmp_path / "large.png").write_bytes(bytes(80 * 2**20))

    async def call() -> None:
        box = ToolServerBox(open_.url, retry_seconds=1)
        try:
            given = {"image": str(tmp_path / "large.png"), "bbox": "1 1 2 2"}
            await box.call("DrawBox", given, folder=tmp_path, readable=())
        finally:
            await box.close()

    with pytest.raises(ToolFault, match="HTTP 413 for DrawBox"):
        asyncio.run(call())


def test_millions_of_fields_are_refused_at_once(open_: Served) -> None:
    start = time.monotonic()
    assert open_.ask("POST /Echo", Content_Type="application/x-www-form-urlencoded", body=b"a=1&" * 2**21)[0] == 413
    assert time.monotonic() - start < 3


def test_slow_forms_take_no_place_in_the_queue_and_are_ended() -> None:
    """Each sends its head and one byte of its body, and nothing more."""
    tool = make("Tool", lambda folder, word: word)
    with web_server(lambda: threaded([tool], queue=2, body_seconds=1.0).application()) as url:
        address = urlsplit(url)
        head = f"POST /Tool HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: 9\r\n"
        slow = [socket.create_connection((address.hostname, address.port or 0), timeout=10) for _ in range(20)]
        try:
            for connection in slow:
                connection.sendall(f"{head}Content-Type: application/x-www-form-urlencoded\r\n\r\nw".encode())
            start = time.monotonic()
            served = Served({"url": url}, Path())
            assert served.ask("POST /Tool", Content_Type="application/x-www-form-urlencoded", body=b"word=good") == (
                200,
                "good",
            )
            assert time.monotonic() - start < 0.9
            answers = [connection.recv(1000) for connection in slow]
        finally:
            for connection in slow:
                connection.close()
    assert {answer[:12] for answer in answers} == {b"HTTP/1.1 503"}
    assert b"did not arrive within 1 s" in answers[0]
    assert time.monotonic() - start < 5
