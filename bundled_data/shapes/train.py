"""Train the detector of drawn shapes: ``python -m bundled_data.shapes.train [CHECKPOINT]``.

About ten minutes on two CPU cores, one of which draws. Every picture is new and drawn from its own number, so a seed
makes the same checkpoint on the same machine and versions. Beside the checkpoint goes a JSON file with the names of its
classes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

from bundled_data.shapes.draw import KINDS, draw
from tool_impls.perception.detection.yolo import load_ultralytics

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
