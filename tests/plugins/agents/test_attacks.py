"""An agent program tries to get round what it is given."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

import bench_mmau
from agentgauge import sandbox
from agentgauge.plugins.agents.agent import ProgramAgent
from agentgauge.plugins.agents.logs import AgentLogs

from .agents import NAME, TASK, TASKS, Model, case, program, solve

MINI = Path(bench_mmau.__file__).parent / "mini"

TRY = """
def attempt(what):
    try:
        return repr(what())
    except BaseException as error:
        return "refused: " + type(error).__name__
"""


@pytest.fixture
def service() -> Iterator[int]:
    """A service of this machine that the agent is not given."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def outcome(code: str, folder: Path, **more: object) -> str:
    return solve(f"{TRY}\nprint({code})", folder, **more)[0].reply.text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "code",
    [
        f"attempt(lambda: sorted(os.listdir({str(MINI)!r})))",  # bundled gold
        "attempt(lambda: __import__('bench_mmau'))",
        "attempt(lambda: __import__('agentgauge'))",
        "attempt(lambda: Path('GOLD').read_text())",  # a data folder
        "attempt(lambda: Path('RUN', 'records.jsonl').read_text())",  # other samples
        "attempt(lambda: Path('/etc/shadow').read_text())",
        "attempt(lambda: Path('/proc/1/environ').read_text())",
        "attempt(lambda: os.listdir('/proc/1/root'))",
        "attempt(lambda: os.listdir('/proc/1/fd'))",
        "attempt(lambda: Path('/proc/1/mem').open('rb'))",
        "attempt(lambda: Path('/proc/self/root/etc/shadow').read_text())",
        "attempt(lambda: Path('/proc/sys/kernel/core_pattern').write_text('|x'))",
        "attempt(lambda: Path('/proc/sysrq-trigger').write_text('h'))",
        "attempt(lambda: Path('RUN', 'mine.txt').write_text('x'))",
        "attempt(lambda: Path('/tmp/of-the-agent').write_text('x'))",
        "attempt(lambda: Path(sys.argv[0]).write_text('x'))",  # itself, for the next sample
        "attempt(lambda: __import__('socket').create_connection(('169.254.169.254', 80), timeout=3))",
        "attempt(lambda: __import__('socket').create_connection(('127.0.0.1', PORT), timeout=3))",
        "attempt(lambda: __import__('socket').create_connection(('1.1.1.1', 53), timeout=3))",
        "attempt(lambda: __import__('socket').socket(__import__('socket').AF_UNIX))",
        "attempt(lambda: os.kill(os.getppid(), 0) or os.kill(1, 9))",
    ],
)
def test_what_is_out_of_reach(code: str, tmp_path: Path, service: int, monkeypatch: pytest.MonkeyPatch) -> None:
    gold, run = tmp_path / "gold", tmp_path / "run"
    for place, text in ((gold, "answer"), (run / "records.jsonl", "answer")):
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
    monkeypatch.setenv("AGENTGAUGE_HIDDEN", "")
    sandbox.hide([run])
    code = code.replace("GOLD", str(gold)).replace("RUN", str(run)).replace("PORT", str(service))
    said = outcome(code, tmp_path)
    assert said.startswith("refused: ") and not Path("/tmp/of-the-agent").exists()


def test_it_sees_its_own_processes_alone(tmp_path: Path) -> None:
    seen = json.loads(outcome("json.dumps([int(name) for name in os.listdir('/proc') if name.isdigit()])", tmp_path))
    assert 1 <= len(seen) <= 4 and os.getpid() not in seen


def test_no_secret_of_this_process_is_in_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-of-the-user-0123456789")
    said = outcome("json.dumps(dict(os.environ))", tmp_path)
    assert "sk-of-the-user" not in said and "AGENTGAUGE_MODEL_KEY" in said
    known = {"PATH", "HOME", "TMPDIR", "LANG", "MPLBACKEND", "LC_CTYPE"}
    names = json.loads(said).keys()
    assert {name for name in names if not name.startswith(("AGENTGAUGE_", "OPENAI_", "PYTHON", "OPENBLAS"))} <= known


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("ask('x', model='gpt-expensive')", "(404"),
        ("ask('x', extra_body={'model': 'gpt-expensive'})", "(400"),
        ("send(URL + '/chat/completions', {'messages': [{'role': 'user', 'content': [{'type': 'local_file', 'kind':"
         " 'file', 'path': '/etc/passwd', 'name': 'p', 'instead': ''}]}]})", "(400"),
        ("send(URL + '/models', key='guessed')", "(401"),
        ("send(URL + '/models', key='')", "(401"),
        ("send(URL + '/files')", "(404"),
        ("send(URL + '/../tools/../run.json')", "(404"),
        ("ask('x' * (33 << 20))", "(413"),
        ("ask('\\ud800')", "(200"),  # no text of UTF-8; the record can hold what became of it
    ],
)  # fmt: skip
def test_what_the_endpoint_refuses(code: str, says: str, tmp_path: Path) -> None:
    model = Model()
    said = outcome(f"{code}", tmp_path, model=model)
    assert said.startswith(says), said[:300]
    assert bool(model.asked) == (says == "(200")


def test_a_token_ends_with_its_call(tmp_path: Path) -> None:
    """Another sample's token, or that of an earlier call, reaches nothing."""
    code = "print(os.environ['AGENTGAUGE_MODEL_KEY'], URL)"

    async def run() -> tuple[int, str]:
        agent = ProgramAgent(program(code, tmp_path), TASKS, AgentLogs(tmp_path / "logs"), 2)
        token, url = (await agent(case(tmp_path, Model()), TASK)).reply.text.split()
        headers = {"Authorization": f"Bearer {token}"}
        async with aiohttp.ClientSession() as client, client.get(f"{url}/models", headers=headers) as answer:
            found = answer.status, await answer.text()
        await agent.close()
        return found

    status, said = asyncio.run(run())
    assert status == 401 and "not valid, or no longer valid" in said


def test_many_connections_use_up_no_files_of_the_run(tmp_path: Path) -> None:
    """With the usual soft limit of open files, the cases of other agents would break, and the run's own files too."""
    code = """
import socket
from urllib.parse import urlsplit
address = urlsplit(URL)
links = [socket.create_connection((address.hostname, address.port), timeout=5) for _ in range(150)]
ended = 0
for link in links:
    link.settimeout(0.01)
    try: ended += not link.recv(1)
    except TimeoutError: pass
    except ConnectionError: ended += 1
print(ended)
for link in links: link.close()
print(ask("abc")[0])
"""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (160, hard))
    try:
        said = solve(code, tmp_path)[0].reply.text
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert said == "0\n200"  # further ones wait, and are answered once others have ended


DAEMON = """
import subprocess
subprocess.Popen(["sleep", "86399.25"], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
if os.fork() == 0:
    os.setsid()
    os.execvp("sleep", ["sleep", "86399.75"])
print("done")
"""


def test_processes_that_leave_the_session_end_too(tmp_path: Path) -> None:
    assert solve(DAEMON, tmp_path)[0].reply.text == "done"
    running = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if os.access(path, os.R_OK)]
    assert not [line for line in running if b"86399" in line]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("while True: print('x' * 100_000)", "it printed"),
        ("import time; time.sleep(60)", "ran longer than 1 s"),
        ("block = [bytearray(1 << 20) for _ in range(4096)]", "memory"),
        ("with open('big', 'wb') as file:\n    while True: file.write(b'x' * (1 << 20))", ""),
    ],
)
def test_limits_end_it_and_count_as_no_answer(code: str, says: str, tmp_path: Path) -> None:
    """Without a wrong word about the run: the case is answered, with nothing."""
    seconds = 1 if "sleep" in code else 20
    answer, _ = solve(f"print('so far')\n{code}", tmp_path, seconds=seconds, memory_mb=256)
    assert answer.reply.text == ""
    assert says in (tmp_path / "logs" / NAME / "0-a1.log").read_text()
