"""The token of a tool server in a run: made for its own server, taken from the address of another, stored nowhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from agentgauge.core.processes import TOOL_TOKEN
from tests.plugin.project import ROOT, run_gta, start_gta, summary
from tests.plugin.test_tool_server import child_running, wait_for

RUN = ("-m", "gta_atomic_e2e", "--model", "oracle", "-k", "10 or 33")  # whose tools load nothing heavy


@pytest.fixture(autouse=True)
def _no_token(monkeypatch):
    """This process is a pytest run too, which has made one."""
    monkeypatch.delenv(TOOL_TOKEN, raising=False)


def environment(pid: int) -> dict[str, str]:
    pairs = (line.partition(b"=") for line in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
    return {name.decode(): value.decode() for name, _, value in pairs}


def files_with(text: str, folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_a_runs_own_server_has_a_token_of_this_run_that_stands_in_no_command_and_no_file(tmp_path, workers):
    process = start_gta(*RUN, "--in-flight", "1", "--run-dir", "run", *workers, cwd=tmp_path)
    server = wait_for(lambda: child_running(process.pid, "tool_impls.server.command"))
    os.kill(server, signal.SIGSTOP)  # so that it is there while we look
    try:
        token = wait_for(lambda: environment(server).get(TOOL_TOKEN))
        services = tmp_path / "run" / "services.json"
        url = wait_for(lambda: services.exists() and json.loads(services.read_text()))["tools of gta_atomic.e2e"]
        commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if os.access(path, os.R_OK)]
    finally:
        os.kill(server, signal.SIGCONT)
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{url}/tools", timeout=30)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert summary(tmp_path / "run")["tasks"]["gta_atomic.e2e"]["passed"] > 0
    assert len(token) >= 32 and not any(token.encode() in command for command in commands)
    assert token not in output and files_with(token, tmp_path) == []


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_the_token_of_an_address_is_used_and_stored_nowhere(tmp_path, workers):
    command = [
        sys.executable,
        "-m",
        "tool_impls.server.command",
        "--port",
        "0",
        "--settings",
        str(ROOT / "agentgauge.toml"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            announced = json.loads(server.stdout.readline())
            plain, token = announced["url"], announced["token"]
            refused = run_gta(*RUN, "--tool-server", plain, "--run-dir", "refused", cwd=tmp_path, status=4)
            assert f"--tool-server {plain} requires a token; give the one that it printed" in refused.output
            address = plain.replace("http://", f"http://:{token}@")
            result = run_gta(*RUN, "--tool-server", address, "--run-dir", "run", *workers, cwd=tmp_path)
        finally:
            server.terminate()
    assert summary(tmp_path / "run")["tasks"]["gta_atomic.e2e"]["passed"] > 0
    assert token not in result.output and files_with(token, tmp_path) == []
