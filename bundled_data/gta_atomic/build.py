"""Builds the bundled data set into a folder."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bundled_data.gta_atomic import charts, printed, scenes
from bundled_data.gta_atomic.canvas import Picture
from bundled_data.gta_atomic.dialog import NAMES, Bench, Dialog, Draft, finish, save
from bundled_data.gta_atomic.drawing import DRAWING
from bundled_data.gta_atomic.objective import OBJECTIVE
from bundled_data.gta_atomic.reading import READING
from bundled_data.gta_atomic.subjective import SUBJECTIVE

DRAFTS: tuple[Draft, ...] = (*OBJECTIVE, *READING, *SUBJECTIVE, *DRAWING)
PNG = ("chart_rain", "chart_visitors")
"""Pictures without grain, which PNG stores in fewer bytes."""


def pictures() -> dict[str, Picture]:
    """Every picture by its name: the public functions of the three modules."""
    modules = (printed, scenes, charts)
    functions = [f for m in modules for f in vars(m).values() if inspect.isfunction(f) and f.__module__ == m.__name__]
    return {f.__name__: f() for f in functions if not f.__name__.startswith("_")}


def file_name(name: str) -> str:
    return f"{name}.png" if name in PNG else f"{name}.jpg"


def build(folder: Path) -> None:
    """Draw the pictures, run the gold calls, and write dataset.json and toolmeta.json.

    ``image/`` is emptied first. Raises ValueError where ``search/`` is missing, as in a folder with other data.
    """
    if not (folder / "search").is_dir():
        raise ValueError(
            f"{folder} holds no folder search/, which the bundled data needs; copy bench_gta/atomic/mini/search there"
            " first"
        )
    drawn = pictures()
    (folder / "image").mkdir(exist_ok=True)
    for old in (folder / "image").iterdir():
        old.unlink()
    for name, picture in drawn.items():
        save(picture.image, folder / "image" / file_name(name))
    bench = Bench(folder)
    samples: dict[str, Any] = {}
    for position, draft in enumerate(DRAFTS):
        dialog = Dialog(bench, folder, drawn)
        draft.write(dialog)
        samples[str(position)] = finish(draft, dialog)
    _write(folder / "dataset.json", samples)
    _write(folder / "toolmeta.json", {name: bench.meta(name).to_json() for name in NAMES})


def _write(path: Path, data: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
