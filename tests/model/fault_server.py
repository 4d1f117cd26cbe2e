"""An endpoint on loopback that misbehaves on demand. For the contract tests of the client and the faults of whole runs.

    with FaultServer([status(429, headers={"Retry-After": "0"}), answer("42")]) as server:
        ...  # server.url is a base URL ("http://127.0.0.1:PORT/v1")
    server.requests  # what came: method, path, headers, body

The n-th request gets the n-th act; after the last one, the last act repeats. ``stop`` and ``start`` let it die and come
back on the same port. It runs in a thread of its own with raw sockets, so that broken HTTP can be sent.
"""

from __future__ import annotations

import email
import email.policy
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

Act = Callable[[socket.socket, "Seen", threading.Event], bool]
"""Answers one request; says whether the connection may be used again."""


SERVER = "fault-server"
"""The name of its threads."""


@dataclass(frozen=True)
class Seen:
    """A request that came in."""

    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: Any = None  # JSON data; of a form the fields, a file among them as (name, media type, content)


def completion(
    text: str | None = "ok", *, tool_calls: Sequence[Mapping[str, Any]] = (), **message: Any
) -> dict[str, Any]:
    """A chat completion as JSON data."""
    full: dict[str, Any] = {"role": "assistant", "content": text, **message}
    if tool_calls:
        full["tool_calls"] = list(tool_calls)
    return {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": 0,
        "model": "test",
        "choices": [{"index": 0, "message": full, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def tool_call(name: str, arguments: Any, identity: str = "call_1") -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def raw(payload: bytes, *, close: bool = True) -> Act:
    """Exactly these bytes."""

    def act(connection: socket.socket, _seen: Seen, _stopped: threading.Event) -> bool:
        connection.sendall(payload)
        return not close

    return act


def body(
    content: bytes,
    *,
    code: int = 200,
    kind: str = "application/json",
    headers: Mapping[str, str] | None = None,
    keep: int | None = None,
) -> Act:
    """A body under a status; ``keep`` sends only so many of the promised bytes and closes."""
    lines = [f"HTTP/1.1 {code} Status", f"Content-Length: {len(content)}", f"Content-Type: {kind}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return raw("\r\n".join(lines).encode() + b"\r\n\r\n" + content[:keep], close=keep is not None)


def data(value: Any, **options: Any) -> Act:
    return body(json.dumps(value).encode(), **options)


def answer(text: str | None = "ok", **message: Any) -> Act:
    return data(completion(text, **message))


def status(
    code: int, message: str = "not now", *, headers: Mapping[str, str] | None = None, error_code: str | None = None
) -> Act:
    return data({"error": {"message": message, "code": error_code}}, code=code, headers=headers)


def half_a_body() -> Act:
    return body(json.dumps(completion("half of this is missing")).encode(), keep=40)


def html() -> Act:
    return body(b"<!doctype html><title>Welcome</title>", kind="text/html; charset=utf-8")


def invalid_json() -> Act:
    return body(b'{"choices": [')


def reset() -> Act:
    """Connection reset (RST) instead of an answer."""

    def act(connection: socket.socket, _seen: Seen, _stopped: threading.Event) -> bool:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    return act


def silence(seconds: float = 60.0) -> Act:
    """Nothing, until the client or the test gives up."""

    def act(_connection: socket.socket, _seen: Seen, stopped: threading.Event) -> bool:
        stopped.wait(seconds)
        return False

    return act


def trickle(pause: float = 0.05) -> Act:
    """A body that never ends, one blank at a time."""

    def act(connection: socket.socket, _seen: Seen, stopped: threading.Event) -> bool:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
        while not stopped.wait(pause):
            connection.sendall(b" ")
        return False

    return act


def echo_authorization(code: int = 401) -> Act:
    """An error that quotes the key it was sent."""

    def act(connection: socket.socket, seen: Seen, stopped: threading.Event) -> bool:
        return status(code, f"bad credentials: {seen.headers.get('authorization', 'none')}")(connection, seen, stopped)

    return act


@dataclass
class FaultServer:
    """The server. ``script`` may be changed while it runs; ``choose`` picks by request instead, where it is given."""

    script: Sequence[Act] = ()
    choose: Callable[[Seen], Act] | None = None
    requests: list[Seen] = field(default_factory=list)
    port: int = 0
    host: str = "127.0.0.1"
    tls: ssl.SSLContext | None = None  # speak HTTPS
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _listener: socket.socket | None = None
    _threads: list[threading.Thread] = field(default_factory=list)
    _connections: set[socket.socket] = field(default_factory=set)

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}/v1"

    def start(self) -> FaultServer:
        """Listen; after ``stop``, on the same port again."""
        self._stopped = threading.Event()
        listener = socket.socket(socket.AF_INET6 if ":" in self.host else socket.AF_INET)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((self.host, self.port))
        listener.listen(256)
        self.port = listener.getsockname()[1]
        self._listener = listener
        self._spawn(self._accept, listener, self._stopped)
        return self

    def stop(self) -> None:
        """Close the listener and every connection, at once."""
        self._stopped.set()
        if self._listener is not None:
            # A blocked accept() is only woken by a shutdown, not by a close.
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        with self._lock:
            connections, threads = list(self._connections), self._threads
            self._threads = []
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # closed by the other side already
        for thread in threads:
            thread.join(5)

    def __enter__(self) -> FaultServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _spawn(self, target: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=target, args=args, name=SERVER, daemon=True)
        with self._lock:
            self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket, stopped: threading.Event) -> None:
        while not stopped.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return  # stopped
            # Without this a small answer waits 40 ms for the acknowledgement of the one before.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._connections.add(connection)
            self._spawn(self._serve, connection, stopped)

    def _serve(self, connection: socket.socket, stopped: threading.Event) -> None:
        try:
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            with connection, connection.makefile("rb") as stream:
                while not stopped.is_set() and (seen := _read_request(stream)) is not None:
                    if not self._next_act(seen)(connection, seen, stopped):
                        return
        except OSError:
            return  # the client gave up, or the server was stopped
        finally:
            with self._lock:
                self._connections.discard(connection)

    def _next_act(self, seen: Seen) -> Act:
        with self._lock:
            number = len(self.requests)
            self.requests.append(seen)
        if self.choose is not None:
            return self.choose(seen)
        return self.script[min(number, len(self.script) - 1)]


def _read_request(stream: Any) -> Seen | None:
    first = stream.readline().decode("latin-1").split()
    if len(first) < 2:
        return None
    headers: dict[str, str] = {}
    while line := stream.readline().decode("latin-1").strip():
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    content = stream.read(int(headers.get("content-length", "0")))
    return Seen(first[0], first[1], headers, _decoded(headers.get("content-type", ""), content) if content else None)


def _decoded(kind: str, content: bytes) -> Any:
    if not kind.startswith("multipart/form-data"):
        return json.loads(content)
    message = email.message_from_bytes(
        b"Content-Type: " + kind.encode() + b"\r\n\r\n" + content, policy=email.policy.HTTP
    )
    fields: dict[str, Any] = {}
    for part in message.iter_parts():
        name = str(part.get_param("name", header="content-disposition"))
        payload = part.get_payload(decode=True)
        fields[name] = (
            (part.get_filename(), part.get_content_type(), payload) if part.get_filename() else payload.decode()
        )
    return fields
