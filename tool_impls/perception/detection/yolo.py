"""Detectors of ultralytics: checkpoints with fixed classes, and YOLO-World and YOLOE, which take any words."""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import ToolUnavailable
from agentgauge.core.files import OwnFolder, cache_folder
from agentgauge.core.pictures import flattened
from tool_impls import devices
from tool_impls.arguments import Box
from tool_impls.devices import ready_torchvision
from tool_impls.perception.detection.detector import Detector, Hit, Names, lacks_encoder, not_loaded

if TYPE_CHECKING:
    from PIL.Image import Image


# -- import: ultralytics contacts no server, installs nothing, reports nothing, writes only into a folder of its own


QUIET = {
    "YOLO_OFFLINE": "1",  # otherwise it asks two name servers on import
    "YOLO_AUTOINSTALL": "0",  # otherwise it installs packages that it misses
    "YOLO_VERBOSE": "0",
}
FONTS = ("Arial.ttf", "Arial.Unicode.ttf")  # downloaded where they are missing
_lock = threading.Lock()


def load_ultralytics() -> Any:
    """The package (AGPL-3.0), imported once. Its analytics are off, even if the user's own settings switch them on."""
    with _lock:
        return _load()


@cache
def _load() -> Any:
    os.environ.update(QUIET)
    # A checkpoint is a pickle: only classes of ultralytics and torch are made of it, unless the environment says 0.
    os.environ.setdefault("ULTRALYTICS_SAFE_LOAD", "1")
    folder = OwnFolder("yolo")
    atexit.register(folder.close)
    own = folder.path
    os.environ["YOLO_CONFIG_DIR"] = str(own)
    logging.getLogger("ultralytics").setLevel(logging.ERROR)
    ready_torchvision()
    from PIL import Image

    opened = Image.open
    import ultralytics
    from ultralytics.utils import SETTINGS, USER_CONFIG_DIR
    from ultralytics.utils.events import events  # made on import, so before the setting can be changed

    SETTINGS.update({"sync": False, "runs_dir": str(own / "runs"), "weights_dir": str(own / "weights")})
    events.enabled = False
    # The package has replaced it in all of this process, to look for a package of HEIF pictures where one is damaged.
    Image.open = opened
    _supply_fonts(USER_CONFIG_DIR)
    return ultralytics


def _supply_fonts(folder: Path) -> None:
    """Matplotlib's own font, under the names that ultralytics looks for."""
    import matplotlib

    font = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    for name in FONTS:
        shutil.copyfile(font, folder / name)


# -- detectors


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

    cache = cache_folder() / "ultralytics"
    cache.mkdir(parents=True, exist_ok=True)
    try:
        file = Path(attempt_download_asset(cache / Path(name).name))
    except Exception as error:  # of urllib, requests or the package itself
        problem = f"{name} could not be fetched ({type(error).__name__})"
        raise ToolUnavailable(f"{_WEIGHTS}: {problem}; give the path of a local file") from error
    if not file.is_file():
        raise ToolUnavailable(f"{_WEIGHTS}: ultralytics offers no {name}; give the path of a local file")
    return file
