"""The tool server as its clients see it: states, limits, failures, and the process itself."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from PIL import Image

from agentgauge.core.errors import SandboxFault, ToolError, ToolUnavailable
from agentgauge.core.tools import Parameter, Tool
from tests.tools.servers import threaded, web_server
from tool_impls.base import BenchTool, ToolTimeout
from tool_impls.model_sources import png
from tool_impls.operation.drawing import DrawBox
from tool_impls.server.command import build, main, parser
from tool_impls.settings import ToolSettings

WORD = (Parameter("text", "word"),)


def make(
    name: str, function: Any, *, inputs: tuple[Parameter, ...] = WORD, output: str = "text", at_once: int = 1
) -> BenchTool:
    meta = Tool(name, f"{name} for a test", inputs, (Parameter(output),))  # type: ignore[arg-type]

    def apply(self: BenchTool, folder: Path, /, **values: Any) -> Any:
        return function(folder=folder, **values)

    return type(name, (BenchTool,), {"meta": meta, "category": "logic", "apply": apply, "concurrency": at_once})(
        ToolSettings()
    )


Reply = tuple[int, Any]


def ask(url: str, *bodies: Any, tool: str = "Tool") -> list[Reply]:
    """Status and decoded body of calls that are sent all at once. A body is a dict of fields, or an aiohttp form."""

    async def one(session: aiohttp.ClientSession, body: Any) -> Reply:
        async with session.post(f"{url}/{tool}", data=body) as reply:
            return reply.status, await reply.json()

    async def everything() -> list[Reply]:
        async with aiohttp.ClientSession() as session:
            return await asyncio.gather(*(one(session, body) for body in bodies))

    return asyncio.run(everything())


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as reply:
        return json.load(reply)


def failing(error: Exception) -> Any:
    def fail(**_: Any) -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "status", "detail"),
    [
        (ToolError("no such thing"), 400, "ToolError('no such thing')"),
        (ValueError("odd"), 400, "ValueError('odd')"),
        (KeyError("k"), 400, "KeyError('k')"),
        (ToolTimeout("took longer than 20 s"), 408, "ToolTimeout('took longer than 20 s')"),
        (TimeoutError(), 408, "TimeoutError()"),
        (SandboxFault("no namespaces"), 500, "no namespaces"),
        (ToolUnavailable("set KEY"), 500, "set KEY"),
    ],
)
def test_failures_have_the_status_of_who_is_to_blame(error: Exception, status: int, detail: str) -> None:
    with web_server(lambda: threaded([make("Tool", failing(error))]).application()) as url:
        assert ask(url, {"word": "x"}) == [(status, {"detail": detail})]


def test_disabled_and_unavailable_tools_say_what_to_do() -> None:
    tools = [make("Off", failing(AssertionError())), make("Gone", failing(AssertionError()))]
    with web_server(lambda: threaded(tools, {"Off": "disabled", "Gone": "unavailable: set KEY"}).application()) as url:
        assert list(get(f"{url}/openapi.json")["paths"]) == ["/Off", "/Gone"]
        ((status, body),) = ask(url, {"word": "x"}, tool="Off")
        assert status == 400 and "Off is disabled in this run: " in body["detail"]
        assert ask(url, {"word": "x"}, tool="Gone") == [(503, {"detail": "Gone is unavailable: set KEY"})]


def test_health_tells_the_states() -> None:
    settings = ToolSettings(basic=True, disable=frozenset({"Plot"}))
    with web_server(lambda: build(settings, ["OCR", "Plot", "TextToImage", "MathOCR"]).application()) as url:
        health = get(f"{url}/health")
    assert health["status"] == "ok"
    assert {name: state.partition(": ")[0] for name, state in health["tools"].items()} == {
        "OCR": "ready",
        "Plot": "disabled",
        "TextToImage": "basic",
        "MathOCR": "unavailable",
    }


@pytest.mark.parametrize("at_once", [1, 3])
def test_calls_of_a_tool_queue(at_once: int) -> None:
    running, most, lock = [0], [0], threading.Lock()

    def work(folder: Path, word: str) -> str:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.03)
        with lock:
            running[0] -= 1
        return word

    with web_server(lambda: threaded([make("Tool", work, at_once=at_once)]).application()) as url:
        assert ask(url, *({"word": str(i)} for i in range(6))) == [(200, str(i)) for i in range(6)]
    assert most == [at_once]


def test_overfull_queue_is_refused_clearly() -> None:
    release = threading.Event()

    def wait(folder: Path, word: str) -> str:
        assert release.wait(10)
        return word

    with web_server(lambda: threaded([make("Tool", wait)], queue=2).application()) as url:
        threading.Timer(0.3, release.set).start()
        replies = ask(url, *({"word": "x"} for _ in range(5)))
    assert sorted(status for status, _ in replies) == [200, 200, 503, 503, 503]
    assert "Tool has 2 calls waiting, which is its limit" in next(
        body["detail"] for status, body in replies if status == 503
    )


def test_tool_is_set_up_once_and_again_after_a_failure() -> None:
    seen: list[str] = []

    class Tool_(BenchTool):
        meta = Tool("Tool", "", WORD, (Parameter("text"),))
        category = "logic"

        def setup(self, device: str = "cpu") -> None:
            seen.append(device)
            if len(seen) == 1:
                raise ToolUnavailable("the weights are missing")

        def apply(self, folder: Path, /, word: str) -> str:
            return word

    with web_server(lambda: threaded([Tool_(ToolSettings())]).application()) as url:
        assert ask(url, {"word": "a"}) == [(500, {"detail": "the weights are missing"})]
        assert ask(url, {"word": "a"}, {"word": "b"}) == [(200, "a"), (200, "b")]
    assert seen == ["cpu", "cpu"]


def test_call_has_its_own_folder_which_is_removed() -> None:
    folders: list[Path] = []

    def work(folder: Path, file: Path) -> Path:
        folders.append(folder)
        assert list(folder.iterdir()) == [] and not file.is_relative_to(folder)
        (folder / "out").write_bytes(file.read_bytes() * 2)
        return folder / "out"

    tool = make("Tool", work, inputs=(Parameter("file", "file"),), output="file")
    with web_server(lambda: threaded([tool]).application()) as url:
        for _ in range(2):
            form = aiohttp.FormData()
            form.add_field("file", b"abc", filename="../../x")
            assert ask(url, form) == [(200, "YWJjYWJj")]
        assert len(set(folders)) == 2
        assert not any(folder.exists() for folder in folders)
    assert not folders[0].parent.exists()


@pytest.mark.parametrize(
    "data", [b"", b"GIF89a", png(Image.new("RGB", (9, 9)))[:45]], ids=["empty", "head only", "cut off"]
)
def test_damaged_picture_is_the_callers_doing(data: bytes) -> None:
    tool = make("Tool", lambda folder, image: "seen", inputs=(Parameter("image", "image"),))
    form = aiohttp.FormData()
    form.add_field("image", data, filename="image")
    with web_server(lambda: threaded([tool]).application()) as url:
        ((status, body),) = ask(url, form)
    assert status == 400 and "image is not a picture that can be read" in body["detail"]


@pytest.mark.parametrize(
    ("mode", "arrives"), [("RGBA", "RGBA"), ("P", "RGB"), ("L", "RGB"), ("1", "RGB"), ("CMYK", "RGB"), ("I;16", "RGB")]
)
def test_pictures_travel_as_png(mode: str, arrives: str) -> None:
    tool = make("Tool", lambda folder, word: Image.new(mode, (3, 2)), output="image")
    with web_server(lambda: threaded([tool]).application()) as url:
        ((status, body),) = ask(url, {"word": "x"})
    picture = Image.open(io.BytesIO(base64.b64decode(body)))
    assert (status, picture.format, picture.mode, picture.size) == (200, "PNG", arrives, (3, 2))


def test_pictures_are_upright_and_keep_their_transparency_on_their_way() -> None:
    """From the client's file through DrawBox and back."""
    exif, picture = Image.Exif(), Image.new("RGBA", (20, 40), (0, 0, 0, 0))
    exif[0x0112] = 6  # the camera was held on its side
    stream = io.BytesIO()
    picture.save(stream, "PNG", exif=exif)
    form = aiohttp.FormData()
    form.add_field("image", stream.getvalue(), filename="image")
    form.add_field("bbox", "30, 5, 38, 15")
    with web_server(lambda: threaded([DrawBox(ToolSettings())]).application()) as url:
        ((status, body),) = ask(url, form, tool="DrawBox")
    drawn = Image.open(io.BytesIO(base64.b64decode(body)))
    assert (status, drawn.mode, drawn.size) == (200, "RGBA", (40, 20))
    assert [drawn.getpixel(point) for point in ((0, 0), (30, 5), (34, 10))] == [
        (0, 0, 0, 0),
        (255, 0, 0, 255),
        (255, 0, 0, 64),
    ]


@pytest.mark.parametrize("multipart", [True, False])
def test_body_is_limited(multipart: bool) -> None:
    tool = make("Tool", lambda folder, word: "kept")
    data = {"word": "x" * 3000}
    form: Any = aiohttp.FormData(data)
    form._is_multipart = multipart
    with web_server(lambda: threaded([tool], max_body=2000).application()) as url:
        ((status, body),) = ask(url, form)
    assert status == 413 and "detail" in body


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=b", b"no boundary here"),
        ("multipart/form-data; boundary=b", b"--b\r\n\r\nno name\r\n--b--\r\n"),
        ("application/x-www-form-urlencoded", b"word=\xff"),
    ],
)
def test_form_that_cannot_be_read_is_refused(kind: str, body: bytes) -> None:
    async def post(url: str) -> int:
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{url}/Tool", data=body, headers={"Content-Type": kind}) as reply,
        ):
            assert "detail" in await reply.json()
            return reply.status

    with web_server(lambda: threaded([make("Tool", lambda folder, word: word)]).application()) as url:
        assert asyncio.run(post(url)) in (400, 422)
        assert ask(url, {"word": "still there"}) == [(200, "still there")]


# --- the process ---------------------------------------------------------------------------------------------------


@contextmanager
def process(*arguments: str, **more: Any) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "tool_impls.server.command", "--port", "0", "--no-token", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more) as child:
        try:
            assert child.stdout is not None
            yield child, json.loads(child.stdout.readline())["url"]
        finally:
            child.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_process_announces_itself_and_ends_cleanly(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("[tools]\nbasic = true\n")
    with process("--settings", str(tmp_path / "a.toml"), "--tools", "DrawBox,TextToImage") as (child, url):
        assert url.startswith("http://127.0.0.1:")
        assert get(f"{url}/health")["tools"] == {"DrawBox": "ready", "TextToImage": "basic"}
        start = time.monotonic()
        child.send_signal(number)
        out, err = child.communicate(timeout=5)
        assert (child.returncode, out, err) == (0, "", "")
        assert time.monotonic() - start < 2


def test_process_ends_in_the_middle_of_a_call(tmp_path: Path) -> None:
    """A tool that never comes back must not keep the process; nor are its worker and its temporary files left
    behind."""
    (tmp_path / "extra.py").write_text(SLEEPER)
    (temporary := tmp_path / "temporary").mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with process("--extra", str(tmp_path / "extra.py"), "--tools", "Sleeper", env=environment) as (child, url):
        caller = threading.Thread(target=_ask_in_vain, args=(url, {"word": str(tmp_path / "started")}))
        caller.start()
        while not (tmp_path / "started").exists():
            time.sleep(0.01)
        worker = int((tmp_path / "started").read_text())
        assert list(temporary.iterdir())
        start = time.monotonic()
        child.terminate()
        assert child.wait(5) == 0
        assert time.monotonic() - start < 3
        caller.join(5)
        assert list(temporary.iterdir()) == []
        assert not Path(f"/proc/{worker}").exists()


SLEEPER = """
import os, subprocess, tempfile, time
from pathlib import Path
from tool_impls import base

class Sleeper(base.BenchTool):
    meta = base.tool("Sleeper", "Never comes back.", (base.text("word"),), base.TEXT_OUT)
    category = "logic"

    def apply(self, folder, /, word):
        tempfile.mkdtemp()
        subprocess.run(["mktemp", "-d"], check=True)
        Path(word + ".new").write_text(str(os.getpid()))
        Path(word + ".new").rename(word)
        time.sleep(60)
"""


def _ask_in_vain(url: str, form: dict[str, str]) -> None:
    with pytest.raises(aiohttp.ClientError):
        ask(url, form, tool="Sleeper")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--tools", "Ocr"], "there is no tool 'Ocr'; known are OCR"),
        (["--settings", "nowhere.toml"], "nowhere.toml cannot be read"),
        (["--port", "99999"], "--port must be from 0 (any free one) to 65535; got 99999"),
        (["--tools", ","], "--tools names no tool"),
        (["--files", "nowhere"], "--files names no folder: nowhere"),
        (
            ["--ray", "auto"],
            "--ray was for tools on Ray Serve, which are no more; leave it out, start",
        ),
        (["--replica", "gpu-box"], "--replica 'gpu-box' is not an address; give one such as http://gpu-box:16181"),
        (["--replica", "http://h", "--devices", "cpu"], "--devices is for the servers that run tools; give it to each"),
        (["--replica", "http://h", "--allow-unsafe-code"], "--allow-unsafe-code is for the servers that run tools"),
        (["--replica", "http://h", "--files", "."], "--files is for the servers that run tools"),
    ],
)
def test_wrong_usage_is_one_sentence_and_status_4(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 4
    captured = capsys.readouterr()
    assert captured.out == "" and told in captured.err and captured.err.count("\n") == 1


def test_port_in_use_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        assert main(["--port", str(holder.getsockname()[1]), "--tools", "DrawBox"]) == 4
    assert "choose another --port" in capsys.readouterr().err


def test_help_has_an_example() -> None:
    assert "example: agentgauge serve-tools --port" in " ".join(parser().format_help().split())


def test_last_port_wins() -> None:
    """The service starter appends one to restart a server where it was."""
    assert parser().parse_args(["--port", "0", "--port", "5"]).port == 5
