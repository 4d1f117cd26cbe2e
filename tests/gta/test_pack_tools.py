"""Tools and adapters for agents that are run for a pack."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from bench_gta.pack import tools
from tests.gta.pack_data import pack, stored, write_tasks
from tests.plugin.project import python

pytestmark = pytest.mark.slow

AGENT = """
import asyncio, json, os, sys, urllib.request
from pathlib import Path
import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

settings = json.loads(Path("mcp.json").read_text())["mcpServers"]["agentgauge"]
assert settings["url"] == os.environ["AGENTGAUGE_MCP_URL"] == sys.argv[1]
assert settings["headers"]["Authorization"] == "Bearer " + os.environ["AGENTGAUGE_MCP_TOKEN"] == "Bearer " + sys.argv[2]
assert sys.argv[3] == str(Path("mcp.json").resolve())
print("my token is", sys.argv[2])

async def main():
    async with (
        httpx2.AsyncClient(headers=settings["headers"]) as http,
        Client(streamable_http_client(settings["url"], http_client=http)) as client,
    ):
        async def call(name, **arguments):
            return await client.call_tool(name, arguments)
        try:
            await call("Delete")
        except MCPError:
            pass
        for name in ("input/sales.csv", "files/sales.csv", os.path.abspath("input/sales.csv")):
            read = await call("ReadCSV", csv_file=name)
            assert "cake" in read.content[0].text, read
        await call("ReadCSV", csv_file="/etc/passwd")
        await call("Calculator", expression="5 +")
        made = await call("CsvFileGenerator", data_str="[[1, 2]]", filename="sums.csv")
        link = made.content[-1]
        copied = (await client.read_resource(link.uri)).contents[0].text
        Path("files", "copied.csv").write_bytes(copied.encode())
        await call("CsvFileGenerator", data_str="[[3, 4]]", filename="more.csv")
        await call("Calculator", expression="'x' * 3000")

asyncio.run(main())
"""

OTHER_PORTS = """
import os, socket, urllib.parse
port = urllib.parse.urlsplit(os.environ["AGENTGAUGE_MCP_URL"]).port
for target in (("127.0.0.1", int(os.environ["OPEN_PORT"])), ("10.255.255.1", 80)):
    try:
        socket.create_connection(target, timeout=5)
        print("reached", target)
    except OSError:
        pass
with socket.create_connection(("127.0.0.1", port), timeout=5) as link:
    print("tools reached")
"""

TASK = {
    "7": {
        "tools": ["ReadCSV", "Calculator", "Plot"],
        "files": [{"type": "csv", "path": "files/sales.csv"}],
        "dialogs": [{"role": "user", "content": "Add up files/sales.csv."}],
        "sub_tasks": [{"id": "1", "requirements": "The sum is given.", "check": {"answer": {"contains": ["12"]}}}],
    }
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = write_tasks(tmp_path / "data", TASK)
    known = json.loads(Path("bench_gta/workflow/mini/toolmeta.json").read_text())
    some = ("ReadCSV", "Calculator", "CsvFileGenerator")
    (folder / "toolmeta.json").write_text(json.dumps({name: known[name] for name in some}))
    return folder


def run(tmp_path: Path, data: Path, code: str, *more: str, words: str = "") -> tuple[int, Path]:
    script, out = tmp_path / "agent.py", tmp_path / "run"
    script.write_text(code)
    command = f"{sys.executable} {script} {words}"
    return pack("run", "--command", command, "--out", out, "--data", data, "--mcp", *more), out


def test_calls_are_in_the_record_and_files_are_delivered(tmp_path: Path, data: Path, capsys: Any) -> None:
    status, out = run(tmp_path, data, AGENT, words="{mcp_url} {mcp_token} {mcp_config}")
    assert status == 0, (out / "7" / "stderr.txt").read_text()
    record = stored(out / "7" / "run.json")
    log = record["tools"]
    assert log["expected"] == ["ReadCSV", "Calculator", "Plot"] and log["left_out"] == 0
    brief = [(call["name"], call["accepted"], "error" in call) for call in log["calls"]]
    assert brief == [
        ("Delete", False, True),
        *[("ReadCSV", True, False)] * 3,
        ("ReadCSV", False, True),
        ("Calculator", True, True),
        ("CsvFileGenerator", True, False),
        ("CsvFileGenerator", True, False),
        ("Calculator", True, False),
    ]
    assert [call["arguments"] for call in log["calls"][1:5]] == [{"csv_file": "input/sales.csv"}] * 3 + [
        {"csv_file": "/etc/passwd"}
    ]
    assert log["calls"][6]["outputs"] == [{"type": "file", "content": "results/text/sums.csv"}]
    assert log["calls"][8]["outputs"][0]["content"].endswith("characters left out]")
    assert all(call["seconds"] >= 0 for call in log["calls"] if call["accepted"])
    # what the agent has copied itself is delivered once
    delivered = stored(out / "pack.json")["tasks"][0]["attached_files"]
    assert delivered == ["7/files/copied.csv", "7/files/tools/text/more.csv"]
    # the token is worth nothing any more, and stands nowhere
    assert (out / "7" / "final.txt").read_text() == "my token is [key]\n"
    assert "Bearer [key]" in (out / "7" / "work" / "mcp.json").read_text()
    capsys.readouterr()
    assert pack("score", "--in-pack", out / "pack.json", "--data", data, "--judge-model", "rules") == 0
    steps = stored(out / "pack_rules_scores_summary.json")["steps"]
    assert steps == {
        "Tasks": 1,
        "Calls": 9,
        "Args accepted": pytest.approx(700 / 9),
        "Errors": pytest.approx(300 / 9),
        "Tools used": pytest.approx(200 / 3),
        "Tools named": pytest.approx(50),
    }
    assert "  steps: Calls          9\n" in capsys.readouterr().out


def test_an_agent_in_the_sandbox_reaches_the_tools_and_nothing_else(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        monkeypatch.setenv("OPEN_PORT", str(other.getsockname()[1]))
        status, out = run(tmp_path, data, OTHER_PORTS, "--env", "OPEN_PORT")
    assert status == 0 and (out / "7" / "final.txt").read_text() == "tools reached\n"
    assert "net_ns" in stored(out / "7" / "run.json")["sandbox"]
    assert not stored(out / "7" / "run.json")["network"]


def test_an_agent_reaches_a_local_port_that_it_is_given(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    script, out = tmp_path / "agent.py", tmp_path / "run"
    script.write_text(
        "import os, socket\nsocket.create_connection(('127.0.0.1', int(os.environ['PORT'])), 5)\nprint('in')"
    )
    with socket.create_server(("127.0.0.1", 0)) as model:
        port = str(model.getsockname()[1])
        monkeypatch.setenv("PORT", port)
        words = ["run", "--command", f"{sys.executable} {script}", "--out", str(out), "--data", str(data)]
        assert pack(*words, "--env", "PORT", "--local-port", port) == 0
        assert (out / "7" / "final.txt").read_text() == "in\n"
        assert pack(*words, "--env", "PORT") == 4
    assert "without the network and with local ports (1), not in the sandbox" in capsys.readouterr().out
    assert pack(*words, "--local-port", "0") == 4
    assert "--local-port must be from 1 to 65535, not 0" in capsys.readouterr().out


def test_a_run_with_tools_is_not_continued_without(tmp_path: Path, data: Path, capsys: Any) -> None:
    status, out = run(tmp_path, data, "print('hi')")
    assert status == 0 and stored(out / "pack.json")["generated_from"]["mcp"] is True
    command = f"{sys.executable} {tmp_path / 'agent.py'} "
    assert pack("run", "--command", command, "--out", out, "--data", data) == 4
    assert "holds a run in the sandbox without the network and with the tools" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--command", "cat {mcp_url}"], "--command names the tools' address, but the agent is offered no tools"),
        (["--command", "cat", "--tool-server", "http://x"], "--tool-server is given, but the agent is offered no"),
    ],
)
def test_tools_have_to_be_asked_for(words: list[str], sentence: str, tmp_path: Path, data: Path, capsys: Any) -> None:
    assert pack("run", *words, "--out", tmp_path / "run", "--data", data) == 4
    assert sentence in capsys.readouterr().out


def test_the_log_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "MOST_LOG", 100)
    log = tools.TaskTools(1, tmp_path, {})
    for _ in range(3):
        log.refused("A" * 20, {}, "no")
    assert len(log.record(())["calls"]) == 1 and log.record(())["left_out"] == 2


ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "pack_adapter"


def commands() -> list[list[str]]:
    """The commands of the page."""
    page = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    block = re.search(r"^```sh\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)
    assert block
    return [shlex.split(line) for line in block[1].replace("\\\n", " ").splitlines()]


def test_the_commands_of_the_page_work(tmp_path: Path) -> None:
    folder = tmp_path / "examples"
    folder.mkdir()
    (folder / "pack_adapter").symlink_to(EXAMPLE)
    environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    words = commands()
    assert [line[:3] for line in words] == [["agentgauge", "pack", verb] for verb in ("run", "check", "score", "table")]
    for line in words:
        few = ["--max-tasks", "3"] if line[2] == "run" else []
        done = python("-m", "agentgauge.cli.main", *line[1:], *few, cwd=tmp_path, env=environment)
        assert done.status == 0, done.output
    assert "| scripted |" in done.output
    pack = stored(tmp_path / "runs/scripted/pack.json")
    assert len(pack["tasks"]) == 3
    for task in pack["tasks"]:
        files = [Path(name).name for name in task["attached_files"]]
        assert "report.md" in files
        assert task["assistant_outputs"][0][0]["content"] == f"I looked at {len(files) - 1} files and wrote report.md."
        assert task["meta"]["usd"] == 0.01 + 0.005 * (len(files) - 1)
