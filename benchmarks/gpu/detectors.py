"""Detectors: the bundled one, whose answers are real, and two of transformers with random weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

from benchmarks.gpu import observing, weights
from benchmarks.gpu.notes import Check, NotThere
from benchmarks.gpu.subject import INPUTS, ToolSubject
from bundled_data.shapes import draw
from tool_impls.base import BenchTool

if TYPE_CHECKING:
    from tool_impls.perception.detection.detector import Hit

PIXELS, SCORE = 1.0, 0.01
"""How far a box's corners, and its score from 0 to 1, may be from those on the processor."""

AGAIN = 0.5
"""Share of the boxes of a random network that must be found again: it chooses them among thousands of equals, and a
device that computes something else finds none."""

SIDES = (640, 480)  # pixels of a picture


class Detectors(ToolSubject):
    text: ClassVar[str]
    threshold: ClassVar[float]

    def kind(self) -> type[BenchTool]:
        from tool_impls.perception.detection.tools import TextToBbox

        return TextToBbox

    @cached_property
    def images(self) -> list[Any]:
        return [draw(seed, SIDES).image for seed in range(INPUTS)]

    def call(self, tool: Any, number: int) -> list[Hit]:
        found: list[Hit] = tool.finder.find(self.images[number % INPUTS], self.text, self.threshold)
        return found


class Shapes(Detectors):
    name = "detection (bundled detector)"
    text, threshold = "objects", 0.4

    def make(self) -> None:
        if find_spec("ultralytics") is None:
            raise NotThere("the Python package ultralytics is missing")

    def tables(self, batch: int) -> Mapping[str, Mapping[str, Any]]:
        return {"detection": {"weights": "shapes", "batch": batch}}

    def compare(self, ours: Any, theirs: Any) -> Iterator[Check]:
        found = [[self.call(tool, number) for number in range(INPUTS)] for tool in (ours, theirs)]
        yield Check(self.name, "found objects", sum(map(len, found[0])), least=1)
        pixels, scores = farthest(*found)
        yield Check(self.name, "boxes, pixels apart from those on the processor", pixels, most=PIXELS)
        yield Check(self.name, "scores, apart from those on the processor", scores, most=SCORE)

    def alike(self, alone: Sequence[Any], together: Sequence[Any]) -> Check:
        pixels, _ = farthest(alone, together)
        return Check(self.name, "calls together and one by one: pixels between boxes", pixels, most=PIXELS)


class OpenDetector(Detectors):
    """Looks for any words."""

    name = "detection (Grounding DINO, random weights)"
    text, threshold = "red car", 0.25
    maker = staticmethod(weights.open_detector)

    def make(self) -> None:
        self.maker(self.folder / "weights", self.full)

    def tables(self, batch: int) -> Mapping[str, Mapping[str, Any]]:
        return {"detection": {"backend": "transformers", "weights": str(self.folder / "weights"), "batch": batch}}

    def compare(self, ours: Any, theirs: Any) -> Iterator[Check]:
        """Of what the networks give, before boxes are left out: that would depend on the order of equal scores."""
        seen = []
        for tool in (ours, theirs):
            with observing.outputs(observing.network(tool), _boxes) as found:
                self.call(tool, 0)
            seen.append(found[0])
        share = observing.found_again(*seen, PIXELS, SCORE)
        yield Check(self.name, "boxes, share of those on the processor", share, least=AGAIN)

    def alike(self, alone: Sequence[Any], together: Sequence[Any]) -> Check:
        equal = sum(len(ours) == len(theirs) for ours, theirs in zip(alone, together, strict=True))
        return Check(self.name, "calls together and one by one: share of equal counts", equal / len(alone))


class FixedDetector(OpenDetector):
    """Knows three classes."""

    name = "detection (RT-DETR, random weights)"
    text = "objects"
    rated = False
    maker = staticmethod(weights.fixed_detector)


def farthest(ours: Sequence[Sequence[Hit]], theirs: Sequence[Sequence[Hit]]) -> tuple[float, float]:
    """The largest distance between corners (pixels) and between scores of objects that are found on both sides;
    infinite where one side lacks an object."""
    pixels = score = 0.0
    for some, others in zip(ours, theirs, strict=True):
        left = list(others)
        for hit in some:
            same = [one for one in left if one.label == hit.label]
            if not same:
                return math.inf, math.inf
            nearest = min(same, key=lambda one: _apart(hit, one))
            left.remove(nearest)
            pixels = max(pixels, _apart(hit, nearest))
            score = max(score, abs(hit.score - nearest.score))
        if left:
            return math.inf, math.inf
    return pixels, score


def _apart(one: Hit, other: Hit) -> float:
    return max(abs(a - b) for a, b in zip(one.box, other.box, strict=True))


def _boxes(result: Any) -> Sequence[Any]:
    """The corners of the boxes in pixels, and the highest score of each."""
    import torch

    middle, size = result.pred_boxes[..., :2], result.pred_boxes[..., 2:]
    corners = torch.cat([middle - size / 2, middle + size / 2], -1) * torch.tensor(SIDES * 2, device=middle.device)
    return corners, result.logits.sigmoid().amax(-1)
