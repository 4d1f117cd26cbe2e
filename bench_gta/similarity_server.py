"""One process that compares texts for all workers of a run, so that the model is in memory once:
``python -m bench_gta.similarity_server --backend minilm``.

The process loads the model with the first two texts. On the processor it encodes one text after the other, as a run in
one process does, because the last digits of a sentence model's vectors depend on the other texts of a batch. On a GPU
the texts of waiting requests are one batch. It speaks HTTP on loopback: a request is a JSON list of two texts, the
reply a JSON number, which JSON keeps to the last bit.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from aiohttp import web

from agentgauge.core.errors import UsageProblem
from agentgauge.core.processes import end_with_parent, given_listener
from agentgauge.core.web_server import answering, bind, served, whole_body
from bench_gta.similarity import PAIRS, Similarity, chosen_device, measure
from tool_impls.devices import CPU, is_lost

_MOST_BODY = 256 << 20  # bytes: a deliverable's text may be long


def make_app(similar: Similarity, pairs: int = 1) -> web.Application:
    """``pairs``: that are compared at a time."""
    threads = ThreadPoolExecutor(pairs)

    def compare(body: bytes) -> float:
        return similar(*json.loads(body))

    async def handle(request: web.Request) -> web.Response:
        body = await whole_body(request)
        with answering(request):
            try:
                found = await asyncio.get_running_loop().run_in_executor(threads, compare, body)
            except Exception as error:  # a model that does not load breaks cases; it must not break the connection
                if is_lost(error):
                    print(f"this process has lost its GPU and ends: {error}", file=sys.stderr, flush=True)
                    os._exit(1)  # it is started again, and the clients ask again
                return web.json_response(f"{type(error).__name__}: {error}", status=500)
        return web.json_response(found)

    app = web.Application(client_max_size=_MOST_BODY)
    app.router.add_post("/", handle)
    return app


async def _serve(similar: Similarity, pairs: int, port: int) -> None:
    given = given_listener()
    async with served(make_app(similar, pairs), [given] if given else bind("127.0.0.1", port)) as bound:
        print(json.dumps({"url": f"http://127.0.0.1:{bound}"}), flush=True)
        await asyncio.Event().wait()


def main(argv: Sequence[str] | None = None) -> int:
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
        device = chosen_device(options.backend)
        similar = measure(options.backend, device)
        how = "one at a time" if device == CPU else "in single precision, those of waiting requests together"
        print(f"texts are compared by {options.backend} on {device}, {how}", file=sys.stderr, flush=True)
        asyncio.run(_serve(similar, 1 if device == CPU else PAIRS, options.port))
    except UsageProblem as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 4
    except OSError as error:
        print(f"error: port {options.port} cannot be used: {error.strerror or error}", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
