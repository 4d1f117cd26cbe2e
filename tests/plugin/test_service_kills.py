"""A helper process of a run can be killed at any moment: the run goes on or ends with a message, and the resumed one
ends as one that nothing disturbed."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from tests.plugin.project import Project, records, summary, without_times
from tests.tools.test_worker_pool import running

SAMPLES = 16
MOMENTS = [0, *(pytest.param(seed, marks=pytest.mark.faults) for seed in range(1, 21))]
"""Seeds of random moments; most are for ``make test-heavy``. With the odd ones the run has two workers."""

VICTIMS = {
    "model": "agentgauge.model.embedded.serve",
    "tools": "tool_impls.server.command",
    "tool worker": "tool_impls.server.worker",
}
"""Words of their command lines."""

TOOL = """
import time
from agentgauge.core.tools import Parameter
from tool_impls import base

class Write(base.BenchTool):
    meta = base.tool("Write", "Writes a word into a file.", (base.text("word"),), Parameter("file", filetype="text/plain"))
    category = "logic"
    concurrency = 2

    def apply(self, folder, /, word):
        file = folder / "word.txt"
        file.write_text(word[:2])
        time.sleep(0.05)
        file.write_text(word)
        return file
"""  # noqa: E501

USES_TOOL = """
import json, sys
from pathlib import Path
from agentgauge.core.capabilities import RealTools
from agentgauge.core.errors import ToolError
from agentgauge.run import run_services
from agentgauge.run.services import Service

class Writes(Toy, RealTools):
    def tools_of(self, index, row):
        return ()
    def check_tools(self, names, config, *, scoring, allow_unsafe, server):
        return {}
    def tool_server(self, config, *, scoring, allow_unsafe):
        return [sys.executable, "-m", "tool_impls.server.command", "--port", "0", "--extra", "tool.py", "--tools", "Write"]
    def toolbox(self, url):
        from tool_impls.server.client import ToolServerBox
        return ToolServerBox(url)
    async def run(self, case):
        said = (await super().run(case))["answer"]
        try:
            (written,) = await case.use("Write", {"word": said})
        except ToolError as error:  # it would be held against the model
            return {"answer": str(error)}
        return {"answer": Path(written.content).read_text(), "file": written.content}

announce(Writes())

def with_latency(name, command, *arguments, **options):
    if "agentgauge.model.embedded.serve" in command:
        command = [*command, "--latency-ms", "50"]  # so that requests are concurrent
    return Service(name, command, *arguments, **options)

run_services.Service = with_latency
"""  # noqa: E501


def make(path: Path) -> tuple[Project, list[str]]:
    """A project whose cases ask an embedded model and use a tool, and the arguments of a run."""
    project = Project.make(path, samples=SAMPLES)
    with (project.path / "conftest.py").open("a") as stream:
        stream.write(USES_TOOL)
    (project.path / "tool.py").write_text(TOOL)
    replies = {f"*/s{number}": [f"word{number}"] for number in range(SAMPLES)} | {"*/s3": ["something else"]}
    (project.path / "script.json").write_text(json.dumps({"replies": replies}))
    return project, ["--model", "scripted:script.json", "--in-flight", "4"]


def below(parent: int) -> dict[int, str]:
    """The processes that one has started, and those that they have: id → command line. Zombies have none."""
    found: dict[int, str] = {}
    for thread in Path("/proc").glob(f"{parent}/task/*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            for child in map(int, thread.read_text().split()):
                found |= below(child)
                found[child] = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return found


def those(processes: dict[int, str], victim: str) -> list[int]:
    return [pid for pid, command in processes.items() if VICTIMS[victim] in command]


def until(what, seconds: float = 60):
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
    return found


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> tuple[dict, dict[str, float]]:
    """The summary, and the seconds for which each process is to be seen."""
    project, arguments = make(tmp_path_factory.mktemp("undisturbed") / "project")
    process = project.start(*arguments, "--run-dir", "run")
    seen: dict[str, list[float]] = {victim: [] for victim in VICTIMS}

    def has_ended() -> bool:
        there = below(process.pid)
        for victim in VICTIMS:
            if those(there, victim):
                seen[victim].append(time.monotonic())
        return process.poll() is not None

    until(has_ended)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    run = project.path / "run"
    task = summary(run)["tasks"]["toy.say"]
    assert (task["passed"], task["wrong"]) == (SAMPLES - 1, 1)
    return without_times(summary(run)), {victim: times[-1] - times[0] for victim, times in seen.items()}


@pytest.mark.parametrize("seed", MOMENTS)
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_service_that_is_killed(tmp_path, undisturbed, victim, seed):
    expected, seconds = undisturbed
    moments = random.Random(f"{victim} {seed}")
    workers = ("-n", "2") if seed % 2 else ()
    project, arguments = make(tmp_path / "project")
    run = project.path / "run"
    process = project.start(*arguments, *workers, "--run-dir", "run")
    until(lambda: those(below(process.pid), victim))
    time.sleep(moments.uniform(0, 0.95 * seconds[victim]))
    started = below(process.pid)
    if found := those(started, victim):
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(moments.choice(found), signal.SIGKILL)
    output, _ = process.communicate(timeout=60)
    until(lambda: not running(map(str, started)), 20)  # nothing is left behind
    assert process.returncode in (0, 1, 4) and "Traceback" not in output and "INTERNALERROR" not in output, output
    if process.returncode != 0:
        assert process.returncode == 1 or "did not start (status -9)" in output, output
        if (run / "summary.json").exists():  # a model that does not start ends the run before it has begun
            task = summary(run)["tasks"]["toy.say"]
            assert task["wrong"] <= 1 and task["broken"] + task["missing"], output  # it is never held against the model
        resumed = project.run("--resume", "run", *arguments[2:], *workers)
        assert resumed.status == 0, resumed.output
    assert without_times(summary(run)) == expected
    assert Counter(record["sample"] for record in records(run)) == Counter(f"s{number}" for number in range(SAMPLES))
    assert {file.parts[-3]: file.read_text() for file in run.glob("files/*/*/*/*")} == {
        f"s{number}-a1": "something else" if number == 3 else f"word{number}" for number in range(SAMPLES)
    }
