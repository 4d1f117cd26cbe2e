"""Models that answer with texts: questions about pictures, speech, and OCR."""

from __future__ import annotations

import wave
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.gpu import observing, weights
from benchmarks.gpu.notes import Check, NotThere
from benchmarks.gpu.subject import HALF, INPUTS, ToolSubject, texts_alike
from tool_impls.base import BenchTool
from tool_impls.devices import CPU, kind

ROOT = Path(__file__).parents[2]
TOKENS = 8  # of an answer about a picture
RATE = 16_000  # samples a second
SECONDS = 5  # of a recording

LINES = 0.95
"""Share of the lines of text that must be read alike: a line near the threshold may be found or not."""


class Vision(ToolSubject):
    name = "vision (Qwen3-VL, random weights)"

    def make(self) -> None:
        weights.vision(self.folder / "weights", self.full)

    def kind(self) -> type[BenchTool]:
        from tool_impls.perception.vision import ImageDescription

        return ImageDescription

    def tables(self, batch: int) -> Mapping[str, Mapping[str, Any]]:
        return {"vision": {"weights": str(self.folder / "weights"), "batch": batch, "max_tokens": TOKENS}}

    @cached_property
    def images(self) -> list[Any]:
        from bundled_data.shapes.draw import draw

        return [draw(seed, (320, 240)).image for seed in range(INPUTS)]

    def call(self, tool: Any, number: int) -> str:
        return str(tool.apply(self.folder, image=self.images[number % INPUTS]))

    def compare(self, ours: Any, theirs: Any) -> Iterator[Check]:
        """Of the scores of the first word: the rest follows from it."""
        least = min(observing.likeness(*(self._first(tool, number) for tool in (ours, theirs))) for number in range(2))
        yield Check(self.name, "scores of the next word, cosine with those on the processor", least, least=HALF)

    def _first(self, tool: Any, number: int) -> Any:
        with observing.outputs(observing.network(tool), lambda result: [result.logits[:, -1]]) as found:
            self.call(tool, number)
        return found[0][0]

    def alike(self, alone: Sequence[str], together: Sequence[str]) -> Check:
        return texts_alike(self.name, alone, together, least=None)


class Speech(ToolSubject):
    name = "speech (Whisper)"

    def make(self) -> None:
        from tool_impls.audio import speech

        if find_spec("av") is None:
            speech.read_sound = read_wave  # type: ignore[assignment]
        weights.speech(self.folder / "weights", self.full)
        for number in range(INPUTS):
            write_wave(self.sound(number), number)

    def kind(self) -> type[BenchTool]:
        from tool_impls.audio.speech import SpeechToText

        return SpeechToText

    def tables(self, batch: int) -> Mapping[str, Mapping[str, Any]]:
        named = {"backend": "transformers", "weights": str(self.folder / "weights")}
        return {"speech": {**named, "batch": batch}}

    def sound(self, number: int) -> Path:
        return self.folder / f"{number % INPUTS}.wav"

    def call(self, tool: Any, number: int) -> str:
        return str(tool.apply(self.folder, audio=self.sound(number)))

    def compare(self, ours: Any, theirs: Any) -> Iterator[Check]:
        """The words, and what the encoder gives: these weights say the same words of any sound."""
        texts, heard = [], []
        for tool in (ours, theirs):
            encoder = observing.network(tool).get_encoder()
            with observing.outputs(encoder, lambda result: [result.last_hidden_state]) as found:
                texts.append(self.call(tool, 0))
            heard.append(found[0][0])
        equal = all(text == weights.SAID for text in texts)
        yield Check(self.name, "words equal to those that the weights say", float(equal), least=1.0)
        yield Check(self.name, "what is heard, cosine with the processor's", observing.likeness(*heard), least=HALF)

    def alike(self, alone: Sequence[str], together: Sequence[str]) -> Check:
        return texts_alike(self.name, alone, together, least=1.0)


class Ocr(ToolSubject):
    name = "OCR"
    rated = False

    def make(self) -> None:
        if find_spec("rapidocr") is None or find_spec("onnxruntime") is None:
            raise NotThere("the Python packages rapidocr and onnxruntime are needed")

    @contextmanager
    def loaded(self, device: str, batch: int) -> Iterator[Any]:
        import onnxruntime

        if kind(device) != CPU and "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
            raise NotThere("onnxruntime is built without CUDA; onnxruntime-gpu has it")
        with super().loaded(device, batch) as tool:
            yield tool

    def kind(self) -> type[BenchTool]:
        from tool_impls.perception.ocr import OCR

        return OCR

    def tables(self, batch: int) -> Mapping[str, Mapping[str, Any]]:
        return {}  # lines are read together or one by one as the reader decides

    @cached_property
    def images(self) -> list[Any]:
        from PIL import Image

        return [Image.open(path).convert("RGB") for path in sorted((ROOT / "bench_gta/atomic/mini/image").iterdir())]

    def call(self, tool: Any, number: int) -> str:
        return str(tool.apply(self.folder, image=self.images[number % len(self.images)]))

    def compare(self, ours: Any, theirs: Any) -> Iterator[Check]:
        numbers = range(INPUTS if self.full else 2)
        found = [[self.call(tool, number) for number in numbers] for tool in (ours, theirs)]
        equal = sum(a == b for a, b in zip(*found, strict=True)) / len(numbers)
        yield Check(self.name, "share of pictures whose texts and boxes equal those on the processor", equal)
        some, others = (
            Counter(line.rpartition(") ")[2] for text in texts for line in text.splitlines()) for texts in found
        )
        share = (some & others).total() / (some | others).total()
        yield Check(self.name, "share of lines whose texts equal those on the processor", share, least=LINES)

    def alike(self, alone: Sequence[str], together: Sequence[str]) -> Check:
        return texts_alike(self.name, alone, together, least=1.0)


def write_wave(path: Path, seed: int) -> None:
    """A few tones, other ones for each seed."""
    import numpy

    tones = numpy.random.default_rng(seed).uniform(100, 2_000, 4)
    places = numpy.arange(SECONDS * RATE) / RATE
    sound = 6_000 * numpy.sin(2 * numpy.pi * tones[:, None] * places).sum(0)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes(sound.astype(numpy.int16).tobytes())


def read_wave(path: Path, seconds: float = 0.0) -> Any:
    """In place of PyAV, where it is not installed: a file of ``write_wave``."""
    import numpy

    with wave.open(str(path), "rb") as file:
        return numpy.frombuffer(file.readframes(file.getnframes()), numpy.int16).astype(numpy.float32) / 32768
