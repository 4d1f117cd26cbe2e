"""Random pictures of circles, squares and triangles, and the detector that is trained on them.

``python -m bundled_data.shapes [CHECKPOINT]`` trains it: about ten minutes on two CPU cores, one of which draws. Every
picture is new and drawn from its own number, so a seed makes the same checkpoint on the same machine and versions.
Beside the checkpoint goes a JSON file with the names of its classes.
"""

from __future__ import annotations

import argparse
import colorsys
import io
import json
import math
import sys
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from tool_impls.perception.detection.yolo import load_ultralytics

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw as Pen

KINDS = ("circle", "square", "triangle")
MOST = 14  # shapes in a picture
SMALLEST = 0.05  # across, of the longer side
ATTEMPTS = 40  # places tried for a shape before it is left out

SIDE = 224  # pixels of the squares that it is trained on
SEEN = 384  # of those that it works on; training shapes are drawn larger, so that shapes have as many pixels in both
STEPS = 4000
BATCH = 16
AHEAD = 4  # batches drawn while the model works
PEAK = 4e-3  # learning rate
SEED = 7
FIRST = 1_000_000  # the number of the first training picture; tests and benchmarks draw smaller numbers

ARCHITECTURE: dict[str, Any] = {
    "nc": len(KINDS),
    "scales": {"n": [1.0, 1.0, 1024]},
    "scale": "n",
    "reg_max": 12,  # an edge lies at most 11 cells, 88 pixels, from the middle
    "backbone": [
        [-1, 1, "Conv", [24, 7, 4, 3]],
        [-1, 1, "C3k2", [24, False, 0.5]],
        [-1, 1, "Conv", [40, 3, 2]],
        [-1, 1, "C3k2", [40, False, 0.5]],
        [-1, 1, "Conv", [48, 3, 2]],
        [-1, 1, "C3k2", [48, False, 0.5]],
        [-1, 1, "SPPF", [48, 5]],
    ],
    "head": [
        [-1, 1, "nn.Upsample", [None, 2, "nearest"]],
        [[-1, 3], 1, "Concat", [1]],
        [-1, 1, "C3k2", [40, False, 0.5]],
        [[9], 1, "Detect", ["nc"]],
    ],
}
"""One head, with a cell for every 8 by 8 pixels; a coarser level beneath it lets it see large shapes whole."""

Colour = tuple[int, int, int]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Shape:
    """What was drawn. The box is in pixels, its second corner excluded."""

    kind: str
    box: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Drawing:
    image: Image  # RGB
    shapes: tuple[Shape, ...]

    def count(self, kind: str) -> int:
        return sum(shape.kind == kind for shape in self.shapes)


@dataclass(frozen=True, slots=True)
class _Place:
    x: float
    y: float
    radius: float  # of the circle around whatever stands here


def draw(seed: int, size: tuple[int, int] | None = None, scale: float = 1.0) -> Drawing:
    """A picture, the same for a seed. Without a size each side has 240 to 760 pixels.

    Shapes are filled, outlined or both, from a twentieth of the longer to a third of the shorter side, in any rotation,
    and touch at most. Lines, words and long rectangles, which are no shapes here, lie between them in every fourth
    picture; noise, blur and JPEG follow. ``scale``: how many times larger than that the things are.
    """
    from PIL import Image, ImageDraw

    chance = Random(seed)
    width, height = size or (chance.randint(240, 760), chance.randint(240, 760))
    ground, image = _ground(chance, width, height)
    large = Image.new("RGB", (2 * width, 2 * height))
    large.paste(image.resize(large.size, Image.Resampling.NEAREST))
    pen = ImageDraw.Draw(large)  # twice as large, then scaled down: smooth edges
    places: list[_Place] = []
    shapes: list[Shape] = []
    few = chance.random() < 0.3
    largest = chance.uniform(0.15, 0.33) if few else chance.uniform(0.07, 0.2)
    palette = [_colour(chance, ground) for _ in range(chance.randint(1, 6))]
    style = chance.choice(("filled", "outlined", "both", "mixed"))
    if chance.random() < 0.25:
        _clutter(chance, pen, places, (width, height), ground, scale)
    for _ in range(chance.randint(0, 4 if few else MOST)):
        place = _room(chance, places, (width, height), largest, scale)
        if place is not None:
            places.append(place)
            shapes.append(_shape(chance, pen, place, chance.choice(palette), ground, style))
    return Drawing(_wear(chance, large.reduce(2)), tuple(shapes))


def _ground(chance: Random, width: int, height: int) -> tuple[Colour, Image]:
    """A background: plain or running from one colour to another. Its mean colour comes with it."""
    from PIL import Image

    light = chance.random() < 0.65
    one = (
        _hsv(chance.random(), chance.uniform(0, 0.25), chance.uniform(0.85, 1))
        if light
        else _hsv(chance.random(), chance.random(), chance.random())
    )
    if chance.random() < 0.5:
        return one, Image.new("RGB", (width, height), one)
    other = tuple(min(255, max(0, value + chance.randint(-50, 50))) for value in one)
    ramp = Image.linear_gradient("L").rotate(chance.choice((0, 90, 180, 270))).resize((width, height))
    mean = tuple((a + b) // 2 for a, b in zip(one, other, strict=True))
    return (mean[0], mean[1], mean[2]), Image.composite(
        Image.new("RGB", (width, height), one), Image.new("RGB", (width, height), (other[0], other[1], other[2])), ramp
    )


def _hsv(hue: float, saturation: float, value: float) -> Colour:
    red, green, blue = colorsys.hsv_to_rgb(hue, saturation, value)
    return round(255 * red), round(255 * green), round(255 * blue)


def _colour(chance: Random, ground: Colour) -> Colour:
    """A colour that stands out against the background."""
    while True:
        grey = chance.random() < 0.15
        colour = _hsv(
            chance.random(),
            0 if grey else chance.uniform(0.3, 1),
            chance.uniform(0, 1) if grey else chance.uniform(0.35, 1),
        )
        if sum(abs(a - b) for a, b in zip(colour, ground, strict=True)) > 150:
            return colour


def _room(
    chance: Random, places: Sequence[_Place], size: tuple[int, int], largest: float, scale: float
) -> _Place | None:
    """A free place, or None if none was found."""
    width, height = size
    for _ in range(ATTEMPTS):
        radius = scale * max(SMALLEST * max(size), min(size) * chance.uniform(0.04, largest)) / 2
        if 2 * radius + 4 >= min(size):
            continue
        x, y = chance.uniform(radius + 1, width - radius - 1), chance.uniform(radius + 1, height - radius - 1)
        if all(math.hypot(x - other.x, y - other.y) > 0.95 * (radius + other.radius) for other in places):
            return _Place(x, y, radius)
    return None


def _shape(chance: Random, pen: Pen, place: _Place, colour: Colour, ground: Colour, style: str) -> Shape:
    kind = chance.choice(KINDS)
    way = chance.choice(("filled", "outlined", "both")) if style == "mixed" else style
    line = max(1, round(place.radius * chance.uniform(0.05, 0.18)))
    edge = (
        colour
        if way == "outlined"
        else chance.choice(((0, 0, 0), (30, 30, 30), (255, 255, 255), _colour(chance, ground)))
    )
    fill = None if way == "outlined" else colour
    x, y, radius = 2 * place.x, 2 * place.y, 2 * place.radius
    if kind == "circle":
        points = [(x - radius, y - radius), (x + radius, y + radius)]
        pen.ellipse(points, fill=fill, outline=None if way == "filled" else edge, width=2 * line)
        _decorate(chance, pen, (x, y), radius, colour, way)
    else:
        points = _corners(chance, kind, (x, y), radius)
        pen.polygon(points, fill=fill)
        if way != "filled":
            pen.line([*points, *points[:2]], fill=edge, width=2 * line, joint="curve")
    xs, ys = [point[0] / 2 for point in points], [point[1] / 2 for point in points]
    grown = 0.0 if kind == "circle" or way == "filled" else line / 2
    return Shape(kind, (min(xs) - grown, min(ys) - grown, max(xs) + grown, max(ys) + grown))


def _corners(chance: Random, kind: str, middle: Point, radius: float) -> list[Point]:
    """On the circle around the middle. Half the squares and triangles stand upright; triangles are not all regular."""
    count = 4 if kind == "square" else 3
    upright = math.pi / 4 if kind == "square" else -math.pi / 2
    turn = upright if chance.random() < 0.5 else chance.uniform(0, 2 * math.pi)
    slack = 0.35 if kind == "triangle" and chance.random() < 0.4 else 0.04
    angles = [
        turn + 2 * math.pi * number / count + (chance.uniform(-slack, slack) if count == 3 else 0)
        for number in range(count)
    ]
    return [(middle[0] + radius * math.cos(angle), middle[1] + radius * math.sin(angle)) for angle in angles]


def _decorate(chance: Random, pen: Pen, middle: Point, radius: float, colour: Colour, way: str) -> None:
    """A highlight or an inner ring in a few of the filled circles, as drawings of balls and wheels have them."""
    if way == "outlined" or radius < 20 or chance.random() < 0.8:
        return
    x, y = middle
    pale = tuple((value + 255) // 2 for value in colour)
    if chance.random() < 0.5:
        inner = radius * 0.2
        x, y = x - 0.35 * radius, y - 0.35 * radius
        pen.ellipse((x - inner, y - inner, x + inner, y + inner), fill=(pale[0], pale[1], pale[2]))
    else:
        inner = radius * chance.uniform(0.5, 0.75)
        pen.ellipse((x - inner, y - inner, x + inner, y + inner), outline=(pale[0], pale[1], pale[2]), width=3)


def _clutter(
    chance: Random, pen: Pen, places: list[_Place], size: tuple[int, int], ground: Colour, scale: float
) -> None:
    """Things that are no circle, square or triangle."""
    from PIL import ImageFont

    width, height = size
    for _ in range(chance.randint(1, 4)):
        ink = _colour(chance, ground)
        what = chance.choice(("line", "word", "bar"))
        if what == "line":
            ends = [(chance.uniform(0, 2 * width), chance.uniform(0, 2 * height)) for _ in range(2)]
            pen.line(ends, fill=ink, width=chance.randint(2, 6))
            continue
        place = _room(chance, places, size, 0.3, scale)
        if place is None:
            continue
        places.append(place)
        x, y, radius = 2 * place.x, 2 * place.y, 2 * place.radius
        if what == "word":
            letters = "".join(
                chance.choice("bdefhiklmnprstuvwxyzBCEFGHKLMNPRST12345679") for _ in range(chance.randint(2, 5))
            )
            font = ImageFont.load_default(max(10, radius * 2 / (0.62 * len(letters))))
            pen.text((x, y), letters, fill=ink, font=font, anchor="mm")
        else:
            half = radius * chance.uniform(0.15, 0.42)
            box = (x - radius * 0.9, y - half, x + radius * 0.9, y + half)
            upright = (x - half, y - radius * 0.9, x + half, y + radius * 0.9)
            pen.rectangle(box if chance.random() < 0.5 else upright, fill=ink)


def _wear(chance: Random, image: Image) -> Image:
    """Noise, blur and the losses of JPEG, each light and only in some pictures."""
    from PIL import Image as Images
    from PIL import ImageFilter

    if chance.random() < 0.3:
        import numpy

        noise = numpy.random.default_rng(chance.getrandbits(32)).normal(
            0, chance.uniform(2, 12), (image.height, image.width, 1)
        )
        image = Images.fromarray((numpy.asarray(image, dtype="float32") + noise).clip(0, 255).astype("uint8"))
    if chance.random() < 0.15:
        image = image.filter(ImageFilter.GaussianBlur(chance.uniform(0.3, 1.0)))
    if chance.random() < 0.4:
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=chance.randint(50, 95))
        image = Images.open(buffer).convert("RGB")
    return image


def picture(number: int) -> tuple[Any, list[tuple[int, float, float, float, float]]]:
    """The drawing as it is shown to the model, as bytes of SIDE by SIDE by 3, and its boxes as class, middle and
    size (0 to 1)."""
    import numpy
    from PIL import Image

    chance = Random(number)
    short, long = sorted((chance.randint(140, 320), chance.randint(224, 320)))
    drawing = draw(
        number, (long, short) if chance.random() < 0.5 else (short, long), scale=chance.uniform(1.0, SEEN / SIDE)
    )
    width, height = drawing.image.size
    scale = SIDE / max(width, height)
    small = drawing.image.resize((round(width * scale), round(height * scale)), Image.Resampling.BILINEAR)
    left, top = (SIDE - small.width) // 2, (SIDE - small.height) // 2
    square = Image.new("RGB", (SIDE, SIDE), (114, 114, 114))  # as ultralytics fills up a picture that is not square
    square.paste(small, (left, top))
    labels = []
    for shape in drawing.shapes:
        x1, y1, x2, y2 = (value * scale for value in shape.box)
        middle = ((x1 + x2) / 2 + left) / SIDE, ((y1 + y2) / 2 + top) / SIDE
        labels.append((KINDS.index(shape.kind), *middle, (x2 - x1) / SIDE, (y2 - y1) / SIDE))
    return numpy.asarray(square).copy(), labels


def pictures(first: int) -> list[Any]:
    return [picture(number) for number in range(first, first + BATCH)]


def batch_of(drawn: list[Any]) -> dict[str, Any]:
    import numpy
    import torch

    rows = [(place, *label) for place, (_, labels) in enumerate(drawn) for label in labels]
    table = torch.tensor(rows, dtype=torch.float32).reshape(-1, 6)
    images = numpy.stack([pixels for pixels, _ in drawn])
    return {
        "img": torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255,  # keeps channels last
        "batch_idx": table[:, 0],
        "cls": table[:, 1:2],
        "bboxes": table[:, 2:],
    }


def train(steps: int = STEPS, seed: int = SEED, report: Any = None) -> Any:
    """The trained model: its weights averaged over the last steps. ``report`` is called with step and loss."""
    import torch

    load_ultralytics()
    from ultralytics.cfg import get_cfg
    from ultralytics.nn.tasks import DetectionModel
    from ultralytics.utils.torch_utils import ModelEMA

    torch.manual_seed(seed)
    torch.set_num_threads(1)  # for a model of this size a second one only waits, 20 times as long on a busy machine
    model: Any = DetectionModel({**ARCHITECTURE}, ch=3, nc=len(KINDS), verbose=False)
    model.names = dict(enumerate(KINDS))
    model.args = get_cfg(overrides={"imgsz": SEEN, "task": "detect", "mode": "train"})
    plain = [p for p in model.parameters() if p.ndim < 2]
    heavy = [p for p in model.parameters() if p.ndim >= 2]
    optimizer = torch.optim.AdamW(
        [{"params": heavy, "weight_decay": 5e-4}, {"params": plain, "weight_decay": 0.0}], lr=PEAK
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK, steps, pct_start=0.08, final_div_factor=100)
    average = ModelEMA(model, decay=0.998, tau=100)
    model.train().to(memory_format=torch.channels_last)
    with ProcessPoolExecutor(1) as pool:
        first = FIRST + seed * 10_000_000
        ahead = deque(pool.submit(pictures, first + step * BATCH) for step in range(AHEAD))
        for step in range(steps):
            loss, _ = model.loss(batch_of(ahead.popleft().result()))
            ahead.append(pool.submit(pictures, first + (step + AHEAD) * BATCH))
            loss = loss.sum()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
            average.update(model)
            if report is not None:
                report(step, loss.item() / BATCH)
    return average.ema


def save(model: Any, checkpoint: Path) -> None:
    """Write the checkpoint in half precision, in the form that ultralytics loads, and the JSON file beside it."""
    from copy import deepcopy

    import torch

    kept = deepcopy(model).half()
    kept.args = {"imgsz": SEEN, "task": "detect"}
    for name in ("criterion", "pt_path"):
        if hasattr(kept, name):
            delattr(kept, name)
    torch.save({"model": kept, "train_args": {"imgsz": SEEN, "task": "detect"}}, checkpoint)
    checkpoint.with_suffix(".json").write_text(json.dumps({"classes": list(KINDS)}) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the detector of drawn circles, squares and triangles.")
    parser.add_argument(
        "checkpoint", nargs="?", type=Path, default=Path("shapes.pt"), help="file to write (default: shapes.pt)"
    )
    parser.add_argument("--steps", type=int, default=STEPS, help=f"batches of {BATCH} pictures (default: {STEPS})")
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    start = time.monotonic()

    def report(step: int, loss: float) -> None:
        if step % 50 == 0:
            print(
                f"step {step} of {given.steps}, loss {loss:.3f}, {time.monotonic() - start:.0f} s",
                file=sys.stderr,
                flush=True,
            )

    save(train(given.steps, given.seed, report), given.checkpoint)


if __name__ == "__main__":
    main()
