"""Reads facts about a detector's weights without loading them."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agentgauge.core.text import parse_json

SHIPPED = Path(__file__).resolve().parents[2] / "data" / "shapes.pt"
OPEN_CLASSES = (b"WorldModel", b"YOLOEModel")  # of ultralytics: names in the pickle of a checkpoint
OPEN_MODELS = {"grounding-dino", "mm-grounding-dino", "omdet-turbo", "owlv2", "owlvit"}  # types of transformers
LARGEST_PICKLE = 64 * 2**20  # bytes; the structure of a model takes less than one


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The objects that a detector can look for. ``any_words``: whether it accepts free text; None if that is unknown.
    ``classes``: the known classes.
    """

    any_words: bool | None = None
    classes: tuple[str, ...] = ()

    def __str__(self) -> str:
        if len(self.classes) > 5:
            return f"{', '.join(self.classes[:4])} and {len(self.classes) - 4} more"
        return ", ".join(self.classes) or "a list of its own"


def vocabulary(weights: Path) -> Vocabulary:
    """From ``config.json`` in a folder; for ``X.pt`` from ``X.json`` (``{"classes": [...]}``) or its own pickle."""
    if weights.is_dir():
        return _of_folder(_json(weights / "config.json"))
    listed = _json(weights.with_suffix(".json")).get("classes")
    if isinstance(listed, list) and listed and all(isinstance(name, str) for name in listed):
        return Vocabulary(False, tuple(listed))
    return _of_checkpoint(weights)


def lacks_encoder(weights: Path) -> str | None:
    """What an open checkpoint of ultralytics lacks to read free text, None if nothing: a package, or files beside it.

    ultralytics would download both without asking, so they are used only if they are present. The package is in no
    index.
    """
    if find_spec("clip") is None:
        return "the Python package clip"
    if any(any(weights.parent.glob(name)) for name in ("clip/ViT-B-32.pt", "mobileclip*.ts")):
        return None
    return "the text encoder beside the checkpoint, clip/ViT-B-32.pt for YOLO-World or mobileclip*.ts for YOLOE"


def _of_folder(config: dict[str, Any]) -> Vocabulary:
    if config.get("model_type") in OPEN_MODELS:
        return Vocabulary(True)
    labels = config.get("id2label")
    if not isinstance(labels, dict):
        return Vocabulary()
    numbers = sorted(labels, key=lambda key: int(key) if key.isdecimal() and len(key) < 10 else 0)
    return Vocabulary(False, tuple(str(labels[number]) for number in numbers))


def _of_checkpoint(weights: Path) -> Vocabulary:
    try:
        with zipfile.ZipFile(weights) as archive:
            (pickle,) = (entry for entry in archive.infolist() if entry.filename.endswith("/data.pkl"))
            if pickle.file_size > LARGEST_PICKLE:
                return Vocabulary()
            data = archive.read(pickle)
    except (OSError, ValueError, zipfile.BadZipFile):
        return Vocabulary()  # loading it will say what is wrong
    return Vocabulary(any(name in data for name in OPEN_CLASSES))


def _json(file: Path) -> dict[str, Any]:
    try:
        value = parse_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
