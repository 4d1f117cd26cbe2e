"""What worker processes may use: their environment, and for tools that only read files a confinement that holds."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgauge.sandbox.scratch import remove_tree
from tests.sandbox.conftest import NOBODY, REPOSITORY
from tests.tools.media import make_sound, make_video, tone
from tests.tools.test_faults import Running
from tool_impls.registry import TOOLS
from tool_impls.server.worker import environment
from tool_impls.settings import ToolSettings

PRYING = Path(__file__).with_name("prying_tools.py")
SECRETS = {
    name: f"never-seen-{number}"
    for number, name in enumerate(
        (
            "OPENAI_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "HF_TOKEN",
            "AGENTGAUGE_TOOL_TOKEN",
            "VISION_KEY",
            "SERPER_API_KEY",
            "DATABASE_URL",
        )
    )
}


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("secrets")
@pytest.mark.parametrize(
    ("tables", "tools", "keys"),
    [
        ({}, ["Calculator", "Plot", "OCR", "ReadPDF"], set()),
        ({}, ["GoogleSearch"], {"SERPER_API_KEY"}),
        ({}, ["Calculator", "GoogleSearch"], {"SERPER_API_KEY"}),
        ({}, ["ImageDescription"], set()),
        ({"vision": {"url": "http://h", "key_env": "VISION_KEY"}}, ["ImageDescription"], {"VISION_KEY"}),
        ({"vision": {"url": "http://h", "key_env": "VISION_KEY"}}, ["Calculator"], set()),
        ({"vision": {"weights": "org/model", "allow_download": True}}, ["ImageDescription"], {"HF_TOKEN"}),
        ({}, ["a tool that only the worker knows"], set()),
    ],
)
def test_workers_get_the_keys_of_their_own_tools_only(tables: Any, tools: list[str], keys: set[str]) -> None:
    found = environment(ToolSettings(tables=tables), tools)
    assert {name for name in SECRETS if name in found} == keys
    assert found["PATH"] == os.environ["PATH"]


# The interpreter may lie in a closed home; the right to read it is all that this user has beside every user's.
READING = "--inh-caps=+dac_read_search --ambient-caps=+dac_read_search"
AS_NOBODY = f"--reuid={NOBODY} --regid={NOBODY} --clear-groups {READING}"


@pytest.fixture(params=["self", "nobody"])
def user(request: pytest.FixtureRequest) -> str:
    if request.param == "nobody" and (os.geteuid() != 0 or shutil.which("setpriv") is None):
        pytest.skip("only root can run a test as another user, by setpriv")
    return str(request.param)


@pytest.fixture
def place(user: str) -> Iterator[Path]:
    """A folder of the user's, which the worker must not touch."""
    folder = Path(tempfile.mkdtemp(prefix="agentgauge-secret-"))
    (folder / "secret.txt").write_text("secret")
    if user == "nobody":
        for path in (folder, folder / "secret.txt"):
            os.chown(path, NOBODY, NOBODY)
    yield folder
    remove_tree(folder)


def test_a_hostile_file_finds_no_key_no_network_no_program_and_no_file_of_the_users(user: str, place: Path) -> None:
    prefix = ["setpriv", *AS_NOBODY.split()] if user == "nobody" else []
    command = [
        *prefix,
        sys.executable,
        "-m",
        "tool_impls.server.command",
        "--port",
        "0",
        "--no-token",
        "--extra",
        str(PRYING),
    ]
    given = {"PYTHONPATH": str(REPOSITORY), "PATH": "/usr/bin:/bin", "LOOSE_KEY": "loose", **SECRETS}
    server = subprocess.Popen([*command, "--tools", "Pry,Loose"], stdout=subprocess.PIPE, text=True, env=given, cwd="/")
    with socket.create_server(("127.0.0.1", 0)) as listener, server:
        assert server.stdout is not None
        try:
            url = json.loads(server.stdout.readline())["url"]
            asked = f"secret={place / 'secret.txt'}&port={listener.getsockname()[1]}".encode()
            pried = _post(f"{url}/Pry", asked)
            loose = _post(f"{url}/Loose", b"")
            with urllib.request.urlopen(f"{url}/health", timeout=10) as reply:
                health = json.load(reply)
        finally:
            server.terminate()
            server.communicate(timeout=10)
    seen = {name for name in SECRETS if name in pried["environment"] or name in loose}
    assert seen == set() and loose["LOOSE_KEY"] == "loose" and "LOOSE_KEY" not in pried["environment"]
    how = health["confinement"]["Pry"]
    if "landlock" not in how or "seccomp" not in how:
        assert "not fully confined: " in how  # it says so
        pytest.skip(f"this machine confines no worker: {how}")
    assert "Loose" not in health["confinement"]
    refused = "PermissionError"
    tried = {name: pried[name] for name in pried if name != "environment"}
    assert tried == {
        **dict.fromkeys(("read", "list", "write", "remove", "beside", "passwords", "connect", "local socket"), refused),
        **dict.fromkeys(("run", "exec", "fork", "signal", "parent"), refused),
        "trace": "-1",
        "own": "own",
        "fonts": "True",
    }
    assert [path.name for path in place.iterdir()] == ["secret.txt"] and (place / "secret.txt").read_text() == "secret"


def _post(url: str, body: bytes) -> Any:
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/x-www-form-urlencoded"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.loads(json.load(reply))


SLIDES = '[{"title": "One", "content": "two"}]'
TEXT = "# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n**words** ![a dot](dot.png)"
CALLS: dict[str, dict[str, Any]] = {
    "DrawBox": {"image": "dot.png", "bbox": "1 1 9 9", "annotation": "a box"},
    "AddText": {"image": "dot.png", "text": "words 字", "position": "mt"},
    "CsvFileGenerator": {"data_str": '[["a", "b"], [1, 2]]', "filename": "t.csv"},
    "XlsxFileGenerator": {"data_str": '[["a", "b"], [1, 2]]', "filename": "t.xlsx"},
    "DocxFileGenerator": {"content": TEXT, "filename": "t.docx", "render_markdown": True},
    "PdfFileGenerator": {"content": TEXT, "filename": "t.pdf", "render_markdown": True},
    "PptxFileGenerator": {"slides_content_str": SLIDES, "filename": "t.pptx", "image_paths": "dot.png"},
    "HtmlFileGenerator": {"html_code": "<p>x</p>", "filename": "t.html"},
    "ReadCSV": {"csv_file": "t.csv"},
    "ReadXLSX": {"file": "t.xlsx"},
    "ReadDOCX": {"file": "t.docx"},
    "ReadPDF": {"file": "t.pdf"},
    "ReadPPTX": {"file": "t.pptx"},
    "AudioClipTool": {"audio": "a.wav", "start_time": 0.1, "end_time": 0.5},
    "NoiseReduction": {"audio": "a.wav"},
    "PitchShifting": {"audio": "a.wav"},
    "SoundCharacteristicExtraction": {"audio": "a.wav"},
    "SpeechToText": {"audio": "said.ogg"},
    "ImageQualityTest": {"image": "dot.png"},
    "VideoClip": {"video": "v.mp4", "start_time": 0, "end_time": 0.5},
    "AddTextVideoTool": {"video": "v.mp4", "text": "words"},
    "TextToVideoTool": {"description": "a red square moves right", "num_frames": 4},
}
"""A call of every confined tool; those that read take what those before them have made."""


def test_every_confined_tool_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    assert CALLS.keys() == {name for name, kind in TOOLS.items() if kind.confined}
    Image.new("RGB", (200, 100), "white").save(tmp_path / "dot.png")
    make_sound(tmp_path / "a.wav", tone(1.0))
    make_video(tmp_path / "v.mp4")
    monkeypatch.chdir(tmp_path)
    shutil.copy(Path(__file__).with_name("sounds") / "museum.ogg", tmp_path / "said.ogg")
    (tmp_path / "basic.toml").write_text("[tools]\nbasic = true\n")
    running = Running("--settings", "basic.toml", "--tools", ",".join(CALLS), TMPDIR=str(tmp_path))
    try:
        for name, arguments in CALLS.items():
            (made,) = running.calls(tmp_path, (name, arguments))
            assert not isinstance(made, Exception), f"{name}: {made}"
            if hasattr(made, "content") and made.type == "file":
                Path(made.content).replace(tmp_path / Path(made.content).name)
        confinement = json.loads(running.get("/health"))["confinement"]
    finally:
        log = running.stop()
    assert confinement.keys() == CALLS.keys()
    assert log == b""
