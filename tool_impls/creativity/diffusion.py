"""Pictures from words and changed pictures with diffusers on this machine (GTA tools spec 6)."""

from __future__ import annotations

import inspect
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import ToolError, ToolUnavailable
from agentgauge.core.pictures import flattened
from agentgauge.core.text import parse_json
from tool_impls import devices
from tool_impls.base import READY, first_line, missing_package, unavailable

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

        from tool_impls.perception.detection.torchvision_ops import ready_torchvision

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
