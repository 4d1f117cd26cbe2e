"""The models that are measured: how their weights are made, how their tools are called, and how answers compare.

The bundled detector is real. The others have the classes and file formats of published ones with weights of our own:
their answers mean nothing, but all else is real, such as loading, placing, batches, memory, and the arithmetic that
must give on a GPU what it gives on the processor.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
import urllib.request
import wave
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from bundled_data.shapes import draw
from tests.tools.tiny_detectors import transformers
from tests.tools.tiny_vision import seer
from tests.tools.tiny_whisper import whisper
from tool_impls.registry import TOOLS
from tool_impls.settings import ToolSettings

INPUTS = 8  # different inputs of a model; calls take them in turn
BATCH = 16  # most calls that go through a model at once, where they do not go one by one
TOKENS = 8  # of an answer about a picture
RATE, SECONDS = 16_000, 5  # samples a second of a recording, and its length

PIXELS, SCORE = 1.0, 0.01  # how far a box's corners, and its score from 0 to 1, may be from those on the processor
SURE, HALF = 0.9999, 0.99  # least cosine of vectors in single precision, and in half, which large models have on a GPU


class NotThere(Exception):
    """What a part measures cannot be had here; says what is missing."""


def need(package: str) -> None:
    if find_spec(package) is None:
        raise NotThere(f"the Python package {package} is missing")


@dataclass(frozen=True)
class Check:
    """A comparison of two answers. ``least`` or ``most`` is the tolerance; without one it only tells the value."""

    model: str
    what: str
    value: float
    least: float | None = None
    most: float | None = None

    @property
    def met(self) -> bool:
        """Not met by a value that is no number."""
        above = self.least is None or self.value >= self.least
        return above and (self.most is None or self.value <= self.most)


class Model:
    """``folder``: for its weights and inputs. ``full``: in the size of a published one.

    ``make`` makes the weights and raises NotThere if something is missing. ``loaded`` gives a context with what takes
    calls, at most ``batch`` of them at once; ``call`` gives the result of one call, as a run gets it. ``compare`` holds
    the tool on the processor against that on the other device, one call at a time; ``alike`` holds results of calls one
    by one against those of the same calls at the same time. ``apart``: what is loaded runs in processes of its own, so
    several can be loaded at the same time.
    """

    name: ClassVar[str]
    apart: ClassVar = False

    def __init__(self, folder: Path, full: bool) -> None:
        self.folder, self.full = folder, full

    def share_alike(self, alone: Sequence[Any], together: Sequence[Any], least: float | None) -> Check:
        equal = sum(one == other for one, other in zip(alone, together, strict=True))
        return Check(self.name, "calls together and one by one: share of equal answers", equal / len(alone), least)


class ToolModel(Model):
    """A model of one of our tools. ``tables`` gives the tables of [tools] that name its weights."""

    tool: ClassVar[str]

    @contextmanager
    def loaded(self, device: str, batch: int) -> Iterator[Any]:
        tool = TOOLS[self.tool](ToolSettings(tables=self.tables(batch), released=False))
        tool.setup(device)
        yield tool

    @cached_property
    def images(self) -> list[Any]:
        return [draw(seed, (320, 240)).image for seed in range(INPUTS)]

    def file(self, path: Path) -> Path:
        """An input of a call, written for a tool server."""
        self.images[0].save(path.with_suffix(".png"))
        return path.with_suffix(".png")

    def made(self) -> None:
        """Make the weights, unless an earlier part has."""
        self.folder.mkdir(exist_ok=True)
        if not (self.folder / "weights").exists():
            self.make()


# -- what a tool's network gives, seen from outside: numbers tell more than the words that are made of them


def network(tool: Any) -> Any:
    """The first torch network among the attributes of an object, and of the objects in them."""
    import torch

    level, seen = [tool], set[int]()
    for _ in range(5):
        for one in level:
            if isinstance(one, torch.nn.Module):
                return one
        seen.update(map(id, level))
        level = [value for one in level for value in getattr(one, "__dict__", {}).values() if id(value) not in seen]
    raise AssertionError(f"{type(tool).__name__} holds no network")


def first_output(module: Any, pick: Callable[[Any], Any], call: Callable[[], object]) -> Any:
    """What ``pick`` takes of the module's first result during a call: a tensor, as floats on the processor."""
    found: list[Any] = []
    keep = module.register_forward_hook(lambda _m, _a, result: found.append(pick(result).detach().float().cpu()))
    try:
        call()
    finally:
        keep.remove()
    return found[0]


def likeness(ours: Any, theirs: Any) -> float:
    """The smallest cosine between vectors of two tensors, along their last dimension."""
    import torch

    return float(torch.nn.functional.cosine_similarity(ours, theirs, dim=-1).min())


# -- detectors


class Shapes(ToolModel):
    name, tool = "detection (bundled detector)", "TextToBbox"

    def make(self) -> None:
        need("ultralytics")

    def tables(self, batch: int) -> Mapping[str, Mapping[str, Any]]:
        return {"detection": {"weights": "shapes", "batch": batch}}

    def call(self, tool: Any, number: int) -> Any:
        return tool.finder.find(self.images[number % INPUTS], "objects", 0.4)

    def compare(self, ours: Any, theirs: Any) -> Iterator[Check]:
        found = [[self.call(tool, number) for number in range(INPUTS)] for tool in (ours, theirs)]
        yield Check(self.name, "found objects", sum(map(len, found[0])), least=1)
        pixels, scores = farthest(*found)
        yield Check(self.name, "boxes, pixels apart from those on the processor", pixels, most=PIXELS)
        yield Check(self.name, "scores, apart from those on the processor", scores, most=SCORE)

    def alike(self, alone: Sequence[Any], together: Sequence[Any]) -> Check:
        pixels, _ = farthest(alone, together)
        return Check(self.name, "calls together and one by one: pixels between boxes", pixels, most=PIXELS)


def farthest(ours: Sequence[Sequence[Any]], theirs: Sequence[Sequence[Any]]) -> tuple[float, float]:
    """The largest distance between corners (pixels) and between scores of objects that are found on both sides;
    infinite where one side lacks an object."""
    pixels = score = 0.0
    for some, others in zip(ours, theirs, strict=True):
        left = list(others)
        for hit in some:
            apart = {id(one): max(abs(a - b) for a, b in zip(hit.box, one.box, strict=True)) for one in left}
            nearest = min((one for one in left if one.label == hit.label), key=lambda one: apart[id(one)], default=None)
            if nearest is None:
                return math.inf, math.inf
            left.remove(nearest)
            pixels, score = max(pixels, apart[id(nearest)]), max(score, abs(hit.score - nearest.score))
        if left:
            return math.inf, math.inf
    return pixels, score


# -- questions about pictures, and speech


class Vision(ToolModel):
    """A Qwen3-VL: some 150 million weights in full size. The smallest published one has 2 billion; more layers tell no
    more, and take longer to make and to load."""

    name, tool = "vision (Qwen3-VL, random weights)", "ImageDescription"
    EYES: ClassVar = {"depth": 6, "hidden_size": 768, "num_heads": 12, "intermediate_size": 3072, "deepstack_visual_indexes": [1, 3, 5], "num_position_embeddings": 2304}  # noqa: E501  # fmt: skip
    WORDS: ClassVar = {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 8, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 64}  # noqa: E501  # fmt: skip

    def make(self) -> None:
        need("transformers")
        full = (self.EYES, self.WORDS, (65_536, 262_144)) if self.full else ()
        seer(self.folder / "weights", *full)

    def tables(self, batch: int) -> Mapping[str, Mapping[str, Any]]:
        return {"vision": {"weights": str(self.folder / "weights"), "batch": batch, "max_tokens": TOKENS}}

    def call(self, tool: Any, number: int) -> str:
        return str(tool.apply(self.folder, image=self.images[number % INPUTS]))

    def compare(self, ours: Any, theirs: Any) -> Iterator[Check]:
        """The scores of the first word: the rest follows from it."""

        def scores(tool: Any, number: int) -> Any:
            return first_output(network(tool), lambda result: result.logits[:, -1], lambda: self.call(tool, number))

        least = min(likeness(scores(ours, number), scores(theirs, number)) for number in range(2))
        yield Check(self.name, "scores of the next word, cosine with those on the processor", least, least=HALF)

    def alike(self, alone: Sequence[Any], together: Sequence[Any]) -> Check:
        """Without a tolerance: in half precision, rounding decides between words that are all but equally probable."""
        return self.share_alike(alone, together, None)


class Speech(ToolModel):
    """A Whisper for English, in full size that of ``base`` with 74 million weights. It says the same word of any sound:
    a token's place decides it, by far, so rounding does not. What is heard changes what the encoder gives."""

    name, tool = "speech (Whisper)", "SpeechToText"

    def make(self) -> None:
        need("transformers")
        from tool_impls.audio import speech

        if find_spec("av") is None:
            speech.read_sound = read_wave  # type: ignore[assignment]
        whisper(self.folder / "weights", size=(512, 6, 8, 2048) if self.full else (128, 1, 2, 32))
        for number in range(INPUTS):
            write_wave(self.sound(number), number)

    def tables(self, batch: int) -> Mapping[str, Mapping[str, Any]]:
        return {"speech": {"backend": "transformers", "weights": str(self.folder / "weights"), "batch": batch}}

    def sound(self, number: int) -> Path:
        return self.folder / f"{number % INPUTS}.wav"

    def file(self, path: Path) -> Path:
        return self.sound(0)

    def call(self, tool: Any, number: int) -> str:
        return str(tool.apply(self.folder, audio=self.sound(number)))

    def compare(self, ours: Any, theirs: Any) -> Iterator[Check]:
        """The words, and what the encoder gives: these weights say the same words of any sound."""
        texts: list[str] = []

        def hidden(tool: Any) -> Any:
            encoder = network(tool).get_encoder()
            return first_output(encoder, lambda made: made.last_hidden_state, lambda: texts.append(self.call(tool, 0)))

        heard = hidden(ours), hidden(theirs)
        equal = all(text.strip() == "hello" for text in texts)
        yield Check(self.name, "words equal to those that the weights say", float(equal), least=1.0)
        yield Check(self.name, "what is heard, cosine with the processor's", likeness(*heard), least=HALF)

    def alike(self, alone: Sequence[Any], together: Sequence[Any]) -> Check:
        return self.share_alike(alone, together, 1.0)


def write_wave(path: Path, seed: int) -> None:
    """A few tones, other ones for each seed."""
    import numpy

    tones = numpy.random.default_rng(seed).uniform(100, 2_000, 4)
    sound = 6_000 * numpy.sin(2 * numpy.pi * tones[:, None] * numpy.arange(SECONDS * RATE) / RATE).sum(0)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes(sound.astype(numpy.int16).tobytes())


def read_wave(path: Path, seconds: float = 0.0) -> Any:
    """In place of PyAV, where it is not installed: a file of ``write_wave``."""
    import numpy

    with wave.open(str(path), "rb") as file:
        return numpy.frombuffer(file.readframes(file.getnframes()), numpy.int16).astype(numpy.float32) / 32768


# -- the server that compares texts for a run

PAIRS = (
    ("the total is 12.50", "the total is 12.5"),
    ("a river rose at noon.", "at noon a river rose."),
    ("long " * 200, "short"),
)

STAGES = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
"""What a text goes through, as modules.json of all-mpnet-base-v2 names it: classes, and their folders."""


class Embeddings(Model):
    """``bench_gta.similarity_server`` with an MPNet, in full size that of all-mpnet-base-v2 with 109 million weights.
    The server keeps vectors, so no text is given to it twice."""

    name = "similarity (MPNet, random weights)"
    apart = True

    def __init__(self, folder: Path, full: bool) -> None:
        super().__init__(folder, full)
        self._new = count(1000)
        self._given: set[tuple[Any, int]] = set()

    def make(self) -> None:
        """The files of all-mpnet-base-v2, written without sentence-transformers, which is slow to import."""
        need("sentence_transformers")
        import torch

        package = transformers()
        torch.manual_seed(0)
        letters = "abcdefghijklmnopqrstuvwxyz0123456789."
        words = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *letters, *(f"##{letter}" for letter in letters)]
        little = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
        made = package.MPNetModel(package.MPNetConfig(vocab_size=30_527, **({} if self.full else little)))
        whole = self.folder / "whole"
        made.save_pretrained(whole)
        package.MPNetTokenizer(vocab={word: number for number, word in enumerate(words)}).save_pretrained(whole)
        mean = {"word_embedding_dimension": made.config.hidden_size, "pooling_mode_mean_tokens": True}
        chain = [
            {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for number, (kind, path) in enumerate(STAGES.items())
        ]
        for path in filter(None, STAGES.values()):
            (whole / path).mkdir()
        (whole / "modules.json").write_text(json.dumps(chain))
        (whole / "sentence_bert_config.json").write_text('{"max_seq_length": 384, "do_lower_case": false}')
        (whole / "1_Pooling" / "config.json").write_text(json.dumps(mean))

    @contextmanager
    def loaded(self, device: str, batch: int) -> Iterator[Callable[[str, str], float]]:
        """With a batch of one, a request waits for the one before it."""
        command = [sys.executable, "-m", "bench_gta.similarity_server", "--backend", "mpnet"]
        named = {"AGENTGAUGE_MPNET": str(self.folder / "whole"), "AGENTGAUGE_SIMILARITY_DEVICE": device}
        waits = threading.Lock() if batch == 1 else nullcontext()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **named}) as server:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["url"]

            def compare(one: str, other: str) -> float:
                request = urllib.request.Request(url, json.dumps([one, other]).encode())
                with waits, urllib.request.urlopen(request, timeout=600) as answer:
                    return float(json.load(answer))

            try:
                compare("", "")  # the model is loaded with the first texts
                yield compare
            finally:
                server.terminate()

    def call(self, tool: Any, number: int) -> float:
        one, other = PAIRS[number % len(PAIRS)]
        first = next(self._new) if (tool, number) in self._given else number
        self._given.add((tool, number))
        return float(tool(f"{first} {one}", f"{first} {other}"))

    def compare(self, ours: Any, theirs: Any) -> Iterator[Check]:
        apart = max(abs(ours(*pair) - theirs(*pair)) for pair in PAIRS)
        yield Check(self.name, "similarities, apart from those on the processor", apart, most=1 - SURE)

    def alike(self, alone: Sequence[Any], together: Sequence[Any]) -> Check:
        apart = max(abs(one - other) for one, other in zip(alone, together, strict=True))
        return Check(self.name, "calls together and one by one: between similarities", apart, most=1 - SURE)


MODELS: Mapping[str, Callable[[Path, bool], Model]] = {
    "detection": Shapes,
    "vision": Vision,
    "speech": Speech,
    "similarity": Embeddings,
}
