"""Detectors of transformers: such as Grounding DINO and OWLv2 for any words, RT-DETR and DETR for fixed classes."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import ToolUnavailable
from agentgauge.core.pictures import flattened
from tool_impls import devices
from tool_impls.arguments import Box
from tool_impls.devices import nms, ready_torchvision
from tool_impls.perception.detection.detector import OPEN_MODELS, Detector, Hit, Names, not_loaded

if TYPE_CHECKING:
    from PIL.Image import Image

OVERLAP = 0.6  # two boxes of a name that share more of their union are one thing
WORDS_LEAST = 0.25  # score of a word for it to be part of a hit's label, in models that score words


class _Hub(ABC):
    def __init__(self, model: Any, processor: Any, device: str) -> None:
        self._model = model.to(device).eval()
        self._processor = processor
        self._device = device

    def detect_many(self, images: Sequence[Image], names: Sequence[Names | None], threshold: float) -> list[list[Hit]]:
        """Pictures of one size and with the same names go through together: without padding none affects another."""
        groups: dict[Any, list[int]] = defaultdict(list)
        for index, (image, wanted) in enumerate(zip(images, names, strict=True)):
            groups[image.size, wanted].append(index)
        found: list[list[Hit]] = [[] for _ in images]
        for (_, wanted), indices in groups.items():
            pictures = [flattened(images[index]) for index in indices]
            for index, hits in zip(indices, self._pass(pictures, wanted, threshold), strict=True):
                seen = [hit for hit in hits if hit.box.x1 < hit.box.x2 and hit.box.y1 < hit.box.y2]
                found[index] = sorted(seen, key=lambda hit: -hit.score)
        return found

    @abstractmethod
    def _pass(self, images: list[Image], names: Names | None, threshold: float) -> list[list[Hit]]:
        """The hits in each picture, in any order."""

    def _outputs(self, inputs: Any) -> Any:
        import torch

        with torch.inference_mode():
            return self._model(**inputs.to(self._device))


class FixedHub(_Hub):
    @property
    def classes(self) -> Names | None:
        labels = self._model.config.id2label
        return tuple(labels[number] for number in sorted(labels))

    def _pass(self, images: list[Image], names: Names | None, threshold: float) -> list[list[Hit]]:
        outputs = self._outputs(self._processor(images=images, return_tensors="pt"))
        sizes = [(image.height, image.width) for image in images]
        results = self._processor.post_process_object_detection(outputs, threshold=threshold, target_sizes=sizes)
        return [self._hits(result, image) for image, result in zip(images, results, strict=True)]

    def _hits(self, result: Any, image: Image) -> list[Hit]:
        labels = self._model.config.id2label
        rows = zip(*(result[name].tolist() for name in ("boxes", "scores", "labels")), strict=True)
        return [Hit(_inside(corners, image), score, labels[number], number) for corners, score, number in rows]


class OpenHub(_Hub):
    @property
    def classes(self) -> Names | None:
        return None

    def _pass(self, images: list[Image], names: Names | None, threshold: float) -> list[list[Hit]]:
        if not names:
            return [[] for _ in images]
        texts = [[name.lower() for name in names] for _ in images]
        inputs = self._processor(images=images, text=texts, padding=True, truncation=True, return_tensors="pt")
        outputs = self._outputs(inputs)
        sizes = [(image.height, image.width) for image in images]
        post = self._processor.post_process_grounded_object_detection
        scores_words = "text_threshold" in inspect.signature(post).parameters
        scored = {"text_threshold": min(WORDS_LEAST, threshold)} if scores_words else {}
        results = post(outputs, threshold=threshold, target_sizes=sizes, text_labels=texts, **scored)
        return [_named(result, image, names) for image, result in zip(images, results, strict=True)]


def _named(result: Any, image: Image, names: Names) -> list[Hit]:
    """The hits that name one of the names, each thing once."""
    kept: list[Hit] = []
    numbers = [_number(label, names) for label in (result.get("text_labels") or result["labels"])]
    for number, name in enumerate(names):
        indices = [index for index, own in enumerate(numbers) if own == number]
        boxes, scores = result["boxes"][indices], result["scores"][indices]
        for index in nms(boxes, scores, OVERLAP).tolist():
            kept.append(Hit(_inside(boxes[index].tolist(), image), float(scores[index]), name, number))
    return kept


def _number(label: str | int, names: Names) -> int | None:
    """Which name a label means. Models that score words may give a part of a name."""
    if len(names) == 1:
        return 0
    if not isinstance(label, str):
        return int(label)
    lowered = [name.lower() for name in names]
    if label in lowered:
        return lowered.index(label)
    words = set(label.split())
    shared = [len(words & set(name.split())) for name in lowered]
    return shared.index(max(shared)) if any(shared) else None


def _inside(corners: Sequence[float], image: Image) -> Box:
    return Box(*(min(max(value, 0.0), float(most)) for value, most in zip(corners, image.size * 2, strict=True)))


def load(weights: Path | str, device: str) -> Detector:
    """The detector in a folder; a name is fetched from the hub. Raises ToolUnavailable for a folder that holds none,
    and where the memory does not suffice.
    """
    ready_torchvision()
    import transformers
    from transformers.utils import logging

    logging.disable_progress_bar()
    local = isinstance(weights, Path)
    given: dict[str, Any] = {"local_files_only": local}
    try:
        with devices.loading("[tools.detection]", device):
            if transformers.AutoConfig.from_pretrained(weights, **given).model_type in OPEN_MODELS:
                model = transformers.AutoModelForZeroShotObjectDetection.from_pretrained(weights, **given)
                return OpenHub(model, transformers.AutoProcessor.from_pretrained(weights, **given), device)
            model = transformers.AutoModelForObjectDetection.from_pretrained(weights, **given)
            return FixedHub(model, transformers.AutoImageProcessor.from_pretrained(weights, **given), device)
    except ToolUnavailable:
        raise
    except Exception as error:  # of any kind, by files of unknown origin
        raise not_loaded(weights, "transformers", error) from error
