"""Where the similarity server compares texts, and how it does so on a GPU."""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from typing import Any

from agentgauge.core.errors import UsageProblem
from bench_gta.similarity import Similarity, cosine, load_model, loads_model, similarity
from tool_impls import devices
from tool_impls.devices import Batched

DEVICE_VARIABLE = "AGENTGAUGE_SIMILARITY_DEVICE"
"""Environment variable with the device of the similarity server: ``auto``, which is preset, ``cpu`` or ``cuda:N``."""

PAIRS = 32  # of texts that go through the model at once, at most
KEPT = 4096  # texts whose vectors are kept


def shown_device(backend: str) -> str:
    """What a run says beforehand of the device of its server; empty for a backend without a model. Looks for no GPU,
    because that takes seconds."""
    wanted = _wanted()
    if not loads_model(backend):
        return ""
    if wanted != devices.AUTO:
        return wanted
    named = "the GPU with the most free memory, or cpu; logs/similarity.log names it"
    return named if devices.has_gpu() else devices.CPU


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
