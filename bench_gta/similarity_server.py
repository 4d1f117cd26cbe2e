"""One process that compares texts for all workers of a run, so that the model is in memory once:
``python -m bench_gta.similarity_server --backend minilm``.

The process loads the model with the first two texts. It encodes one text after the other, as a run in one process does,
because the last digits of a sentence model's vectors depend on the other texts of a batch. It speaks HTTP on loopback:
a request is a JSON list of two texts, the reply a JSON number, which JSON keeps to the last bit.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from agentgauge.core.errors import UsageProblem
from agentgauge.core.service_process import BACKLOG, end_with_parent, given_listener
from bench_gta.similarity import Similarity, similarity


def _handler(similar: Similarity) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                status, body = 200, json.dumps(similar(*texts))
            except Exception as error:  # a model that does not load breaks cases; it must not break the connection
                status, body = 500, json.dumps(f"{type(error).__name__}: {error}")
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing: a line for every pair would drown the messages that matter."""

    return Handler


class Server(ThreadingHTTPServer):
    """A thread for each waiting pair; the measure compares one pair at a time."""

    daemon_threads = True
    request_queue_size = BACKLOG


def make_server(similar: Similarity, port: int = 0) -> ThreadingHTTPServer:
    """A server on 127.0.0.1 that is not yet serving. It uses its controller's socket, if there is one."""
    given = given_listener()
    if given is None:
        return Server(("127.0.0.1", port), _handler(similar))
    server = Server(given.getsockname(), _handler(similar), bind_and_activate=False)
    server.socket.close()
    server.socket = given
    return server


def main(argv: Sequence[str] | None = None, *, load: Callable[[str], Similarity] = similarity) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench_gta.similarity_server",
        description=(
            "Compare texts for the workers of a run. Prints one line of JSON with the address when ready, ends on"
            " SIGTERM."
        ),
    )
    parser.add_argument("--backend", required=True, metavar="NAME", help="minilm, mpnet or trigram")
    parser.add_argument(
        "--port", type=int, default=0, metavar="N", help="port on 127.0.0.1; 0, the default, takes a free one"
    )
    options = parser.parse_args(argv)
    end_with_parent()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # nothing is kept that an end could spoil
    try:
        server = make_server(load(options.backend), options.port)
    except UsageProblem as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 4
    except OSError as error:
        print(f"error: port {options.port} cannot be used: {error.strerror or error}", file=sys.stderr)
        return 4
    print(json.dumps({"url": f"http://127.0.0.1:{server.server_address[1]}"}), flush=True)
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
