"""The server that compares texts for a run, and the tool that paints pictures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.gpu import weights
from benchmarks.gpu.notes import Check, NotThere
from benchmarks.gpu.subject import SURE, Subject, ToolSubject
from tool_impls.base import BenchTool

BRIGHTNESS = 8 / 255
"""Mean difference of a painted picture's pixels in half precision, from 0 to 1."""

STEPS = 4  # of a painted picture

PAIRS = (
    ("the total is 12.50", "the total is 12.5"),
    ("a river rose at noon.", "at noon a river rose."),
    ("long " * 200, "short"),
)

Compare = Callable[[str, str], float]


class Embeddings(Subject):
    """``python -m bench_gta.similarity_server --backend mpnet``. It keeps vectors, so no text is given to it twice."""

    name = "similarity (MPNet, random weights)"

    def __init__(self, folder: Path, full: bool) -> None:
        super().__init__(folder, full)
        self._new = count(1000)
        self._given: set[tuple[Compare, int]] = set()

    def make(self) -> None:
        if find_spec("sentence_transformers") is None:
            raise NotThere("the Python package sentence_transformers is missing")
        self._weights = weights.embeddings(self.folder, self.full)

    @contextmanager
    def loaded(self, device: str, batch: int) -> Iterator[Compare]:
        """With a batch of one, a request waits for the one before it."""
        command = [sys.executable, "-m", "bench_gta.similarity_server", "--backend", "mpnet"]
        env = {**os.environ, "AGENTGAUGE_MPNET": str(self._weights), "AGENTGAUGE_SIMILARITY_DEVICE": device}
        waits = threading.Lock() if batch == 1 else nullcontext()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as server:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["url"]

            def compare(one: str, other: str) -> float:
                request = urllib.request.Request(url, json.dumps([one, other]).encode())
                with waits, urllib.request.urlopen(request, timeout=60) as answer:
                    return float(json.load(answer))

            try:
                compare("", "")  # the model is loaded with the first texts
                yield compare
            finally:
                server.terminate()

    def call(self, tool: Compare, number: int) -> float:
        one, other = PAIRS[number % len(PAIRS)]
        first = next(self._new) if (tool, number) in self._given else number
        self._given.add((tool, number))
        return tool(f"{first} {one}", f"{first} {other}")

    def compare(self, ours: Compare, theirs: Compare) -> Iterator[Check]:
        apart = max(abs(ours(*pair) - theirs(*pair)) for pair in PAIRS)
        yield Check(self.name, "similarities, apart from those on the processor", apart, most=1 - SURE)

    def alike(self, alone: Sequence[float], together: Sequence[float]) -> Check:
        apart = max(abs(one - other) for one, other in zip(alone, together, strict=True))
        return Check(self.name, "calls together and one by one: between similarities", apart, most=1 - SURE)


class Painter(ToolSubject):
    name = "pictures (Stable Diffusion, random weights)"
    rated = False

    def make(self) -> None:
        if find_spec("diffusers") is None:
            raise NotThere("the Python package diffusers is missing")
        weights.painter(self.folder / "weights", self.full)

    def kind(self) -> type[BenchTool]:
        from tool_impls.creativity.generate import TextToImage

        return TextToImage

    def tables(self, batch: int) -> Mapping[str, Mapping[str, Any]]:
        return {"image": {"weights": str(self.folder / "weights"), "steps": STEPS}}

    def call(self, tool: Any, number: int) -> Any:
        return tool.apply(self.folder, keywords=f"a house and {number} trees")

    def compare(self, ours: Any, theirs: Any) -> Iterator[Check]:
        import numpy

        one, other = (numpy.asarray(self.call(tool, 0), float) / 255 for tool in (ours, theirs))
        yield Check(self.name, "mean difference of pixels, 0 to 1", float(abs(one - other).mean()), most=BRIGHTNESS)

    def alike(self, alone: Sequence[Any], together: Sequence[Any]) -> Check:
        equal = sum(one.tobytes() == other.tobytes() for one, other in zip(alone, together, strict=True))
        return Check(self.name, "calls together and one by one: share of equal pictures", equal / len(alone))
