"""Two devices of the processor stand for two GPUs: where models are loaded, and what becomes of calls when a process
loses its device."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import ToolError, ToolFault
from tests.tools.test_faults import Running
from tool_impls.server.client import ToolServerBox
from tool_impls.server.command import main

TOOLS = Path(__file__).with_name("device_tools.py")
NAMES = "Loaded,Pinned,Narrow,TooLarge,Loses,Aborts"


class Devices(Running):
    """A server whose tools run on two devices, and the file in which they note each load."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "loads.txt"
        tables = "".join(f'[tools.{name}]\nlog = "{self.log}"\n' for name in NAMES.split(","))
        settings = folder / "agentgauge.toml"
        pinned = tables.replace("[tools.Pinned]", '[tools.Pinned]\ndevice = "cpu:1"')
        settings.write_text(f'[tools]\ndevices = "cpu:0,cpu:1"\n{pinned}')
        super().__init__("--tools", f"{NAMES},Echo", "--settings", str(settings), "--extra", str(TOOLS))

    def loads(self, tool: str) -> list[str]:
        """The devices on which a tool was loaded, in order."""
        lines = [line.split() for line in self.log.read_text().splitlines()] if self.log.exists() else []
        return sorted(device for name, device, _ in lines if name == tool)

    def from_clients(self, clients: int, tool: str, words: Sequence[str], folder: Path) -> list[Any]:
        """Answers to calls that come at once, from as many clients with connections of their own."""

        async def one(box: ToolServerBox, word: str) -> Any:
            try:
                (output,) = await box.call(tool, {"word": word}, folder=folder, readable=())
                return output.content.split()
            except (ToolError, ToolFault) as error:
                return error

        async def every() -> list[Any]:
            boxes = [ToolServerBox(self.url) for _ in range(clients)]
            try:
                return await asyncio.gather(*(one(boxes[i % clients], word) for i, word in enumerate(words)))
            finally:
                for box in boxes:
                    await box.close()

        return asyncio.run(every())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Devices]:
    running = Devices(tmp_path_factory.mktemp("devices"))
    yield running
    told = running.stop().decode()
    assert "tools on cpu:0, cpu:1: Aborts, Loaded, Loses, Narrow, TooLarge\ntools on cpu:1: Pinned\n" in told


def test_32_calls_of_8_clients_share_one_model_on_each_device(server: Devices, tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(32)]
    (alone,) = server.from_clients(1, "Loaded", ["w0"], tmp_path)
    answers = server.from_clients(8, "Loaded", words, tmp_path)
    assert [answer[0] for answer in answers] == [word.upper() for word in words] and alone[0] == "W0"
    spread = Counter(answer[1] for answer in answers)
    assert set(spread) == {"cpu:0", "cpu:1"} and min(spread.values()) > 4
    assert server.loads("Loaded") == ["cpu:0", "cpu:1"]  # as many as for one call on each


def test_a_tool_runs_where_its_table_says_in_the_process_of_that_device(server: Devices, tmp_path: Path) -> None:
    answers = server.from_clients(2, "Pinned", ["a", "b", "c", "d"], tmp_path)
    others = server.from_clients(1, "Loaded", ["x"] * 8, tmp_path)
    assert [answer[1] for answer in answers] == ["cpu:1"] * 4 and server.loads("Pinned") == ["cpu:1"]
    processes = {answer[1]: answer[2] for answer in others}
    assert {answer[2] for answer in answers} == {processes["cpu:1"]} and len(set(processes.values())) == 2


def test_tools_and_metrics_name_the_devices(server: Devices) -> None:
    found = json.loads(server.get("/tools"))
    assert {name: tool.get("device") for name, tool in found.items()} == {
        **dict.fromkeys(("Loaded", "Narrow", "TooLarge", "Loses", "Aborts"), "cpu:0, cpu:1"),
        "Pinned": "cpu:1",
        "Echo": None,
    }
    assert "device" not in found["Pinned"]["options"]  # another place is no other tool
    assert 'agentgauge_tool_device{device="cpu:1",tool="Pinned"} 1.0' in server.get("/metrics").decode()


def test_batches_that_do_not_fit_are_answered_as_one_by_one(server: Devices, tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(32)]
    answers = server.from_clients(8, "Narrow", words, tmp_path)
    assert [answer[0] for answer in answers] == [word.upper() for word in words]
    long, short = server.from_clients(2, "Narrow", ["a-long-word", "short"], tmp_path)
    assert isinstance(long, ToolFault) and "Narrow ran out of memory on cpu:" in str(long)
    assert "it needed 2.00 GiB more, over one call" in str(long) and short[0] == "SHORT"


def test_a_model_that_does_not_fit_names_tool_and_device(server: Devices, tmp_path: Path) -> None:
    (error,) = server.from_clients(1, "TooLarge", ["x"], tmp_path)
    assert isinstance(error, ToolFault)
    assert "HTTP 500" in str(error) and "the model of TooLarge ran out of memory on cpu:" in str(error)


@pytest.mark.parametrize("tool", ["Loses", "Aborts"])
def test_a_process_that_ends_once_costs_no_call(server: Devices, tmp_path: Path, tool: str) -> None:
    """Neither its own nor one of those that it was executing with it."""
    before = restarts(server)
    words = [str(tmp_path / "first"), *(f"w{number}" for number in range(7))]
    answers = server.from_clients(4, tool, words, tmp_path)
    assert [answer[0] for answer in answers] == [word.upper() for word in words]
    assert restarts(server) == before + 1


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("always", "CUDA error: an illegal memory access was encountered)"),
        ("wraps", "CUDA failed with error unspecified launch failure)"),
    ],
)
def test_a_call_that_loses_every_device_is_no_answer_of_the_model(
    server: Devices, tmp_path: Path, word: str, said: str
) -> None:
    answers = server.from_clients(2, "Loses", [word, "a", "b"], tmp_path)
    assert isinstance(answers[0], ToolFault) and [answer[0] for answer in answers[1:]] == ["A", "B"]
    told = str(answers[0])
    assert (
        "HTTP 500" in told
        and "Loses: its processes ended, the last one because it lost its device cpu:" in told
        and said in told
    )
    assert "see the driver's messages, or name another device" in told


def restarts(server: Devices) -> float:
    (line,) = [line for line in server.get("/metrics").decode().splitlines() if line.startswith(RESTARTS)]
    return float(line.split()[1])


RESTARTS = "agentgauge_process_restarts_total"


@pytest.mark.parametrize(
    ("devices", "gpus", "told"),
    [
        ("gpu", "[]", "--devices: the device 'gpu' is none; accepted are auto, cpu and cuda:N, such as cuda:0"),
        ("cuda:0", "[]", "devices in [tools]: the device cuda:0 is not there; torch sees no GPU here; name another"),
        ("cuda:1", '[["cuda:0", "NVIDIA L4"]]', "the device cuda:1 is not there; torch sees cuda:0 (NVIDIA L4); name"),
    ],
)
def test_a_server_refuses_a_device_that_is_not_there_when_it_starts(
    devices: str, gpus: str, told: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.toml").write_text("[tools]\nbasic = true\n")
    arguments = ["--port", "0", "--tools", "TextToBbox", "--settings", str(tmp_path / "a.toml")]
    assert main([*arguments, "--devices", devices, "--gpus", gpus]) == 4
    assert told in capfd.readouterr().err


def test_a_server_whose_run_has_not_looked_for_gpus_does_so_at_the_first_call(tmp_path: Path) -> None:
    settings = tmp_path / "agentgauge.toml"
    settings.write_text(f'[tools.Loaded]\nlog = "{tmp_path / "log"}"\n')
    arguments = ("--tools", "Loaded,Echo", "--settings", str(settings), "--extra", str(TOOLS))
    running = Running(*arguments, "--gpus", "later", CUDA_VISIBLE_DEVICES="")
    try:
        assert "agentgauge_tool_device{" not in running.get("/metrics").decode()
        assert running.calls(tmp_path, ("Loaded", {"word": "a"}))[0].split()[:2] == ["A", "cpu"]
        assert 'agentgauge_tool_device{device="cpu",tool="Loaded"} 1.0' in running.get("/metrics").decode()
        assert json.loads(running.get("/tools"))["Loaded"]["device"] == "cpu"
    finally:
        assert b"tools on" not in running.stop()
