"""One process that compares texts for all workers of a run, so that the model is in memory once: ``python -m
bench_gta.similarity_server --backend minilm``; and how a worker asks it.

The process loads the model with the first two texts, and compares as a run in one process would, by the same functions
and one text after the other: in a batch a sentence model's last digits depend on the other texts. It speaks HTTP on
loopback, a pair of texts as a JSON list and a number back, which JSON keeps to the last bit.
"""

from __future__ import annotations

import argparse
import http.client
import json
import signal
import sys
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from agentgauge.core.errors import Fault, UsageProblem
from agentgauge.core.service_process import BACKLOG, end_with_parent, given_listener
from bench_gta.similarity import Similarity, similarity

ANSWER_SECONDS = 300.0
"""How long a pair may take: the model loads first, and other workers' pairs come before it."""

GONE_SECONDS = 30.0
"""How long a server may be away: a dead one is started again on its port."""

_PAUSE = 0.2  # seconds between two tries


class SimilarityFault(Fault):
    """Texts could not be compared: the server is gone, or its model does not load."""


def remote(url: str, *, gone: float = GONE_SECONDS) -> Similarity:
    """The measure of a server. It raises SimilarityFault where that is away for ``gone`` seconds or cannot load its
    model."""
    return lambda a, b: _asked(url, a, b, time.monotonic() + gone)


def _asked(url: str, a: str, b: str, until: float) -> float:
    place = urlsplit(url)
    body = json.dumps([a, b])
    while True:
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=ANSWER_SECONDS)
        try:
            connection.request("POST", "/", body)
            answer = connection.getresponse()
            said = json.loads(answer.read())
        except TimeoutError:
            raise SimilarityFault(
                f"{url} has not compared two texts within {ANSWER_SECONDS:g} s", cause="similarity timeout"
            ) from None
        except (OSError, http.client.HTTPException, ValueError) as error:  # it ended before or while it answered
            if time.monotonic() > until:
                raise SimilarityFault(
                    f"the similarity server at {url} does not answer ({type(error).__name__}); see logs/similarity.log"
                    " in the run folder",
                    cause="similarity server",
                ) from None
            time.sleep(_PAUSE)
        else:
            if answer.status != 200:
                raise SimilarityFault(f"the similarity server failed: {said}", cause="similarity server")
            return float(said)
        finally:
            connection.close()


def _handler(similar: Similarity) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                status, said = 200, json.dumps(similar(*texts))
            except Exception as error:  # a model that does not load breaks cases; it must not break the connection
                status, said = 500, json.dumps(f"{type(error).__name__}: {error}")
            self.send_response(status)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: one line for every pair tells nobody anything."""

    return Handler


class Server(ThreadingHTTPServer):
    """A thread for each pair that waits; the measure itself lets one in at a time."""

    daemon_threads = True
    request_queue_size = BACKLOG


def make_server(similar: Similarity, port: int = 0) -> ThreadingHTTPServer:
    """A server on 127.0.0.1 that is not yet serving, behind the socket of its controller where there is one."""
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
