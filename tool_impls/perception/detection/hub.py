"""Detectors of transformers: Grounding DINO, OWLv2 and their like for any words, RT-DETR, DETR and their like for
fixed classes."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tool_impls.perception.detection.detector import Box, Detector, Hit, Names, not_loaded
from tool_impls.perception.detection.torchvision_ops import nms, ready_torchvision
from tool_impls.perception.detection.weights_file import OPEN_MODELS

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
        """Pictures of one size and with the same names go through together: no padding, so no effect of one on
        another."""
        groups: dict[Any, list[int]] = defaultdict(list)
        for index, (image, wanted) in enumerate(zip(images, names, strict=True)):
            groups[image.size, wanted].append(index)
        found: list[list[Hit]] = [[] for _ in images]
        for (_, wanted), indices in groups.items():
            pictures = [images[index].convert("RGB") for index in indices]
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
        labels = self._model.config.id2label
        return [
            [
                Hit(_inside(corners, image), score, labels[number], number)
                for corners, score, number in zip(
                    result["boxes"].tolist(), result["scores"].tolist(), result["labels"].tolist(), strict=True
                )
            ]
            for image, result in zip(images, results, strict=True)
        ]


class OpenHub(_Hub):
    @property
    def classes(self) -> Names | None:
        return None

    def _pass(self, images: list[Image], names: Names | None, threshold: float) -> list[list[Hit]]:
        if not names:
            return [[] for _ in images]
        texts = [[name.lower() for name in names] for _ in images]
        outputs = self._outputs(
            self._processor(images=images, text=texts, padding=True, truncation=True, return_tensors="pt")
        )
        sizes = [(image.height, image.width) for image in images]
        post = self._processor.post_process_grounded_object_detection
        scored = (
            {"text_threshold": min(WORDS_LEAST, threshold)}
            if "text_threshold" in inspect.signature(post).parameters
            else {}
        )
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
    x1, y1, x2, y2 = corners
    width, height = map(float, image.size)
    return Box(min(max(x1, 0.0), width), min(max(y1, 0.0), height), min(max(x2, 0.0), width), min(max(y2, 0.0), height))


def load(weights: Path | str, device: str) -> Detector:
    """The detector in a folder; a name is fetched from the hub. Raises ToolUnavailable for a folder that holds none."""
    ready_torchvision()
    import transformers
    from transformers.utils import logging

    logging.disable_progress_bar()
    local = isinstance(weights, Path)
    try:
        config = transformers.AutoConfig.from_pretrained(weights, local_files_only=local)
        if config.model_type in OPEN_MODELS:
            model = transformers.AutoModelForZeroShotObjectDetection.from_pretrained(weights, local_files_only=local)
            return OpenHub(model, transformers.AutoProcessor.from_pretrained(weights, local_files_only=local), device)
        model = transformers.AutoModelForObjectDetection.from_pretrained(weights, local_files_only=local)
        return FixedHub(model, transformers.AutoImageProcessor.from_pretrained(weights, local_files_only=local), device)
    except Exception as error:  # of any kind, by files of unknown origin
        raise not_loaded(weights, "transformers", error) from error
