"""Tools that make pictures: TextToImage and ImageStylization (docs/benchmarks/tools.md#pictures).

Through an image endpoint, with diffusers on this machine, or in a plain basic mode.
"""

from __future__ import annotations

import inspect
import textwrap
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from agentgauge.core.errors import ToolError, ToolUnavailable
from agentgauge.core.pictures import displayed, flattened
from agentgauge.core.text import parse_json
from tool_impls import base, devices
from tool_impls.base import READY, first_line, missing_package, unavailable
from tool_impls.model_sources import (
    ALLOW_DOWNLOAD,
    ENDPOINT,
    Painter,
    endpoint_of,
    endpoint_state,
    local,
    name_of,
    not_there,
    resolve,
    to_fetch,
    weights_option,
)
from tool_impls.settings import Option, ToolSettings

if TYPE_CHECKING:
    from PIL.Image import Image


PACKAGES = ("torch", "diffusers", "transformers", "PIL")
LONGEST = 768  # pixels of a side while a picture is changed
STEP = 8  # sides must be multiples of it
SHORTEST = 64  # pixels of a side while a picture is changed
IMAGE_GUIDANCE = 1.0  # of InstructPix2Pix, as released


def folder_state(source: Path | str, table: str, option: str) -> str:
    """READY, or the problem with the packages or the folder."""
    where = f"{option} in [tools.{table}]"
    if missing := missing_package(PACKAGES):
        return unavailable(f"{where} needs the Python package {missing}; install agentgauge[generate]")
    if isinstance(source, Path) and not pipeline_name(source):
        problem = f"{source.name} has no usable model_index.json"
        return unavailable(f"{where} must name a folder of a diffusers pipeline; {problem}")
    return READY


def pipeline_name(folder: Path) -> str:
    """The class that the folder was saved from, empty if it is unknown."""
    try:
        name = parse_json((folder / "model_index.json").read_text("utf-8"))["_class_name"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return name if isinstance(name, str) else ""


class LocalPainter:
    """One pipeline, for words alone or for pictures. Pictures follow from the input and the seed; calls queue."""

    def __init__(
        self, source: Path | str, device: str, *, edits: bool, steps: int, seed: int, guidance: float | None
    ) -> None:
        """Loads the pipeline, in half precision on a GPU. Raises ToolUnavailable if that fails."""
        import torch

        from tool_impls.devices import ready_torchvision

        ready_torchvision()  # before transformers imports it
        import diffusers
        from transformers.utils.logging import disable_progress_bar

        diffusers.utils.logging.disable_progress_bar()
        disable_progress_bar()
        kind = torch.float32 if devices.kind(device) == devices.CPU else torch.float16
        values: dict[str, Any] = {"local_files_only": isinstance(source, Path), "dtype": kind}
        if isinstance(source, Path) and _only_half(source):
            values["variant"] = "fp16"
        try:
            with devices.loading("[tools.image]", device):
                self._pipe: Any = _loader(diffusers, source, edits).from_pretrained(source, **values).to(device)
        except ToolUnavailable:
            raise
        except Exception as error:  # a folder may be broken in as many ways as there are models
            option = "edit_weights" if edits else "weights"
            raise ToolUnavailable(f"{option} in [tools.image] cannot be loaded: {first_line(error)}") from None
        self._pipe.set_progress_bar_config(disable=True)
        self._takes = inspect.signature(self._pipe.__call__).parameters
        self._steps, self._seed, self._guidance = steps, seed, guidance
        self._tool, self._device = "ImageStylization" if edits else "TextToImage", device
        self._lock = threading.Lock()  # a pipeline keeps the state of its run

    def paint(self, prompt: str) -> Image:
        """A picture in the pipeline's own size."""
        return self._run(prompt=prompt)

    def edit(self, image: Image, instruction: str) -> Image:
        """A picture of the same size. It is worked on with at most LONGEST pixels a side."""
        result = self._run(prompt=instruction, image=workable(image), image_guidance_scale=IMAGE_GUIDANCE)
        return result.resize(image.size) if result.size != image.size else result

    def _run(self, prompt: str, **values: Any) -> Image:
        """Raises ToolError where the safety checker refuses the picture, ToolFault where it does not fit in memory."""
        import torch

        generator = torch.Generator("cpu").manual_seed(self._seed)
        values |= {"prompt": prompt, "num_inference_steps": self._steps, "generator": generator}
        if self._guidance is not None:
            values["guidance_scale"] = self._guidance
        taken = {name: value for name, value in values.items() if name in self._takes}
        with self._lock, torch.inference_mode():
            (made,) = devices.in_parts(lambda _: [self._pipe(**taken)], [prompt], tool=self._tool, device=self._device)
        if any(getattr(made, "nsfw_content_detected", None) or ()):
            raise ToolError("the image model's safety checker refused the picture; ask for something else")
        image: Image = made.images[0]
        return image.convert("RGB")


def workable(image: Image) -> Image:
    """The picture in RGB, with sides of SHORTEST to LONGEST pixels that are multiples of STEP."""
    picture = flattened(image)
    scale = min(1.0, LONGEST / max(picture.size))
    width, height = (max(SHORTEST, round(side * scale / STEP) * STEP) for side in picture.size)
    return picture if (width, height) == picture.size else picture.resize((width, height))


def _loader(diffusers: Any, source: Path | str, edits: bool) -> Any:
    """What loads a source: its own class for pipelines that take instructions, else whatever class suits the task."""
    name = pipeline_name(source) if isinstance(source, Path) else str(source)
    if "pix2pix" in name.lower():
        if not edits:
            raise ValueError(f"{name} changes pictures; name it as edit_weights")
        return diffusers.DiffusionPipeline
    return diffusers.AutoPipelineForImage2Image if edits else diffusers.AutoPipelineForText2Image


def _only_half(folder: Path) -> bool:
    """Whether the folder holds weights in half precision alone, which have a name of their own."""
    files = [path.name for path in folder.glob("*/*") if path.suffix in (".safetensors", ".bin")]
    return bool(files) and all(".fp16." in name for name in files)


TABLE = "image"
WEIGHTS = weights_option("stabilityai/sdxl-turbo")
EDIT_WEIGHTS = Option("edit_weights", "weights", None, "as weights, but for ImageStylization")
STEPS = Option("steps", "int", None, "steps of a local model; each tool has its own preset", least=1)
SEED = Option("seed", "int", 0, "seed of a local model's random numbers", least=0)
GUIDANCE = Option("guidance", "float", None, "how closely a local model follows the words", least=0)
OPTIONS = (*ENDPOINT, WEIGHTS, EDIT_WEIGHTS, ALLOW_DOWNLOAD, STEPS, SEED, GUIDANCE)
CARD = 512  # pixels, both sides of a text card


class _Painting(base.BenchTool):
    """Asks the image endpoint, or a pipeline on this machine, or does something plain where the settings allow it."""

    category = "creativity"
    packages = ("PIL",)
    concurrency = 2
    tables = ("image",)
    source_option: ClassVar[Option]  # names the local pipeline
    model: ClassVar[str]  # a pipeline that works
    size: ClassVar[str]  # of the pipeline on disk
    edits: ClassVar[bool]
    steps: ClassVar[int]  # as released
    seconds = 600.0
    _painter: Painter | LocalPainter | None = None

    @classmethod
    def _source(cls, settings: ToolSettings) -> Path | str | None:
        given = None if endpoint_of(settings, TABLE) else settings.value(TABLE, cls.source_option)
        return resolve(settings, TABLE, given)

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        name = cls.source_option.name
        endpoint, given = endpoint_of(settings, TABLE), settings.value(TABLE, cls.source_option)
        if endpoint and given is not None:
            both = f"an endpoint (url) and a local model ({name})"
            return base.unavailable(f"[tools.{TABLE}] names {both}; take one of them out")
        if endpoint:
            return endpoint_state(endpoint, TABLE)
        if given is not None:
            if source := cls._source(settings):
                return folder_state(source, TABLE, name)
            return not_there(TABLE, name, given)
        if settings.basic:
            return base.BASIC
        weights = f"a local folder, or {to_fetch(cls.model, cls.size)}"
        others = "an OpenAI-compatible endpoint (url, model, key_env); or set basic = true in [tools]"
        return base.unavailable(f"set {name} in [tools.{TABLE}]: {weights}; or {others}")

    @classmethod
    def backend(cls, settings: ToolSettings) -> str:
        if endpoint := endpoint_of(settings, TABLE):
            return f"endpoint {endpoint.model}".rstrip()
        given = settings.value(TABLE, cls.source_option)
        return "basic" if given is None else f"diffusers {name_of(cls._source(settings), given)}"

    @classmethod
    def weights(cls, settings: ToolSettings) -> tuple[Path, ...]:
        return local(cls._source(settings))

    @classmethod
    def on_device(cls, settings: ToolSettings) -> bool:
        return endpoint_of(settings, TABLE) is None and settings.value(TABLE, cls.source_option) is not None

    def setup(self, device: str = "cpu") -> None:
        if endpoint := endpoint_of(self.settings, TABLE):
            self._painter = Painter(endpoint)
        elif (source := self._source(self.settings)) is not None:
            self._painter = LocalPainter(
                source,
                devices.plain(device),
                edits=self.edits,
                steps=self.settings.value(TABLE, STEPS) or self.steps,
                seed=self.settings.value(TABLE, SEED),
                guidance=self.settings.value(TABLE, GUIDANCE),
            )


class TextToImage(_Painting):
    meta = base.tool(
        "TextToImage",
        "Makes a picture from keywords.",
        (base.text("keywords", "English keywords, separated by commas."),),
        base.IMAGE_OUT,
    )
    source_option = WEIGHTS
    model = "stabilityai/stable-diffusion-xl-base-1.0"
    size = "about 7 GB"
    edits = False
    steps = 30

    def apply(self, folder: Path, /, keywords: str) -> Image:
        return self._painter.paint(keywords) if self._painter else text_card(keywords)


class ImageStylization(_Painting):
    meta = base.tool(
        "ImageStylization",
        "Changes a picture as an instruction says.",
        (base.IMAGE, base.text("instruction", "What to change, in English.")),
        base.IMAGE_OUT,
    )
    source_option = EDIT_WEIGHTS
    version = 2  # pictures as viewers display them
    model = "timbrooks/instruct-pix2pix"
    size = "about 5.5 GB"
    edits = True
    steps = 20

    def apply(self, folder: Path, /, image: Image, instruction: str) -> Image:
        return self._painter.edit(image, instruction) if self._painter else effect(image, instruction)


def text_card(keywords: str) -> Image:
    """A card with the keywords on it. The background follows from the words, so the same words give the same card."""
    from PIL import Image, ImageDraw, ImageFont

    seed = zlib.crc32(keywords.encode())
    shade = (120 + seed % 100, 120 + (seed >> 8) % 100, 120 + (seed >> 16) % 100)
    card = Image.new("RGB", (CARD, CARD), shade)
    pen = ImageDraw.Draw(card)
    pen.rectangle((16, 16, CARD - 17, CARD - 17), outline="white", width=4)
    lines = [line for part in keywords.split(",") for line in textwrap.wrap(part.strip(), 22)][:11]
    font, middle = ImageFont.load_default(32), (CARD // 2, CARD // 2)
    pen.multiline_text(middle, "\n".join(lines), fill="black", font=font, anchor="mm", align="center", spacing=8)
    return card


def _grey(image: Image) -> Image:
    return _transparent_as(image, image.convert("L").convert("RGB"))


def _sepia(image: Image) -> Image:
    rows = (0.393, 0.769, 0.189, 0, 0.349, 0.686, 0.168, 0, 0.272, 0.534, 0.131, 0)
    return _transparent_as(image, image.convert("RGB").convert("RGB", rows))


def _invert(image: Image) -> Image:
    from PIL import ImageOps

    return _transparent_as(image, ImageOps.invert(image.convert("RGB")))


def _transparent_as(image: Image, changed: Image) -> Image:
    if image.mode == "RGBA":
        changed.putalpha(image.getchannel("A"))
    return changed


def _blur(image: Image) -> Image:
    from PIL import ImageFilter

    return flattened(image).filter(ImageFilter.GaussianBlur(max(2, max(image.size) // 100)))


def _sketch(image: Image) -> Image:
    """Dark lines on white, where the brightness changes."""
    from PIL import ImageFilter, ImageOps

    edges = flattened(image).convert("L").filter(ImageFilter.GaussianBlur(1)).filter(ImageFilter.FIND_EDGES)
    lines = ImageOps.autocontrast(ImageOps.invert(edges))
    return lines.point(lambda value: value**3 // 255**2).convert("RGB")  # the lines alone come out pale


EFFECTS: tuple[tuple[tuple[str, ...], Callable[[Image], Image]], ...] = (
    (("sketch", "pencil", "drawing"), _sketch),
    (("sepia", "vintage", "old photo", "antique"), _sepia),
    (("grey", "gray", "black and white", "black-and-white", "monochrome"), _grey),
    (("blur", "out of focus", "soft focus"), _blur),
    (("invert", "negative"), _invert),
)
"""Words in an instruction and what they do; the first row with a hit counts."""


def effect(image: Image, instruction: str) -> Image:
    """The picture with the effect that the instruction names. Raises ToolError if it names none."""
    wanted = instruction.lower()
    for words, function in EFFECTS:
        if any(word in wanted for word in words):
            return function(displayed(image))
    possible = "only grey, sepia, blur, invert and sketch effects can be made"
    raise ToolError(f"without an image model {possible}; got {instruction!r}")
