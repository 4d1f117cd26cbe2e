"""A real tool server with its processes, under everything that can go wrong."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from agentgauge.core.errors import ToolError, ToolFault
from agentgauge.core.processes import TOOL_TOKEN
from agentgauge.core.tools import Parameter, Tool, ToolOutput
from tool_impls.server.client import ToolServerBox, encode_call

NASTY = Path(__file__).with_name("nasty_tools.py")
NAMES = "Echo,Where,Hang,Crash,Slow,Chatty,NoWeights,BadLoad,DieLoad,Leave,Litter,Model,Read,Gather,OCR,Calculator"


class Running:
    """A server process, and calls of its tools by our own client."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        guarded = () if TOOL_TOKEN in environment else ("--no-token",)
        tools = () if "--replica" in arguments else ("--extra", str(NASTY))
        module = (sys.executable, "-m", "tool_impls.server.command")
        command = [*module, "--port", "0", *tools, *guarded, *arguments]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop; a pipe that nobody reads would stop the server
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self._errors, env={**os.environ, **environment}
        )
        assert self.process.stdout is not None
        self.url = json.loads(self.process.stdout.readline())["url"]

    def calls(self, folder: Path, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
        """What became of calls that are sent at once: the text of the answer, or the error."""

        async def one(box: ToolServerBox, name: str, arguments: dict[str, Any]) -> Any:
            try:
                output, *_ = await box.call(name, arguments, folder=folder, readable=())  # a note may follow
                return output.content if output.type == "text" else output
            except (ToolError, ToolFault) as error:
                return error

        async def every() -> list[Any]:
            box = ToolServerBox(self.url, retry_seconds=1)
            try:
                return await asyncio.gather(*(one(box, *call) for call in calls))
            finally:
                await box.close()

        return asyncio.run(every())

    def get(self, path: str) -> bytes:
        status, body = self.status(path)
        assert status == 200
        return body

    def status(self, path: str) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(self.url + path, timeout=10) as reply:
                return 200, bytes(reply.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def end(self, number: signal.Signals) -> None:
        """End it by a signal, whatever its status is."""
        self.process.send_signal(number)
        with self._errors:
            self.process.communicate(timeout=30)

    def stop(self) -> bytes:
        self.process.terminate()
        self.process.communicate(timeout=30)
        assert self.process.returncode == 0
        with self._errors:
            self._errors.seek(0)
            return self._errors.read()


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    running = Running("--tools", NAMES, "--devices", "cpu")
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def _serves_on(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """Whatever a test did, the server must still answer afterwards."""
    yield
    if "server" in request.fixturenames:
        assert request.getfixturevalue("server").calls(tmp_path, ("Echo", {"word": "there"})) == ["there"]


def test_tool_that_hangs_is_ended_and_told(server: Running, tmp_path: Path) -> None:
    start = time.monotonic()
    (error,) = server.calls(tmp_path, ("Hang", {"word": "x"}))
    assert isinstance(error, ToolError) and "Hang did not finish within 0.3 s and was ended" in str(error)
    assert time.monotonic() - start < 8


def test_tool_that_crashes_its_process_is_told(server: Running, tmp_path: Path) -> None:
    (error,) = server.calls(tmp_path, ("Crash", {}))
    assert isinstance(error, ToolError) and "Crash ended its process with these arguments, twice (SIGSEGV)" in str(
        error
    )


def test_process_that_dies_once_costs_no_answer(server: Running, tmp_path: Path) -> None:
    assert server.calls(tmp_path, ("Crash", {"once": str(tmp_path / "died")})) == ["survived"]


@pytest.mark.parametrize("culprit", [("Crash", {}), ("Hang", {"word": "x"})])
def test_calls_beside_a_culprit_are_answered(
    server: Running, tmp_path: Path, culprit: tuple[str, dict[str, Any]]
) -> None:
    """They share its process, and are done again when that is ended."""
    slow = [("Slow", {"word": str(number)}) for number in range(4)]
    *answers, error = server.calls(tmp_path, *slow, culprit)
    assert answers == ["0", "1", "2", "3"] and isinstance(error, ToolError)


def test_what_a_tool_prints_does_not_get_into_answers(server: Running, tmp_path: Path) -> None:
    assert server.calls(tmp_path, ("Chatty", {}), ("Chatty", {})) == ["done", "done"]


def test_tool_that_cannot_load_is_a_fault_each_time(server: Running, tmp_path: Path) -> None:
    for error in server.calls(tmp_path, ("NoWeights", {}), ("NoWeights", {})):
        assert isinstance(error, ToolFault) and "the weights are missing" in str(error)


@pytest.mark.parametrize("name", ["BadLoad", "DieLoad", "Leave"])
def test_what_is_not_the_arguments_doing_is_a_fault(server: Running, tmp_path: Path, name: str) -> None:
    """A broken GPU must not count as a model's wrong call."""
    (error,) = server.calls(tmp_path, (name, {}))
    assert isinstance(error, ToolFault) and "HTTP 500" in str(error)


def test_call_that_is_ended_leaves_no_files_and_no_processes(server: Running, tmp_path: Path) -> None:
    note = tmp_path / "note"
    (error,) = server.calls(tmp_path, ("Litter", {"word": str(note)}))
    assert isinstance(error, ToolError)
    child, folder = note.read_text().split(maxsplit=1)
    deadline = time.monotonic() + 5
    while Path(folder).exists() or _runs(int(child)):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_calls_that_time_out_one_after_the_other_do_not_stop_the_rest(server: Running, tmp_path: Path) -> None:
    """Each ends the process that others have just moved to."""
    calls = [("Hang", {"word": "x"}), ("Slow", {"word": "a"})] * 3 + [
        ("Echo", {"word": str(number)}) for number in range(20)
    ]
    answers = server.calls(tmp_path, *calls)
    assert [isinstance(answer, ToolError) for answer in answers[:6:2]] == [True] * 3
    assert answers[1:6:2] == ["a"] * 3 and answers[6:] == [str(number) for number in range(20)]


def test_form_of_too_many_parts_is_refused(server: Running) -> None:
    form = aiohttp.FormData()
    for number in range(2000):
        form.add_field("@file", b"x", filename=str(number))
    start = time.monotonic()
    assert post(f"{server.url}/Read", form)[0] == 413
    assert time.monotonic() - start < 10


def test_scratch_of_a_server_that_was_killed_is_removed_by_the_next(tmp_path: Path) -> None:
    running = Running("--tools", "Echo", TMPDIR=str(tmp_path))
    (left,) = tmp_path.glob("agentgauge-tools-*")
    running.process.kill()
    running.process.communicate()
    running._errors.close()
    assert left.exists()
    running = Running("--tools", "Echo", TMPDIR=str(tmp_path))
    assert not left.exists()
    running.stop()
    assert not list(tmp_path.glob("agentgauge-tools-*"))


def test_model_loads_once_however_long_it_takes_and_works_on_batches(server: Running, tmp_path: Path) -> None:
    answers = server.calls(tmp_path, *(("Model", {"word": f"w{number}"}) for number in range(32)))
    assert [answer.split()[:2] for answer in answers] == [[f"W{number}", "cpu"] for number in range(32)]
    assert len({answer.split()[2] for answer in answers}) == 1
    sizes = metrics(server, "agentgauge_batch_size")
    assert sizes["agentgauge_batch_size_sum"] >= 32 > 2 * sizes["agentgauge_batch_size_count"]


def test_answers_are_not_mixed_up(server: Running, tmp_path: Path) -> None:
    words = [f"nonce-{number}" for number in range(300)]
    assert server.calls(tmp_path, *(("Echo", {"word": word}) for word in words[:250])) == words[:250]


def test_named_files_travel_with_the_call(server: Running, tmp_path: Path) -> None:
    for name in ("my sound.wav", "été.png", "b.png"):
        (tmp_path / name).write_text(f"content of {name}")
    audio, first, second = (str(tmp_path / name) for name in ("my sound.wav", "été.png", "b.png"))
    text = f"# T\n![one]({first})\n![gone](/etc/passwd) and ![no](nowhere.png)"
    read, gathered = server.calls(
        tmp_path, ("Read", {"audio": audio}), ("Gather", {"content": text, "image_paths": f"{second}, missing.png"})
    )
    assert read == "my sound.wav: content of my sound.wav"
    assert isinstance(gathered, ToolOutput) and gathered.content == str(tmp_path / "text" / "joined table.csv")
    assert Path(gathered.content).read_text() == f"{first}=content of été.png|{second}=content of b.png"


def post(url: str, form: Any, headers: dict[str, str] | None = None) -> tuple[int, Any]:
    async def send() -> tuple[int, Any]:
        async with aiohttp.ClientSession() as session, session.post(url, data=form, headers=headers) as reply:
            return reply.status, await reply.json()

    return asyncio.run(send())


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../../../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "nasty_tools.py"]
)
def test_text_names_no_file_of_the_server(server: Running, path: str) -> None:
    status, body = post(f"{server.url}/Read", aiohttp.FormData({"audio": path}))
    assert status == 400 and f"there is no file {path!r}" in body["detail"]


@pytest.mark.parametrize(
    "name",
    [
        "../../../../tmp/evil",
        "/tmp/evil",
        "..\\evil",
        ".",
        "..",
        "a" * 5000,
        "长" * 300 + ".wav",
        "nul\0byte",
        ".hidden",
    ],
)
def test_name_of_an_upload_leads_nowhere(server: Running, name: str) -> None:
    tool = Tool("Read", "", (Parameter("text", "audio", attach="file"),), (Parameter("text"),))
    kind, form = encode_call(tool, {"audio": name}, {name: b"here"})
    status, body = post(f"{server.url}/Read", form, {"Content-Type": str(kind)})
    assert status == 200 and body.endswith(": here")
    assert "/" not in body and "\\" not in body and len(body.encode()) < 260
    assert not Path("/tmp/evil").exists()


def test_caller_that_goes_away_leaves_nothing_behind(server: Running, tmp_path: Path) -> None:
    address = urlsplit(server.url)
    slow = SLOW_CALL % address.netloc.encode()
    for cut in (slow[:60], slow[:-3], slow):
        with socket.create_connection((address.hostname, address.port)) as connection:
            connection.sendall(cut)
            time.sleep(0.05)
    deadline = time.monotonic() + 10
    while (figures := metrics(server, 'tool="Slow"')) and figures['agentgauge_tool_running{tool="Slow"}']:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert figures['agentgauge_tool_queue_length{tool="Slow"}'] == 0


SLOW_CALL = (
    b"POST /Slow HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length:"
    b" 9\r\n\r\nword=gone"
)


@pytest.mark.parametrize("length", [True, False], ids=["announced", "chunked"])
def test_200_megabytes_are_refused_without_being_kept(server: Running, length: bool) -> None:
    """Sent a megabyte at a time until the server has had enough."""
    address = urlsplit(server.url)
    head = b'--b\r\nContent-Disposition: form-data; name="image"; filename="image"\r\n\r\n'
    size = f"Content-Length: {200 * 2**20}" if length else "Transfer-Encoding: chunked"
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        connection.sendall(
            f"POST /OCR HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: multipart/form-data;"
            f" boundary=b\r\n{size}\r\n\r\n".encode()
        )
        try:
            for data in [head] + [bytes(2**20)] * 200:
                connection.sendall(data if length else b"%x\r\n%b\r\n" % (len(data), data))
        except OSError:
            pass  # it has hung up on us, as it should
        answer = _answer(connection)
    assert answer in (b"", b"HTTP/1.1 413")
    assert memory(server.process.pid) < 300 * 2**20


def _answer(connection: socket.socket) -> bytes:
    try:
        return connection.recv(12)
    except OSError:
        return b""


def memory(pid: int) -> int:
    """Bytes in memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_killed_worker_is_replaced(server: Running, tmp_path: Path) -> None:
    (first,) = server.calls(tmp_path, ("Where", {}))
    os.kill(int(first), 9)
    (second,) = server.calls(tmp_path, ("Where", {}))
    assert first != second
    assert metrics(server, "agentgauge_process_restarts")["agentgauge_process_restarts_total"] >= 1


def metrics(server: Running, having: str) -> dict[str, float]:
    """The figures whose names hold a text."""
    lines = server.get("/metrics").decode().splitlines()
    return {
        name: float(value)
        for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))
        if having in name
    }


def test_metrics_count_calls_and_errors(server: Running, tmp_path: Path) -> None:
    before = metrics(server, 'tool="Calculator"')
    server.calls(tmp_path, ("Calculator", {"expression": "1+1"}), ("Calculator", {"expression": "1/0"}))
    after = metrics(server, 'tool="Calculator"')
    rises = {
        'agentgauge_tool_calls_total{status="200",tool="Calculator"}': 1,
        'agentgauge_tool_errors_total{tool="Calculator"}': 1,
        'agentgauge_tool_seconds_count{tool="Calculator"}': 2,
    }
    assert {name: after[name] - before.get(name, 0) for name in rises} == rises


def test_fingerprints_are_served(server: Running) -> None:
    found = json.loads(server.get("/tools"))
    assert found["OCR"]["backend"] == "RapidOCR" and "rapidocr" in found["OCR"]["packages"]
    assert found["OCR"]["options"] == {"paragraphs": True} and found["Echo"]["state"] == "ready"


def test_preloading_is_told_by_ready(tmp_path: Path) -> None:
    running = Running("--tools", "Model,NoWeights,Echo", "--preload", "--devices", "cpu")
    try:
        assert running.status("/ready")[0] == 503
        deadline = time.monotonic() + 20
        while (waiting := _waiting(running)) != {"NoWeights": "the weights are missing"}:
            assert time.monotonic() < deadline, waiting
            time.sleep(0.05)
    finally:
        running.stop()


def _waiting(running: Running) -> Any:
    return json.loads(running.status("/ready")[1])["waiting_for"]


def test_files_folder_serves_clients_that_send_only_paths(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("A")
    (tmp_path / "secret.txt").write_text("S")
    (tmp_path / "data" / "link.txt").symlink_to(tmp_path / "secret.txt")
    running = Running("--tools", "Read", "--files", str(tmp_path / "data"))
    try:
        assert post(f"{running.url}/Read", aiohttp.FormData({"audio": "a.txt"})) == (200, "a.txt: A")
        assert post(f"{running.url}/Read", aiohttp.FormData({"audio": str(tmp_path / "data" / "a.txt")})) == (
            200,
            "a.txt: A",
        )
        for path in ("../secret.txt", "link.txt", str(tmp_path / "secret.txt")):
            assert post(f"{running.url}/Read", aiohttp.FormData({"audio": path}))[0] == 400
    finally:
        running.stop()


@pytest.mark.parametrize(
    ("text_tool", "rounds"),
    [
        ("Echo", (2, 2)),
        pytest.param("Calculator", (13, 12), marks=pytest.mark.long),  # each of its calls starts a sandbox
    ],
)
def test_32_workers_get_their_own_answers_and_memory_stays(
    tmp_path: Path, text_tool: str, rounds: tuple[int, int]
) -> None:
    """Two tools at once; each call carries a number that its answer must hold: in a text, or as the size of a picture.

    The first round of calls brings the server to its usual size.
    """
    from PIL import Image

    calls = sum(rounds)
    for number in range(calls):
        Image.new("RGB", (100 + number, 60), "white").save(tmp_path / f"{number}.png")
    running = Running("--tools", f"{text_tool},DrawBox")

    async def worker(own: int, numbers: range) -> None:
        box = ToolServerBox(running.url)
        try:
            for number in numbers:
                nonce = str(own * 1000 + number)
                folder = tmp_path / f"w{own}"
                word = {"word": nonce} if text_tool == "Echo" else {"expression": f"{nonce} * 1"}
                (text,) = await box.call(text_tool, word, folder=folder, readable=())
                assert text.content == nonce
                call = {"image": str(tmp_path / f"{number}.png"), "bbox": "1 1 9 9"}
                (picture,) = await box.call("DrawBox", call, folder=folder, readable=[tmp_path])
                with Image.open(picture.content) as drawn:
                    assert drawn.size == (100 + number, 60)
        finally:
            await box.close()

    async def workers(numbers: range) -> None:
        await asyncio.gather(*(worker(own, numbers) for own in range(32)))

    try:
        asyncio.run(workers(range(rounds[0])))
        before = _everything(running.process.pid)
        asyncio.run(workers(range(rounds[0], calls)))
        grown = _everything(running.process.pid) - before
        assert metrics(running, "calls_total") == {
            f'agentgauge_tool_calls_total{{status="200",tool="{name}"}}': 32.0 * calls
            for name in (text_tool, "DrawBox")
        }
    finally:
        running.stop()
    assert grown < rounds[1] * 2.5 * 2**20


def _everything(pid: int) -> int:
    """Bytes in memory of a process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return memory(pid) + sum(memory(int(child)) for child in children)
