"""The detector that all tools of a process share, the back end ``[tools.detection]``, and what words mean to it."""

from __future__ import annotations

import colorsys
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agentgauge.core.errors import ToolError
from agentgauge.core.pictures import flattened
from tool_impls import devices
from tool_impls.base import BASIC, READY, missing_package, unavailable
from tool_impls.devices import SIZES, Batched
from tool_impls.model_sources import ALLOW_DOWNLOAD, resolve, weights_option, weights_state
from tool_impls.perception.detection.detector import SHIPPED, Detector, Hit, Names
from tool_impls.settings import Option, ToolSettings

if TYPE_CHECKING:
    from PIL.Image import Image


# -- colours: whether the content of a box has one, by its English name


Range = tuple[int, int]
HUES: Mapping[str, tuple[Range, ...]] = {
    "red": ((345, 360), (0, 14)),
    "orange": ((14, 45),),
    "brown": ((8, 45),),
    "golden": ((36, 62),),
    "yellow": ((36, 70),),
    "green": ((70, 172),),
    "turquoise": ((160, 200),),
    "cyan": ((165, 200),),
    "blue": ((185, 262),),
    "violet": ((250, 318),),
    "purple": ((250, 330),),
    "pink": ((290, 360), (0, 12)),
}
"""In degrees. They overlap: between two names either may be meant."""

GREYS = frozenset({"black", "white", "grey", "gray"})
COLOURS = frozenset(HUES) | GREYS
DARK, PALE = 0.3, 0.18  # of 1: a value below, and a saturation below


def has_colour(image: Image, box: tuple[float, float, float, float], names: Iterable[str]) -> bool:
    """Whether the middle of the box, its inner third, has one of the colours; its usual pixel counts."""
    x1, y1, x2, y2 = box
    width, height = (x2 - x1) / 3, (y2 - y1) / 3
    left, top = int(x1 + width), int(y1 + height)
    right, bottom = max(left + 1, int(x2 - width)), max(top + 1, int(y2 - height))
    small = flattened(image.crop((left, top, right, bottom))).resize((9, 9))
    data = small.tobytes()
    red, green, blue = (sorted(data[channel::3])[40] for channel in range(3))
    return any(_is(name, red, green, blue) for name in names)


def _is(name: str, red: int, green: int, blue: int) -> bool:
    hue, saturation, value = colorsys.rgb_to_hsv(red / 255, green / 255, blue / 255)
    if name == "black":
        return value < DARK
    if name == "white":
        return value > 0.8 and saturation < PALE
    if name in GREYS:
        return DARK / 2 < value < 0.9 and saturation < PALE
    if saturation < PALE or value < DARK / 2:
        return False
    if (name == "brown" and value > 0.8) or (name == "pink" and saturation > 0.7 and not 290 < 360 * hue < 345):
        return False
    return any(low <= 360 * hue <= high for low, high in HUES[name])


# -- words for an object, and the classes of a detector with a fixed list of classes


SYNONYMS: tuple[frozenset[str], ...] = tuple(
    frozenset(group.split("|"))
    for group in (
        "person|human|man|woman|boy|girl|child|kid|pedestrian|people",
        "bicycle|bike|cycle",
        "motorcycle|motorbike",
        "car|automobile",
        "airplane|aeroplane|plane|aircraft",
        "boat|ship|sailing boat|sailboat",
        "tv|television|monitor|screen",
        "cell phone|mobile phone|phone|smartphone|mobile",
        "laptop|notebook computer",
        "couch|sofa",
        "dining table|table",
        "potted plant|plant",
        "donut|doughnut",
        "handbag|bag",
        "sports ball|ball",
        "refrigerator|fridge",
        "mouse|computer mouse",
        "remote|remote control",
        "teddy bear|teddy",
        "circle|disc|disk|dot|ball|round shape",
        "square|box|rotated square|diamond",
        "triangle",
    )
)
"""Words for the same thing. A word may stand in several groups; what counts is which class the detector has."""

KINDS_OF: Mapping[str, frozenset[str]] = {
    "vehicle": frozenset({"bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat"}),
    "animal": frozenset({"bird", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe"}),
    "fruit": frozenset({"banana", "apple", "orange"}),
    "shape": frozenset({"circle", "square", "triangle"}),
}
"""Words for several classes."""

ANYTHING = frozenset({"object", "thing", "item", "everything"})
IRREGULAR: Mapping[str, str] = {
    "people": "person", "persons": "person", "men": "man", "women": "woman", "children": "child", "mice": "mouse",
    "knives": "knife", "geese": "goose", "teeth": "tooth", "feet": "foot", "leaves": "leaf", "loaves": "loaf",
    "shelves": "shelf", "buses": "bus",
}  # fmt: skip
SINGULAR = frozenset({"glass", "bus", "tennis", "scissors", "skis", "grass", "dress", "chess", "cross"})
AFTER = re.compile(
    r"\b(?:of|with|in|on|at|near|next|beside|behind|under|above|that|which|who|wearing|holding|from|to|left|right)\b"
)
PORTIONS = "numbers?|amount|pictures?|images?|pieces?|slices?|bunch|groups?|pairs?|kinds?"
COUNTED = re.compile(rf"^(?:an? |the |all )*(?:total )?(?:{PORTIONS}) of ")
LISTED = 20  # classes named in an error


@dataclass(frozen=True, slots=True)
class DetectionQuery:
    """The definition of a hit: one of the classes and, if there are any, one of the colours."""

    classes: frozenset[str]
    colours: frozenset[str] = frozenset()


def wanted(text: str, classes: Sequence[str]) -> tuple[DetectionQuery, ...]:
    """The meaning of words for a detector of these classes; several if the words join objects by ``and``.

    The last words of the phrase name the class, a synonym of it or a kind of thing (``vehicle``); what follows a word
    such as ``with`` or ``on`` is left out. A colour before it narrows the hits, other words before it do not. Raises
    ToolError, with the classes, if the words mean none of them, because another class would be a wrong answer.
    """
    parts = [part for part in re.split(r",|\b(?:and|or)\b", text.lower()) if part.strip()]
    each = [_one(part, classes) for part in parts]
    found = tuple(one for one in each if one)
    if len(found) < len(each):  # red and blue circles
        whole = _one(text.lower(), classes)
        are_colours = all(one or set(_words(part)) & COLOURS for part, one in zip(parts, each, strict=True))
        found = (whole,) if whole and are_colours else ()
    if not found:
        raise ToolError(f"this detector cannot look for {text!r}: it only knows {_listed(classes)}")
    return found


def _one(text: str, classes: Sequence[str]) -> DetectionQuery | None:
    words = COUNTED.sub("", " ".join(_words(text))).split()
    if words and (whole := _meant(words, classes)):
        return DetectionQuery(whole)
    head = AFTER.split(" ".join(words[1:]), maxsplit=1)[0].split()  # the first word may be one of place: left car
    words = [*words[:1], *head]
    for start in range(len(words)):
        if found := _meant(words[start:], classes):
            return DetectionQuery(found, frozenset(words[:start]) & COLOURS)
    return None


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9'-]+", text)


def _meant(words: Sequence[str], classes: Sequence[str]) -> frozenset[str]:
    """The classes that a phrase names, with its last word in the singular or as it stands."""
    phrases = {" ".join(words), " ".join([*words[:-1], singular(words[-1])])}
    if phrases & ANYTHING:
        return frozenset(classes)
    same = phrases.union(*(group for group in SYNONYMS if group & phrases))
    exact = frozenset(name for name in classes if name.lower() in phrases)
    kinds: Iterable[frozenset[str]] = (KINDS_OF[phrase] for phrase in phrases if phrase in KINDS_OF)
    members = frozenset().union(*kinds)
    return exact or frozenset(name for name in classes if name.lower() in same or name.lower() in members)


def singular(word: str) -> str:
    """The singular of a word, by the usual rules."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if word in SINGULAR or not word.endswith("s") or len(word) < 4:
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if re.search(r"(?:ss|x|ch|sh|z)es$", word) else word[:-1]


def _listed(classes: Sequence[str]) -> str:
    more = len(classes) - LISTED
    return ", ".join(classes[:LISTED]) + (f" and {more} more" if more > 0 else "")


# -- the back end


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
