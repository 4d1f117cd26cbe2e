"""The tool server of a run: killed in the middle, unusable, or not ours."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.plugin.project import PYTEST, ROOT, python, run_gta, start_gta, summary, without_times

RUN = ("-m", "gta_atomic_e2e", "--model", "oracle", "-k", "10 or 33 or 38")
"""Cases whose tools load nothing heavy."""


def child_running(parent: int, words: str) -> int | None:
    """Process id of a child whose command line holds ``words``."""
    for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        try:
            command = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except FileNotFoundError:
            continue  # it ended in between
        if words in command:
            return int(child)
    return None


def wait_for(what, seconds: float = 60):
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return found


def test_a_killed_tool_server_is_started_again_and_resume_completes_what_broke(tmp_path):
    run_gta(*RUN, "--run-dir", "undisturbed", cwd=tmp_path)
    process = start_gta(*RUN, "--in-flight", "1", "--run-dir", "run", cwd=tmp_path)
    records = tmp_path / "run" / "records" / "main.jsonl"
    wait_for(lambda: records.exists() and records.read_bytes().count(b"\n") >= 1)
    server = wait_for(lambda: child_running(process.pid, "tool_impls.server.command"))
    os.kill(server, signal.SIGKILL)
    output, _ = process.communicate(timeout=120)
    task = summary(tmp_path / "run")["tasks"]["gta_atomic.e2e"]
    assert task["missing"] == 0, output
    assert task["wrong"] == 0, output  # a dead server is never held against the model
    assert process.returncode == (1 if task["broken"] else 0), output
    if task["broken"]:
        run_gta("--resume", "run", cwd=tmp_path)
    assert without_times(summary(tmp_path / "run")) == without_times(summary(tmp_path / "undisturbed"))


def test_services_end_when_their_controller_is_killed(tmp_path):
    process = start_gta(*RUN, "--in-flight", "1", "--run-dir", "run", cwd=tmp_path)
    servers = [
        wait_for(lambda words=words: child_running(process.pid, words))
        for words in ("embedded.serve", "tool_impls.server.command")
    ]
    wait_for(lambda: (tmp_path / "run" / "services.json").exists())
    process.kill()
    process.communicate()
    assert wait_for(
        lambda: not any(Path(f"/proc/{server}/cmdline").exists() and alive(server) for server in servers), seconds=15
    )


def alive(pid: int) -> bool:
    """Not a zombie that nobody has collected yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_tool_server_that_is_not_there_is_refused_before_the_first_request(tmp_path):
    result = run_gta(*RUN, "--tool-server", "http://127.0.0.1:9", "--run-dir", "run", cwd=tmp_path, status=4)
    assert "--tool-server http://127.0.0.1:9 does not answer as a tool server" in result.output
    assert "Traceback" not in result.output


def test_a_tool_server_that_lacks_tools_is_refused_before_the_first_request(tmp_path):
    command = [sys.executable, "-m", "tool_impls.server.command", "--port", "0", "--no-token", "--tools", "OCR"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["url"]
            result = run_gta(*RUN, "--tool-server", url, "--run-dir", "run", cwd=tmp_path, status=4)
        finally:
            server.terminate()
    assert f"--tool-server {url} does not have AddText, " in result.output


def test_a_tool_that_lacks_a_setting_is_refused_before_the_first_request(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "agentgauge.toml").write_text("[tools]\nbasic = false\n")
    places = ("--rootdir", str(tmp_path), str(ROOT / "bench_gta" / "test_e2e.py"), "--confcutdir", str(tmp_path))
    result = python(*PYTEST, "-p", "agentgauge.pytest_plugin", *places, cwd=tmp_path)
    assert result.status == 4, result.output
    assert "is needed but unavailable" in result.output
    assert "[tools]" in result.output
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").glob("*/records/*.jsonl"))


def test_a_run_is_not_resumed_with_other_tools(tmp_path):
    table = '[tools]\nbasic = true\nmissing = "disable"\n'
    (tmp_path / "agentgauge.toml").write_text(table)
    run_gta(
        "-m",
        "gta_atomic_e2e",
        "-k",
        "Calculator",
        "--limit",
        "2",
        "--model",
        "oracle",
        "--run-dir",
        "run",
        cwd=tmp_path,
    )
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    resume = ("-m", "gta_atomic_e2e", "-k", "Calculator", "--model", "oracle", "--resume", "run")
    calculator = about["settings"]["tools"]["Calculator"]

    calculator["device"] = "cuda:0 (NVIDIA L4)"  # as of a tool with a model: on another device it is the same tool
    (tmp_path / "run" / "run.json").write_text(json.dumps(about))
    (tmp_path / "agentgauge.toml").write_text(f'{table}devices = "cpu"\n')
    assert "tools on cuda:0 (NVIDIA L4): Calculator" in run_gta(*resume, cwd=tmp_path).output

    calculator["version"] = 99
    (tmp_path / "run" / "run.json").write_text(json.dumps(about))
    result = run_gta(*resume, cwd=tmp_path, status=4)
    assert "run: that run had another Calculator" in result.output
