"""Questions about pictures: the back end ``[tools.vision]`` that several tools share, and the tools that describe
pictures and videos (docs/benchmarks/tools.md#models-behind-the-tools).

An OpenAI-compatible endpoint (``url``), or a model on this machine (``weights``); without both, some tools have a plain
basic mode of their own.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from agentgauge.core.errors import ToolError, ToolUnavailable
from agentgauge.core.pictures import fitted, flattened
from agentgauge.core.text import parse_json
from tool_impls import base, devices
from tool_impls.arguments import crop
from tool_impls.base import READY, BenchTool, first_line, missing_package, unavailable
from tool_impls.devices import Batched
from tool_impls.model_sources import (
    ALLOW_DOWNLOAD,
    ENDPOINT,
    Vision,
    endpoint_of,
    endpoint_state,
    local,
    name_of,
    resolve,
    weights_option,
    weights_state,
)
from tool_impls.perception import ocr
from tool_impls.perception.quality import colour_name, main_colours
from tool_impls.settings import Option, ToolSettings
from tool_impls.video.frames import Frame, open_video, spread, timing_of

if TYPE_CHECKING:
    from PIL.Image import Image


# -- a vision-language model of transformers on this machine


PACKAGES = ("torch", "transformers", "PIL")
LONGEST = 2048  # pixels of a side; larger pictures are scaled down
SHORTEST = 32  # pixels of a side; smaller pictures get a white border

SEEING = {"vision_config", "vision_tower", "image_token_id", "image_token_index"}
"""Keys of config.json, one of which every model has that sees pictures."""

Question = tuple["Image", str]


def folder_state(source: Path | str, table: str) -> str:
    """READY, or the problem with the packages or the folder. Reads two small files at most."""
    if missing := missing_package(PACKAGES):
        return unavailable(f"weights in [tools.{table}] need the Python package {missing}; install agentgauge[vision]")
    if isinstance(source, str):
        return READY
    try:
        config = parse_json((source / "config.json").read_text("utf-8"))
        kind = config["model_type"]
    except (OSError, ValueError, KeyError, TypeError):
        must = "must name a folder of a transformers model"
        return unavailable(f"weights in [tools.{table}] {must}; {source.name} has no usable config.json")
    if not isinstance(kind, str) or not config.keys() & SEEING:
        return unavailable(f"weights in [tools.{table}] must name a model that sees pictures; {source.name} is {kind}")
    return READY


class LocalVision:
    """A model with its processor. ``source``: a local folder, or a name on the hub, which is only then contacted."""

    def __init__(self, source: Path | str, device: str, batch: int, max_tokens: int) -> None:
        """Loads the model, in half precision on a GPU. Raises ToolUnavailable if that fails."""
        from tool_impls.devices import ready_torchvision

        ready_torchvision()  # before transformers imports it
        from transformers import AutoModelForImageTextToText, AutoProcessor
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        # where it is left out, transformers asks at the terminal whether code of the folder may run
        where: dict[str, Any] = {"local_files_only": isinstance(source, Path), "trust_remote_code": False}
        self._device, self._kind = device, devices.half(device)
        try:
            self._processor: Any = AutoProcessor.from_pretrained(source, **where)
            with devices.loading("[tools.vision]", device):
                model: Any = AutoModelForImageTextToText.from_pretrained(source, dtype=self._kind, **where)
                self._model = model.to(device).eval()
        except ToolUnavailable:
            raise
        except Exception as error:  # a folder may be broken in as many ways as there are models
            raise ToolUnavailable(f"the weights of [tools.vision] cannot be loaded: {first_line(error)}") from None
        if not getattr(self._processor, "chat_template", None):
            advice = "use a model that is tuned for instructions"
            raise ToolUnavailable(f"the weights of [tools.vision] must come with a chat template; {advice}")
        self._processor.tokenizer.padding_side = "left"  # what is written must follow the question without a gap
        if self._processor.tokenizer.pad_token is None:
            self._processor.tokenizer.pad_token = self._processor.tokenizer.eos_token
        self._max_tokens = max_tokens
        self._batched: Batched[Question, str] = Batched(self._answers, batch)

    def ask(self, image: Image, question: str) -> str:
        """The answer, stripped; always the most probable words. Questions of several threads are answered together."""
        return self._batched((fitted(image, LONGEST, SHORTEST), question))

    def _answers(self, questions: Sequence[Question]) -> list[str]:
        """Raises ToolFault where one question alone does not fit into the GPU's memory."""
        return devices.in_parts(self._generate, questions, tool="the model of [tools.vision]", device=self._device)

    def _generate(self, questions: Sequence[Question]) -> list[str]:
        import torch

        chats = [
            [{"role": "user", "content": [{"type": "image", "image": image}, {"type": "text", "text": question}]}]
            for image, question in questions
        ]
        form = {"add_generation_prompt": True, "return_dict": True, "return_tensors": "pt"}
        found: Any = self._processor.apply_chat_template(
            chats, tokenize=True, processor_kwargs={"padding": True}, **form
        )
        inputs = found.to(self._device, self._kind)
        greedy = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        pad = self._processor.tokenizer.pad_token_id
        with torch.inference_mode():
            found = self._model.generate(**inputs, max_new_tokens=self._max_tokens, pad_token_id=pad, **greedy)
        texts = self._processor.batch_decode(found[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        return [str(text).strip() for text in texts]


# -- the back end


TABLE = "vision"
DEFAULT = "Qwen/Qwen3-VL-4B-Instruct"
SIZE = "about 9 GB"
WEIGHTS = weights_option(DEFAULT)
BATCH = Option("batch", "int", 8, "questions that a local model answers together, at most", least=1)
MAX_TOKENS = Option("max_tokens", "int", 512, "length of an answer in tokens, at most", least=1)
OPTIONS = (*ENDPOINT, WEIGHTS, ALLOW_DOWNLOAD, BATCH, MAX_TOKENS)


def configured(settings: ToolSettings) -> bool:
    """Whether the table names an endpoint or a model."""
    return endpoint_of(settings, TABLE) is not None or settings.value(TABLE, WEIGHTS) is not None


_loading = threading.Lock()


def vision_model(settings: ToolSettings, device: str) -> Vision | LocalVision:
    """The model that answers questions; all tools of this process share a local model. Call it only if ``state`` is
    ready.
    """
    limit = settings.value(TABLE, MAX_TOKENS)
    if endpoint := endpoint_of(settings, TABLE):
        return Vision(endpoint, limit)
    source = resolve(settings, TABLE, settings.value(TABLE, WEIGHTS))
    assert source is not None, "only where the state is ready"
    with _loading:
        return _loaded(source, devices.plain(device), settings.value(TABLE, BATCH), limit)


@cache
def _loaded(source: Path | str, device: str, batch: int, limit: int) -> LocalVision:
    return LocalVision(source, device, batch, limit)


class VisionTool(BenchTool):
    """A tool that asks the model of ``[tools.vision]``."""

    tables = ("vision",)
    concurrency = 8  # a local model answers them together
    seconds = 300.0
    _model: Vision | LocalVision | None = None

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        """READY, or ``unavailable: what to set``."""
        endpoint, given = endpoint_of(settings, TABLE), settings.value(TABLE, WEIGHTS)
        if endpoint is not None and given is not None:
            both = "an endpoint (url) and a local model (weights)"
            return unavailable(f"[tools.{TABLE}] names {both}; take one of them out")
        if endpoint is not None:
            return endpoint_state(endpoint, TABLE)
        found = weights_state(settings, TABLE, given, DEFAULT, SIZE)
        if given is None:
            return f"{found}; or an OpenAI-compatible endpoint (url, model, key_env)"
        source = resolve(settings, TABLE, given)
        return folder_state(source, TABLE) if found == READY and source is not None else found

    @classmethod
    def backend(cls, settings: ToolSettings) -> str:
        """``endpoint NAME``, ``transformers NAME``, or ``basic`` where nothing is configured."""
        if endpoint := endpoint_of(settings, TABLE):
            return f"endpoint {endpoint.model}".rstrip()
        given = settings.value(TABLE, WEIGHTS)
        return "basic" if given is None else f"transformers {name_of(resolve(settings, TABLE, given), given)}"

    @classmethod
    def weights(cls, settings: ToolSettings) -> tuple[Path, ...]:
        return () if endpoint_of(settings, TABLE) else local(resolve(settings, TABLE, settings.value(TABLE, WEIGHTS)))

    @classmethod
    def on_device(cls, settings: ToolSettings) -> bool:
        return endpoint_of(settings, TABLE) is None and settings.value(TABLE, WEIGHTS) is not None

    def setup(self, device: str = "cpu") -> None:
        if configured(self.settings):
            self._model = vision_model(self.settings, device)

    def _ask(self, image: Image, question: str) -> str:
        """The answer, stripped. Raises ToolFault when the model cannot be reached, ToolError when it refuses."""
        assert self._model is not None, "setup comes first, and only with something to ask"
        return self._model.ask(image, question)


# -- tools that describe a picture or a video


BOX = base.text("bbox", "The part to look at, as (x1, y1, x2, y2) in pixels.")
FRAME_SKIP = "Every how many frames one is described, 5 if left out; fewer in a long video."


class _Seeing(VisionTool):
    """A tool that asks the vision model, or describes what can be measured without one, if the settings allow it."""

    category = "perception"
    packages: ClassVar[tuple[str, ...]] = ocr.PACKAGES
    pure = True
    version = 2  # pictures as viewers display them
    _device = devices.CPU

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        state = super().back_end(settings)
        if configured(settings):
            return state
        return base.BASIC if settings.basic else f"{state}; or set basic = true in [tools]"

    @classmethod
    def on_device(cls, settings: ToolSettings) -> bool:
        reads = not configured(settings) and cls.packages == ocr.PACKAGES
        return reads or super().on_device(settings)  # the reader is a model too

    @classmethod
    def device_table(cls, settings: ToolSettings) -> str:
        return TABLE if configured(settings) else ocr.TABLE

    @classmethod
    def lacks_gpu(cls, settings: ToolSettings) -> str:
        return "" if configured(settings) else ocr.lacks_gpu()

    def setup(self, device: str = devices.CPU) -> None:
        super().setup(device)
        self._device = device

    def _described(self, image: Image, question: str) -> str:
        """The model's answer; without a model what can be measured: size, main colours and text."""
        if self._model:
            return self._model.ask(image, question)
        width, height = image.size
        words = " ".join(block.text for block in ocr.reader(self._device).lines(image))
        seen = f"A picture of {width} by {height} pixels, mainly {' and '.join(main_colours(image))}."
        return f"{seen} It reads: {words}" if words else f"{seen} It holds no text."


class ImageDescription(_Seeing):
    meta = base.tool("ImageDescription", "Describes in words what a picture shows.", (base.IMAGE,), base.TEXT_OUT)

    def apply(self, folder: Path, /, image: Image) -> str:
        return self._described(image, "Describe this picture in detail.")


class RegionAttributeDescription(_Seeing):
    meta = base.tool(
        "RegionAttributeDescription",
        "Describes one attribute of a part of a picture.",
        (base.IMAGE, BOX, base.text("attribute", "What to describe: the colour, the text, the mood ...")),
        base.TEXT_OUT,
    )

    def apply(self, folder: Path, /, image: Image, bbox: str, attribute: str) -> str:
        return self._described(crop(image, bbox), f"Describe this attribute of the picture in detail: {attribute}.")


class VideoDescription(_Seeing):
    """Describes frames of a video (docs/benchmarks/tools.md#images-and-video). The released tool writes a caption for
    every ``frame_skip``-th frame, without an upper limit.
    """

    meta = base.tool(
        "VideoDescription",
        "Describes frames of a video. Each line of the answer is 'Frame', the frame's number from 0, and what it"
        " shows.",
        (base.path("video", "Path of the video file."), base.optional("int", "frame_skip", None, FRAME_SKIP)),
        base.TEXT_OUT,
    )
    packages = ("av", "PIL")
    options = (Option("max_frames", "int", 16, "frames that are described, at most, spread evenly; 0: all", least=0),)
    concurrency = 2
    seconds = 600.0

    def apply(self, folder: Path, /, video: Path, frame_skip: int | None = None) -> str:
        frames = spread(video, self.option("max_frames") or sys.maxsize, 5 if frame_skip is None else frame_skip)
        if self._model is None:
            lines = [f"Frame {frame.number}: {mean_colour(frame.image)}" for frame in frames]
            return "\n".join([outline(video), *lines])
        with ThreadPoolExecutor(4, thread_name_prefix="caption") as pool:  # a model answers them together
            captions = list(pool.map(self._caption, frames))
        if not captions:
            raise ToolError(f"{video.name} holds no picture that can be decoded")
        return "\n".join(captions)

    def _caption(self, frame: Frame) -> str:
        answer = self._ask(frame.image, "Describe this picture in one short sentence.")
        return f"Frame {frame.number}: {' '.join(answer.split())}"


def outline(path: Path) -> str:
    """Size and length of a video."""
    with open_video(path) as container:
        stream = container.streams.video[0]
        return f"A video of {stream.width} by {stream.height} pixels, {timing_of(container).seconds:.1f} s long."


def mean_colour(image: Image) -> str:
    from PIL import ImageStat

    red, green, blue = (round(value) for value in ImageStat.Stat(flattened(image)).mean)
    return f"mean colour ({red}, {green}, {blue}), {colour_name((red, green, blue))}"
