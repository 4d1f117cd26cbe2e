"""The bundled detector: how often it counts right, and how long a picture takes, alone and in batches."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest

from bundled_data.shapes import KINDS, Drawing, draw
from tool_impls.perception.detection import finder
from tool_impls.settings import ToolSettings

pytest.importorskip("torch")
if find_spec("ultralytics") is None:  # importing it here would change Pillow for the tests beside these
    pytest.skip("ultralytics is not installed", allow_module_level=True)

PICTURES = 100
THRESHOLD = 0.4


@pytest.fixture(scope="module")
def detector() -> finder.Finder:
    return finder.load_finder(ToolSettings(tables={"detection": {"weights": "shapes", "batch": 16}}), "cpu")


@pytest.fixture(scope="module")
def drawings() -> list[Drawing]:
    """Pictures that the detector was not trained on (``shapes.train.FIRST``)."""
    return [draw(seed) for seed in range(PICTURES)]


def test_counts_of_fresh_pictures_are_right(
    benchmark: Any, figure: Callable[[str, float], None], detector: finder.Finder, drawings: list[Drawing]
) -> None:
    """One kind is asked of each picture: circles, squares and triangles by turns."""

    def count() -> int:
        asked = [(drawing, KINDS[place % len(KINDS)]) for place, drawing in enumerate(drawings)]
        return sum(len(detector.find(drawing.image, kind, THRESHOLD)) == drawing.count(kind) for drawing, kind in asked)

    right = benchmark.pedantic(count, rounds=1)
    figure("detection, counts right of 100", right)
    assert right >= 95


def test_batches_against_single_pictures(
    benchmark: Any, figure: Callable[[str, float], None], detector: finder.Finder, drawings: list[Drawing]
) -> None:
    """On a CPU a batch saves little; that it costs nothing is what is asked here."""
    images = [drawing.image for drawing in drawings[:48]]

    def alone() -> float:
        start = time.perf_counter()
        for image in images:
            detector.find_all([image], None, THRESHOLD)
        return time.perf_counter() - start

    def together() -> float:
        start = time.perf_counter()
        detector.find_all(images, None, THRESHOLD)
        return time.perf_counter() - start

    alone()
    singly = min(alone() for _ in range(3))
    batched = min(together() for _ in range(2))
    batched = min(batched, benchmark.pedantic(together, rounds=1))
    figure("detection on the CPU, a picture", 1000 * singly / len(images), "ms")
    figure("detection on the CPU, batches of 16 / single", batched / singly)
    assert batched < 1.5 * singly
