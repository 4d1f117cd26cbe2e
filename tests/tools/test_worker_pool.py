"""Worker processes: how they are started, ended and confined."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.files import remove_tree
from tests.sandbox.conftest import NOBODY, REPOSITORY
from tests.tools.media import make_sound, make_video, tone
from tests.tools.test_faults import Running
from tool_impls.registry import TOOLS
from tool_impls.server import worker_pool
from tool_impls.server.calls import CallAnswer, QueuedCall
from tool_impls.server.worker import WorkerSpec, environment
from tool_impls.server.worker_pool import ProcessPool
from tool_impls.settings import ToolSettings

STAYS = """
import os, time
from pathlib import Path
from tool_impls import base

class Stays(base.BenchTool):
    meta = base.tool("Stays", "Says that it has begun, and stays.", (base.text("begun"), base.text("once")), base.TEXT_OUT)
    category = "logic"

    def apply(self, folder, /, begun, once):
        with open(begun, "a") as file:
            print(os.getpid(), file=file)
        if once == "dies" and len(Path(begun).read_text().splitlines()) == 1:
            os._exit(3)
        time.sleep(60)
"""  # noqa: E501


THREADS = """
import os
from tool_impls import base

class Threads(base.BenchTool):
    meta = base.tool("Threads", "says it", (), base.TEXT_OUT)
    category = "logic"

    def apply(self, folder):
        return str(os.environ.get("OMP_NUM_THREADS"))
"""


WAITS = """
import time
from tool_impls import base

class Waits(base.BenchTool):
    meta = base.tool("Waits", "Works alone for 0.4 s.", (base.text("word"),), base.TEXT_OUT)
    category = "logic"
    concurrency = 4

    def together(self, device):
        return 1

    def apply(self, folder, /, word):
        time.sleep(0.4)
        return word
"""


def running(pids: Iterable[str]) -> list[str]:
    """Those that are there, zombies left out."""
    return [pid for pid in pids if _state(pid) not in ("", "Z")]


def _state(pid: str) -> str:
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def children() -> list[str]:
    """Processes that this one has started, and that run."""
    found: list[str] = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            found += (task / "children").read_text().split()
    return running(found)


def pool_of(tool: str, folder: Path) -> ProcessPool:
    (folder / "stays.py").write_text(STAYS)
    return ProcessPool([WorkerSpec(ToolSettings(), (tool,), (folder / "stays.py",), "cpu", None, folder)], {tool: 1})


def stays(folder: Path, once: str) -> QueuedCall:
    return QueuedCall("Stays", str(folder), {"begun": str(folder / "begun"), "once": once}, {}, False)


def assert_stopped(answer: CallAnswer) -> None:
    assert (answer.status, json.loads(answer.body)) == (503, {"detail": "the tool server is being stopped"})


@pytest.mark.parametrize(("once", "processes"), [("stays", 1), ("dies", 2)])
def test_calls_that_run_when_it_is_closed_are_not_begun_again(tmp_path: Path, once: str, processes: int) -> None:
    """Nor is one that has got a process of its own, since it took its first one with it."""
    begun = tmp_path / "begun"

    async def close_in_the_middle() -> CallAnswer:
        pool = pool_of("Stays", tmp_path)
        call = asyncio.create_task(pool.run(stays(tmp_path, once), 60))
        while not begun.exists() or len(begun.read_text().splitlines()) < processes:
            assert not call.done(), call.result()
            await asyncio.sleep(0.01)
        await pool.close()
        assert running(begun.read_text().split()) == []
        return await asyncio.wait_for(call, 10)

    assert_stopped(asyncio.run(close_in_the_middle()))
    assert len(begun.read_text().split()) == processes


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8, 12, 20])
def test_a_process_that_is_just_being_started_is_ended(tmp_path: Path, steps: int) -> None:
    before = children()

    async def close_at_the_start() -> CallAnswer:
        pool = pool_of("Stays", tmp_path)
        call = asyncio.create_task(pool.run(stays(tmp_path, "stays"), 60))
        for _ in range(steps):  # of the loop, in which the process is made
            await asyncio.sleep(0)
        await pool.close()
        left = [pid for pid in children() if pid not in before]
        for pid in left:  # otherwise the loop would wait for them
            os.kill(int(pid), signal.SIGKILL)
        assert left == []
        return await asyncio.wait_for(call, 10)

    assert_stopped(asyncio.run(close_at_the_start()))


@pytest.mark.parametrize(
    ("threads", "of_the_user", "there"), [(3, None, "3"), (3, "5", "5"), (None, "5", "5"), (None, None, "None")]
)
def test_libraries_take_the_threads_of_their_slot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int | None, of_the_user: str | None, there: str
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if of_the_user:
        monkeypatch.setenv("OMP_NUM_THREADS", of_the_user)
    (tmp_path / "threads.py").write_text(THREADS)
    spec = WorkerSpec(ToolSettings(), ("Threads",), (tmp_path / "threads.py",), "cpu", None, tmp_path, False, threads)

    async def ask() -> CallAnswer:
        pool = ProcessPool([spec], {"Threads": 1})
        try:
            return await pool.run(QueuedCall("Threads", str(tmp_path), {}, {}, False), 60)
        finally:
            await pool.close()

    answer = asyncio.run(ask())
    assert (answer.status, json.loads(answer.body)) == (200, there)


def test_a_call_that_comes_late_starts_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def call_late() -> CallAnswer:
        pool = pool_of("Calculator", tmp_path)
        await pool.close()
        monkeypatch.delattr(asyncio, "create_subprocess_exec")
        return await pool.run(QueuedCall("Calculator", str(tmp_path), {"expression": "1"}, {}, False), 60)

    assert_stopped(asyncio.run(call_late()))


def test_a_call_that_waits_for_others_in_its_process_has_no_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither that of loading, which is over, nor its own, which has not begun."""
    (tmp_path / "waits.py").write_text(WAITS)
    pool = ProcessPool(
        [WorkerSpec(ToolSettings(), ("Waits",), (tmp_path / "waits.py",), "cpu", None, tmp_path)], {"Waits": 4}
    )

    async def calls() -> list[int]:
        try:
            first = await pool.run(QueuedCall("Waits", str(tmp_path), {"word": "0"}), 5)  # the process has started
            monkeypatch.setattr(worker_pool, "LOAD_SECONDS", 0.9)
            rest = [pool.run(QueuedCall("Waits", str(tmp_path), {"word": word}), 0.9) for word in "1234"]
            return [first.status, *(answer.status for answer in await asyncio.gather(*rest))]
        finally:
            await pool.close()

    assert asyncio.run(calls()) == [200] * 5


@pytest.mark.parametrize(
    ("killed", "status", "words"), [(1, 200, "2"), (99, 500, "ended before the call began (SIGKILL)")]
)
def test_a_process_that_is_killed_while_it_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: int, status: int, words: str
) -> None:
    start, started = asyncio.create_subprocess_exec, 0

    async def start_and_kill(*arguments: Any, **options: Any) -> asyncio.subprocess.Process:
        nonlocal started
        process = await start(*arguments, **options)
        started += 1
        if started <= killed:
            process.kill()
            await process.wait()
        return process

    async def call() -> CallAnswer:
        pool = pool_of("Calculator", tmp_path)
        try:
            call = QueuedCall("Calculator", str(tmp_path), {"expression": "1+1"}, {}, False)
            return await asyncio.wait_for(pool.run(call, 60), 20)
        finally:
            await pool.close()

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start_and_kill)
    answer = asyncio.run(call())
    told = json.loads(answer.body)
    assert (answer.status, words in str(told)) == (status, True), told


# -- confinement


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
