"""Detectors of ultralytics: checkpoints with fixed classes, and YOLO-World and YOLOE, which take any words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import ToolUnavailable
from agentgauge.core.index import cache_folder
from agentgauge.core.pictures import flattened
from tool_impls import devices
from tool_impls.geometry import Box
from tool_impls.perception.detection.detector import Detector, Hit, Names, not_loaded
from tool_impls.perception.detection.weights_file import lacks_encoder
from tool_impls.perception.detection.yolo_env import load_ultralytics

if TYPE_CHECKING:
    from PIL.Image import Image

_WEIGHTS = "weights in [tools.detection]"
OVERLAP = 0.6  # two boxes of a class that share more of their union are one thing


class _Yolo:
    """A loaded checkpoint. Pictures are fitted into squares: a batch of several sizes finds what each finds alone."""

    def __init__(self, model: Any, device: str) -> None:
        import torch

        self._model = model
        self._device = torch.device(device)  # given as an object, the package leaves CUDA_VISIBLE_DEVICES alone
        with devices.loading("[tools.detection]", device):
            model.model.to(self._device)

    def _predict(self, images: Sequence[Image], threshold: float) -> list[list[Hit]]:
        pictures = [flattened(image) for image in images]
        quiet = {"verbose": False, "save": False, "rect": False}
        size, least = len(pictures), max(threshold, 0.001)
        results = self._model.predict(pictures, conf=least, iou=OVERLAP, batch=size, device=self._device, **quiet)
        return [_hits(result) for result in results]


class FixedYolo(_Yolo):
    @property
    def classes(self) -> Names | None:
        return tuple(self._model.names[number] for number in sorted(self._model.names))

    def detect_many(self, images: Sequence[Image], names: Sequence[Names | None], threshold: float) -> list[list[Hit]]:
        return self._predict(images, threshold)


class OpenYolo(_Yolo):
    """Looks for any words, with the text encoder beside the checkpoint; one pass for each list of names."""

    def __init__(self, model: Any, device: str, encoder: Path) -> None:
        from ultralytics.nn import text_model
        from ultralytics.utils import SETTINGS

        super().__init__(model, device)
        vars(text_model)["WEIGHTS_DIR"] = encoder  # where the encoders are looked for, before they are downloaded
        SETTINGS.update({"weights_dir": str(encoder)})
        self._set: Names | None = None

    @property
    def classes(self) -> Names | None:
        return None

    def detect_many(self, images: Sequence[Image], names: Sequence[Names | None], threshold: float) -> list[list[Hit]]:
        found: list[list[Hit]] = [[] for _ in images]
        for wanted in dict.fromkeys(names):  # not all names at once: they change each other's scores
            indices = [index for index, own in enumerate(names) if own == wanted]
            if wanted is not None and wanted != self._set:
                self._set_classes(list(wanted))
                self._set = wanted
            hits = self._predict([images[index] for index in indices], threshold)
            for index, own_hits in zip(indices, hits, strict=True):
                found[index] = own_hits
        return found

    def _set_classes(self, names: list[str]) -> None:
        """As the package's own ``set_classes``, which loads the text encoder again for each list."""
        from ultralytics import YOLOE

        network = self._model.model
        if isinstance(self._model, YOLOE):
            self._model.set_classes(names, network.get_text_pe(names, cache_clip_model=True))
        else:
            network.set_classes(names, cache_clip_model=True)
            network.names = names
            self._model.predictor = None


def _hits(result: Any) -> list[Hit]:
    boxes = result.boxes
    rows = zip(boxes.xyxy.tolist(), boxes.conf.tolist(), boxes.cls.int().tolist(), strict=True)
    hits = [Hit(Box(*corners), score, result.names[number], number) for corners, score, number in rows]
    return sorted(hits, key=lambda hit: -hit.score)


def load(weights: Path | str, device: str) -> Detector:
    """The detector in a checkpoint; a name is fetched first. Raises ToolUnavailable for a file that holds none."""
    package = load_ultralytics()
    if isinstance(weights, str):
        weights = _fetch(weights)
    try:
        model = package.YOLO(str(weights))
    except Exception as error:  # of any kind, by a file of unknown origin
        raise not_loaded(weights, "ultralytics", error) from error
    if model.task not in ("detect", "segment"):
        raise ToolUnavailable(f"{_WEIGHTS}: {weights.name} is a model for {model.task}, not for detection")
    if isinstance(model, package.YOLOWorld | package.YOLOE) and lacks_encoder(weights) is None:
        return OpenYolo(model, device, weights.parent)
    return FixedYolo(model, device)


def _fetch(name: str) -> Path:
    """A checkpoint by its name, from the releases of ultralytics, kept in the user's cache folder."""
    from ultralytics.utils.downloads import attempt_download_asset

    cache = cache_folder().with_name("ultralytics")
    cache.mkdir(parents=True, exist_ok=True)
    try:
        file = Path(attempt_download_asset(cache / Path(name).name))
    except Exception as error:  # of urllib, requests or the package itself
        problem = f"{name} could not be fetched ({type(error).__name__})"
        raise ToolUnavailable(f"{_WEIGHTS}: {problem}; give the path of a local file") from error
    if not file.is_file():
        raise ToolUnavailable(f"{_WEIGHTS}: ultralytics offers no {name}; give the path of a local file")
    return file
