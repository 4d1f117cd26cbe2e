"""A forward proxy on loopback: every host is led to one address, and it notes what it was asked for."""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass, field
from types import TracebackType


@dataclass
class ProxyServer:
    """Passes plain requests and CONNECT tunnels on to ``target``; ``refusal`` is sent instead, where it is given."""

    target: tuple[str, int]
    refusal: bytes = b""
    heads: list[str] = field(default_factory=list)  # request line and headers of what it was asked for
    _listener: socket.socket = field(default_factory=socket.socket)

    def __enter__(self) -> ProxyServer:
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes the blocked accept()
        self._listener.close()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            head = b""
            while b"\r\n\r\n" not in head:
                if not (more := client.recv(65536)):
                    return
                head += more
            self.heads.append(head.partition(b"\r\n\r\n")[0].decode("latin-1"))
            if self.refusal:
                client.sendall(self.refusal)
                return
            with socket.create_connection(self.target) as upstream:
                if head.startswith(b"CONNECT "):
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    upstream.sendall(head)
                back = threading.Thread(target=_pump, args=(upstream, client), daemon=True)
                back.start()
                _pump(client, upstream)
                back.join(5)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while chunk := source.recv(65536):
            sink.sendall(chunk)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return  # one side has gone
