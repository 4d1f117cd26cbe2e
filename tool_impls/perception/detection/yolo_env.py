"""Imports ultralytics so that it contacts no server, installs nothing, reports nothing, and writes only into a folder
of its own.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import threading
from functools import cache
from pathlib import Path
from typing import Any

from agentgauge.core.files import OwnFolder
from tool_impls.perception.detection.torchvision_ops import ready_torchvision

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
