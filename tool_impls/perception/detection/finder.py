"""The detector that all tools of a process share: the back end ``[tools.detection]``."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tool_impls import devices
from tool_impls.base import BASIC, READY, missing_package, unavailable
from tool_impls.batching import SIZES, Batched
from tool_impls.options import Option
from tool_impls.perception.detection.detector import Detector, Hit, Names
from tool_impls.perception.detection.hues import has_colour
from tool_impls.perception.detection.weights_file import SHIPPED
from tool_impls.perception.detection.words import DetectionQuery, wanted
from tool_impls.settings import ToolSettings
from tool_impls.weights import ALLOW_DOWNLOAD, resolve, weights_option, weights_state

if TYPE_CHECKING:
    from PIL.Image import Image

TABLE = "detection"
MODEL = f"the model of [tools.{TABLE}]"
BACKEND = Option("backend", "text", "ultralytics", "what runs the detector", accepted=("ultralytics", "transformers"))
WEIGHTS = weights_option("yolo11n.pt (ultralytics); shapes is the bundled one")
THRESHOLD = Option("threshold", "float", None, "smallest score of a hit, 0 to 1; each tool has its own", least=0.0)
BATCH = Option("batch", "int", 16, "most pictures that go through the model at once", least=1)
OPTIONS = (BACKEND, WEIGHTS, ALLOW_DOWNLOAD, THRESHOLD, BATCH)

SHAPES = "shapes"  # names the bundled weights
SUGGESTED = {
    "ultralytics": ("yolo11n.pt", "about 6 MB"),
    "transformers": ("IDEA-Research/grounding-dino-tiny", "about 0.7 GB"),
}
PACKAGES = {"ultralytics": ("torch", "ultralytics"), "transformers": ("torch", "transformers")}


class DetectorChoice(NamedTuple):
    """The settings that decide which detector is loaded."""

    backend: str
    weights: Path | str
    batch: int


def chosen(settings: ToolSettings) -> DetectorChoice | None:
    """The detector that the settings name; in basic mode the bundled one; else None."""
    backend, given, batch = (settings.value(TABLE, option) for option in (BACKEND, WEIGHTS, BATCH))
    if given == SHAPES or (given is None and settings.basic):
        return DetectorChoice("ultralytics", SHIPPED, batch)
    weights = resolve(settings, TABLE, given)
    return None if weights is None else DetectorChoice(backend, weights, batch)


def state(settings: ToolSettings) -> str:
    """READY, BASIC (the bundled weights stand in) or ``unavailable: ...``."""
    choice = chosen(settings)
    if choice is None:
        default, size = SUGGESTED[settings.value(TABLE, BACKEND)]
        given = settings.value(TABLE, WEIGHTS)
        missing = weights_state(settings, TABLE, given, default, size)
        other = "" if given is not None else ", or set basic = true in [tools] for a detector of drawn shapes"
        return missing + other
    if absent := missing_package(PACKAGES[choice.backend]):
        return unavailable(f"the Python package {absent} is missing; install agentgauge[vision]")
    return BASIC if settings.value(TABLE, WEIGHTS) is None else READY


class _Request(NamedTuple):
    image: Image
    names: Names | None
    threshold: float


class Finder:
    """A detector for many threads: calls that come together are worked on together, as many as fit into memory."""

    def __init__(self, detector: Detector, batch: int, device: str = devices.CPU) -> None:
        self._detector, self.batch, self._device = detector, batch, device
        self._at_work = threading.Lock()
        self._batched: Batched[_Request, list[Hit]] = Batched(self._work, batch)

    @property
    def classes(self) -> Names | None:
        return self._detector.classes

    def find(self, image: Image, text: str, threshold: float) -> list[Hit]:
        """The places of the described object, best first. Raises ToolError if the detector does not know such an
        object.
        """
        if self.classes is None:
            return self._batched(_Request(image, (text,), threshold))
        meant = wanted(text, self.classes)
        hits = self._batched(_Request(image, None, threshold))
        return [hit for hit in hits if any(_fits(hit, image, one) for one in meant)]

    def find_all(self, images: Sequence[Image], names: Names | None, threshold: float) -> list[list[Hit]]:
        """All objects in each picture, best first: objects with one of the names, or of any class of the detector."""
        requests = [_Request(image, names, threshold) for image in images]
        found: list[list[Hit]] = []
        for start in range(0, len(requests), self.batch):
            part = requests[start : start + self.batch]
            SIZES.append(len(part))
            found += self._work(part)
        return found

    def _work(self, requests: list[_Request]) -> list[list[Hit]]:
        """Raises ToolFault where the memory does not suffice for one picture."""
        with self._at_work:
            return devices.in_parts(self._detect, requests, tool=MODEL, device=self._device)

    def _detect(self, requests: Sequence[_Request]) -> list[list[Hit]]:
        images, names, thresholds = zip(*requests, strict=True)
        found = self._detector.detect_many(images, names, min(thresholds))
        pairs = zip(thresholds, found, strict=True)
        return [[hit for hit in hits if hit.score >= threshold] for threshold, hits in pairs]


def _fits(hit: Hit, image: Image, meant: DetectionQuery) -> bool:
    return hit.label in meant.classes and (not meant.colours or has_colour(image, hit.box, meant.colours))


_loading = threading.Lock()


def load_finder(settings: ToolSettings, device: str) -> Finder:
    """The finder of this process for these settings and this device. Call it only if ``state`` is not unavailable."""
    choice = chosen(settings)
    assert choice is not None, "only where the state is not unavailable"
    with _loading:
        return _load(choice, devices.plain(device))


@cache
def _load(choice: DetectorChoice, device: str) -> Finder:
    from tool_impls.perception.detection.hub import load as load_hub
    from tool_impls.perception.detection.yolo import load as load_yolo

    if devices.kind(device) != devices.CPU:
        _in_single_precision()
    detector = (load_yolo if choice.backend == "ultralytics" else load_hub)(choice.weights, device)
    return Finder(detector, choice.batch, device)


def _in_single_precision() -> None:
    """Have a GPU find what the processor finds: its own preset for convolutions keeps three digits, and a score that is
    rounded may cross a threshold."""
    import torch

    torch.backends.cudnn.allow_tf32 = False
