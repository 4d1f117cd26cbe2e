"""Detectors load local files only, of both back ends; and neither looks for a host, at import or at work."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, UnidentifiedImageError

from agentgauge.core.errors import ToolError, ToolUnavailable
from tests.tools import tiny_detectors
from tool_impls.perception.detection.tools import CountGivenObject, TextToBbox, VideoObjectDetection
from tool_impls.settings import ToolSettings

pytest.importorskip("torch")
if find_spec("ultralytics") is None:  # importing it here would change Pillow for the tests beside these
    pytest.skip("ultralytics is not installed", allow_module_level=True)
pytest.importorskip("transformers")

SCRATCH = Path()
PICTURE = Image.radial_gradient("L").resize((100, 80)).convert("RGB")


def made(kind: Any, folder: Path, threshold: float = 0.0) -> Any:
    table = {"backend": "transformers", "weights": str(folder), "threshold": threshold}
    tool = kind(ToolSettings(released=False, tables={"detection": table}))
    tool.setup("cpu")
    return tool


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    home = tmp_path_factory.mktemp("detectors")
    makers = {"dino": tiny_detectors.grounding_dino, "owl": tiny_detectors.owl, "rt_detr": tiny_detectors.rt_detr}
    return {name: make(home / name) for name, make in makers.items()}


@pytest.mark.parametrize("name", ["dino", "owl"])
def test_free_text_is_looked_for_by_zero_shot_models(folders: dict[str, Path], name: str) -> None:
    settings = ToolSettings(tables={"detection": {"backend": "transformers", "weights": str(folders[name])}})
    assert TextToBbox.state(settings) == "ready"
    tool = made(TextToBbox, folders[name])
    lines = tool.apply(SCRATCH, image=PICTURE, text="red car", top1=False).split("\n")
    scores = [int(line.rpartition("score ")[2]) for line in lines]
    assert len(lines) >= 1 and scores == sorted(scores, reverse=True)
    for line in lines:
        x1, y1, x2, y2 = (float(value) for value in line.partition(")")[0].strip("(").split(","))
        assert 0 <= x1 <= x2 <= 100 and 0 <= y1 <= y2 <= 80
    assert tool.apply(SCRATCH, image=PICTURE, text="red car") == lines[0]
    assert made(CountGivenObject, folders[name]).apply(SCRATCH, image=PICTURE, text="red car") == len(lines)


@pytest.mark.parametrize("name", ["dino", "owl"])
def test_several_names_and_pictures_do_not_disturb_each_other(folders: dict[str, Path], name: str) -> None:
    finder = made(TextToBbox, folders[name]).finder
    assert finder.classes is None
    other = PICTURE.rotate(90, expand=True)
    alone = [finder.find_all([image], ("red car",), 0.0)[0] for image in (PICTURE, other)]
    together = finder.find_all([PICTURE, other], ("red car",), 0.0)
    assert [[tuple(map(round, hit.box)) for hit in hits] for hits in alone] == [
        [tuple(map(round, hit.box)) for hit in hits] for hits in together
    ]
    (several,) = finder.find_all([PICTURE], ("dog", "red car"), 0.0)
    assert {hit.label for hit in several} <= {"dog", "red car"} and all(
        hit.label == ("dog", "red car")[hit.number] for hit in several
    )


def test_fixed_classes_of_a_folder_are_told_before_loading_and_matched_by_words(folders: dict[str, Path]) -> None:
    settings = ToolSettings(tables={"detection": {"backend": "transformers", "weights": str(folders["rt_detr"])}})
    assert TextToBbox.state(settings) == "substitute: detector of fixed classes: cat, dog, car"
    assert VideoObjectDetection.state(settings) == "ready"
    tool = made(CountGivenObject, folders["rt_detr"])
    assert tool.finder.classes == ("cat", "dog", "car")
    total = sum(tool.apply(SCRATCH, image=PICTURE, text=text) for text in ("cats", "dogs", "automobiles"))
    assert total == tool.apply(SCRATCH, image=PICTURE, text="objects") > 0
    with pytest.raises(ToolError, match="it only knows cat, dog, car"):
        tool.apply(SCRATCH, image=PICTURE, text="whale")


def test_a_folder_that_holds_no_detector_is_refused_in_one_sentence(tmp_path: Path, folders: dict[str, Path]) -> None:
    torn = shutil.copytree(folders["rt_detr"], tmp_path / "torn")
    (torn / "model.safetensors").write_bytes(b"\x00" * 64)
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "config.json").write_text('{"model_type": "bert"}')
    for name in ("torn", "empty", "text"):
        with pytest.raises(ToolUnavailable, match=f"{name} cannot be loaded by transformers") as caught:
            made(TextToBbox, tmp_path / name)
        assert "\n" not in str(caught.value) and str(tmp_path) not in str(caught.value)


GUARDED = """
import socket, sys

tried = []

def refuse(*args, **kwargs):
    tried.append(args)
    raise OSError("no network in this test")

socket.socket.connect = socket.socket.connect_ex = lambda self, address: refuse(address)
socket.getaddrinfo = socket.gethostbyname = socket.create_connection = refuse

import subprocess
subprocess.Popen.__init__ = lambda self, args, *rest, **named: refuse("program", args)

import logging
from pathlib import Path
from tool_impls.perception.detection.tools import TextToBbox, CountGivenObject
from bundled_data.shapes import draw
from tool_impls.settings import ToolSettings

def count(table, text):
    tool = CountGivenObject(ToolSettings(tables={"detection": table}))
    tool.setup("cpu")
    return tool.apply(Path(), image=draw(1, (320, 240)).image, text=text)

count({"weights": "shapes"}, "circles")
for folder in sys.argv[1:]:
    count({"backend": "transformers", "weights": folder}, "car")

from ultralytics.utils import ONLINE, SETTINGS
from ultralytics.utils.checks import check_font
from ultralytics.utils.events import events
assert not ONLINE and not SETTINGS["sync"] and not events.enabled
assert Path(check_font("Arial.ttf")).is_file() and Path(check_font("Arial.Unicode.ttf")).is_file()
known = ("fc-list", "ldconfig", "-ldl")  # matplotlib's list of fonts; torch with CUDA looks for a library of the system
tried = [what for what in tried if not any(word in str(what) for word in known)]
assert not tried, tried
print("worked")
"""


def run(command: list[str], home: Path) -> subprocess.CompletedProcess[str]:
    hidden = ("YOLO", "ULTRALYTICS", "HF_", "TRANSFORMERS")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
    environment |= {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "PYTHONPATH": ".",
        "OMP_NUM_THREADS": "1",  # so small models lose time with more
    }
    root = Path(__file__).resolve().parents[2]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment, cwd=root)


def cut_off() -> list[str]:
    """A command before a command that takes its network away; empty where that is not permitted."""
    for options in (["-n"], ["-rn"]):
        command = [shutil.which("unshare") or "/nowhere/unshare", *options]
        try:
            if subprocess.run([*command, "true"], capture_output=True).returncode == 0:
                return command
        except OSError:
            return []
    return []


@pytest.mark.parametrize("network", [False, pytest.param(True, marks=pytest.mark.long)], ids=["cut off", "there"])
def test_no_host_is_looked_for_and_no_program_started(network: bool, folders: dict[str, Path], tmp_path: Path) -> None:
    """Where it is permitted, the process has no network at all: then all of this works without any."""
    prefix = [] if network else cut_off()
    used = folders.values() if network else [folders["owl"], folders["rt_detr"]]  # importing all takes seconds
    done = run([*prefix, sys.executable, "-W", "ignore", "-c", GUARDED, *map(str, used)], tmp_path)
    assert done.returncode == 0 and done.stdout.strip() == "worked", done.stderr
    assert not (tmp_path / "config" / "Ultralytics").exists()  # the user's own settings of it are not touched


def test_a_damaged_picture_stays_pillows_business() -> None:
    """ultralytics puts a function of its own in place of Pillow's; other tools share the process."""
    from tool_impls.perception.detection.yolo import load_ultralytics

    load_ultralytics()
    with pytest.raises(UnidentifiedImageError):
        Image.open(io.BytesIO(b"no picture"))
