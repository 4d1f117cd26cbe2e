"""The interface of detectors, which every back end implements, and facts about weights that are read without loading
them.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agentgauge.core.errors import ToolUnavailable
from agentgauge.core.text import parse_json
from tool_impls.arguments import Box

if TYPE_CHECKING:
    from PIL.Image import Image


Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """A found object. ``score``: 0 to 1. ``number``: of its class, or of the searched name."""

    box: Box
    score: float
    label: str
    number: int


class Detector(Protocol):
    """A loaded model. Only one thread calls it at a time."""

    @property
    def classes(self) -> Names | None:
        """The only classes that it can find, in the order of their numbers; None if it accepts any words."""

    def detect_many(self, images: Sequence[Image], names: Sequence[Names | None], threshold: float) -> list[list[Hit]]:
        """The objects in each picture with at least that score, best first.

        ``names``: the names to look for in each picture; None for all classes that the detector has. A detector of
        fixed classes always looks for all of them. What is found in one picture does not depend on the others.
        """


def not_loaded(weights: Path | str, package: str, error: Exception) -> ToolUnavailable:
    """The sentence that says which weights a package cannot load, by base name, and why."""
    name = Path(weights).name if isinstance(weights, Path) else weights
    detail = " ".join(str(error).replace(str(weights), name).split())[:200] or type(error).__name__
    return ToolUnavailable(f"weights in [tools.detection]: {name} cannot be loaded by {package} ({detail})")


# -- facts about weights


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
