"""The workers' client of the similarity server (``bench_gta.similarity_server``)."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from agentgauge.core.errors import Fault

ANSWER_SECONDS = 300.0
"""How long one pair may take: the model loads first, and the pairs of other workers come before it."""

PATIENCE_SECONDS = 30.0  # how long an unreachable server is retried: AgentGauge restarts a dead one on the same port

_PAUSE = 0.2  # seconds between two attempts


class SimilarityFault(Fault):
    """Texts could not be compared: the server is gone, or its model does not load."""


def remote(url: str, *, patience: float = PATIENCE_SECONDS) -> Callable[[str, str], float]:
    """The measure that the server at ``url`` computes. It raises SimilarityFault if the server is unreachable for
    ``patience`` seconds or cannot load its model."""
    return lambda a, b: _compare(url, a, b, time.monotonic() + patience)


def _compare(url: str, a: str, b: str, deadline: float) -> float:
    address = urlsplit(url)
    body = json.dumps([a, b])
    while True:
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=ANSWER_SECONDS)
        try:
            connection.request("POST", "/", body)
            response = connection.getresponse()
            reply = json.loads(response.read())
        except TimeoutError:
            raise SimilarityFault(
                f"{url} has not compared two texts within {ANSWER_SECONDS:g} s", cause="similarity timeout"
            ) from None
        except (OSError, http.client.HTTPException, ValueError) as error:  # the server ended before or during its reply
            if time.monotonic() > deadline:
                raise SimilarityFault(
                    f"the similarity server at {url} does not answer ({type(error).__name__}); see logs/similarity.log"
                    " in the run folder",
                    cause="similarity server",
                ) from None
            time.sleep(_PAUSE)
        else:
            if response.status != 200:
                raise SimilarityFault(f"the similarity server failed: {reply}", cause="similarity server")
            return float(reply)
        finally:
            connection.close()
