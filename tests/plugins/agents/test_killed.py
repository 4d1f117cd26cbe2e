"""An agent program that is killed breaks its case, names the signal, and is run again when the run is resumed."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.errors import Fault
from tests.model.fault_server import Act, FaultServer, Seen, answer
from tests.plugin.project import records, run_gta
from tests.plugins.agents.agents import Model, solve

WORK = "print(ask('x')[0])"


def processes(argument: str) -> list[int]:
    """Those whose command line holds a text, the oldest first."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if argument.encode() in line and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return sorted(found)


def killing(argument: str, number: int) -> Model:
    """A model that kills these processes before it answers."""

    def answer(request: ChatRequest) -> ChatReply:
        for pid in processes(argument):
            os.kill(pid, number)
        return ChatReply("too late")

    return Model(answers=answer)


@pytest.mark.parametrize(("number", "confined"), [(signal.SIGKILL, True), (signal.SIGTERM, False)])
def test_the_program_is_killed_from_outside(number: signal.Signals, confined: bool, tmp_path: Path) -> None:
    with pytest.raises(Fault, match=f"the agent gave no answer: it died of {number.name}") as fault:
        solve(WORK, tmp_path, killing(str(tmp_path / "agent.py"), number), confined=confined)
    assert fault.value.cause == "agent killed"


def test_the_sandbox_around_it_is_killed(tmp_path: Path) -> None:
    with pytest.raises(Fault, match="it was ended from outside: its sandbox died of SIGKILL") as fault:
        solve(WORK, tmp_path, killing("inner.supervise", signal.SIGKILL))
    assert fault.value.cause == "agent killed"


def test_an_answer_that_is_whole_counts(tmp_path: Path) -> None:
    code = "Path('answer.json').write_text('{\"content\": \"42\"}')\nos.kill(os.getpid(), 9)"
    assert solve(code, tmp_path)[0].reply.text == "42"


ASKS = """
import json, os, urllib.request
body = json.dumps({"messages": [{"role": "user", "content": "hello"}]}).encode()
headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "Content-Type": "application/json"}
request = urllib.request.Request(f"{os.environ['OPENAI_BASE_URL']}/chat/completions", body, headers)
print(json.loads(urllib.request.urlopen(request).read())["choices"][0]["message"]["content"])
"""


@pytest.mark.slow
def test_a_resumed_run_starts_it_again(tmp_path: Path) -> None:
    program = tmp_path / "own_agent.py"
    program.write_text(ASKS)
    killed: list[int] = []

    def choose(request: Seen) -> Act:
        for pid in [] if killed else processes(str(program)):
            if b"--agent" not in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
        return answer("an answer")

    with FaultServer(choose=choose) as endpoint:
        few = (f"--agent={sys.executable} {program}", "--model=m", f"--model-url={endpoint.url}", "--limit=1")
        run_gta(*few, "-k", "test_end_to_end", "--run-dir=run", cwd=tmp_path, status=1)
        (record,) = records(tmp_path / "run")
        assert (record["status"], record["cause"]) == ("broken", "agent killed")
        assert record["error"].startswith("the agent gave no answer: it ")
        assert record["transcript"]["usage"]["requests"] == 1  # it was paid
        run_gta(*few, "-k", "test_end_to_end", "--resume=run", cwd=tmp_path)
        (record,) = records(tmp_path / "run")
        assert record["status"] == "wrong"
    assert killed
