"""Helper processes of a run: tool servers above all."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentgauge.core.errors import ToolFault, UsageProblem
from agentgauge.core.processes import TOOL_TOKEN
from agentgauge.run import services
from agentgauge.run.run_services import PendingToolBox
from agentgauge.run.services import Service
from tests.model.fault_server import FaultServer
from tests.plugin.conftest import say, slow
from tests.plugin.project import PYTEST, ROOT, Project, python, records, run_gta, start_gta, summary, without_times

# -- Helper processes: started behind a socket that is there before them; and what a run does without one.


SERVER = """
import json, sys, time
from agentgauge.core.processes import end_with_parent, given_listener
end_with_parent()
listener = given_listener()
time.sleep(float(sys.argv[1]))
if sys.argv[2] == "fails":
    sys.exit("no licence")
print(json.dumps({"url": "http://127.0.0.1:%d" % (listener.getsockname()[1] + (sys.argv[2] == "elsewhere"))}), flush=True)
while True:
    connection, _ = listener.accept()
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\nConnection: close\\r\\n\\r\\nhello")
    connection.close()
"""  # noqa: E501


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Service]]:
    """A service that takes some seconds to come up, and then works, fails or listens elsewhere."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    made: list[Service] = []

    def service(seconds: float = 0.0, how: str = "works") -> Service:
        command = [sys.executable, "-c", SERVER, str(seconds), how]
        made.append(Service("greeter", command, tmp_path / "greeter.log"))
        return made[-1]

    yield service
    for one in made:
        one.stop()


def greeting(service: Service) -> bytes:
    with urllib.request.urlopen(service.url, timeout=30) as answer:
        return bytes(answer.read())


def test_who_asks_before_a_service_is_there_is_answered_once_it_is(make) -> None:
    service = make(0.3)
    service.spawn()
    assert greeting(service) == b"hello"
    service.ready()


def test_who_waits_for_a_service_that_fails_is_told_so_and_nobody_hangs(make) -> None:
    service, told = make(0.2, "fails"), []
    service.spawn(told.append)
    with pytest.raises(OSError, match=r"reset|closed|refused"):
        greeting(service)
    with pytest.raises(UsageProblem, match=r"the greeter did not start \(status 1\): no licence"):
        service.ready()
    assert [str(problem) for problem in told] == ["the greeter did not start (status 1): no licence"]


def test_a_service_that_listens_elsewhere_is_ended(make) -> None:
    with pytest.raises(UsageProblem, match=r"the greeter listens at http://127.0.0.1:\d+ instead of the socket"):
        make(how="elsewhere").start()


def test_a_service_that_is_stopped_while_it_starts_ends_and_is_no_problem(make) -> None:
    service, told = make(30.0), []
    service.spawn(told.append)
    waiting = threading.Thread(target=service.ready)
    waiting.start()
    service.stop()
    waiting.join(30)
    assert not waiting.is_alive()
    assert not told


def test_a_service_that_is_told_to_end_does_so_before_anyone_waits_for_it(make) -> None:
    service = make()
    service.start()
    pid, last = service.pid, time.monotonic() + 20
    service.tell_to_end()
    while (there := Path(f"/proc/{pid}").exists()) and time.monotonic() < last:  # gone once its watcher has taken note
        time.sleep(0.01)
    assert not there
    assert service.restarts == 0


def test_a_service_that_dies_again_and_again_is_given_up_and_told(make) -> None:
    service, told = make(), []
    service.spawn(told.append)
    service.ready()
    seen = []
    for _ in range(4):
        assert greeting(service) == b"hello"
        assert service.pid
        seen.append(service.pid)
        os.kill(seen[-1], signal.SIGKILL)
        deadline = time.monotonic() + 30
        while (
            not told and service.pid in seen and time.monotonic() < deadline
        ):  # it may still take a connection with it
            time.sleep(0.01)
    assert [str(problem).partition(":")[0] for problem in told] == ["the greeter ended 4 times"]
    with pytest.raises(OSError, match=r"reset|closed|refused"):
        greeting(service)


def test_a_service_whose_program_is_not_there_is_a_problem_and_leaves_nothing_open(tmp_path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(UsageProblem, match=r"the ghost cannot be started: .*No such file"):
        Service("ghost", ["/nowhere/ghost"], tmp_path / "ghost.log").spawn()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


NEEDS_TOOLS = """
import sys

TOOLS = '''
import json, os, sys, time
from agentgauge.core.processes import end_with_parent, given_listener
end_with_parent()
if os.path.exists("mended"):
    print(json.dumps({"url": "http://127.0.0.1:%d" % given_listener().getsockname()[1]}), flush=True)
    time.sleep(600)
time.sleep(float(os.environ["LATE"]))
sys.exit("no licence")
'''
from agentgauge.core.task import RealTools

class Needs(RealTools):
    def tools_of(self, index, row):
        return ()
    def check_tools(self, names, config, *, scoring, allow_unsafe, server):
        return {}
    def tool_server(self, config, *, scoring, allow_unsafe):
        return [sys.executable, "-c", TOOLS]
    def toolbox(self, url):
        from tool_impls.server.client import ToolServerBox
        return ToolServerBox(url)

NEEDS = toy(tools=Needs())
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_a_run_whose_tool_server_does_not_start_is_stopped_with_its_last_words_and_can_be_resumed(tmp_path, workers):
    """Cases that need no tool yet have begun by then; what they have paid for is kept."""
    project = Project.make(tmp_path / "project", samples=100)
    with (project.path / "conftest.py").open("a") as stream:
        stream.write(NEEDS_TOOLS)

    with FaultServer(choose=slow(0.05)) as endpoint:
        options = ("--model", "m", "--model-url", endpoint.url, "--in-flight", "4", "--run-dir", "run")
        result = project.run(*options, *workers, env={"LATE": "0.5"})
        assert result.status == 4, result.output
        assert (
            "stopped early: the tool server did not start (status 1): no licence; continue with --resume="
            in result.output
        )
        kept = len(records(project.path / "run"))
        assert 0 < kept < 100
        (project.path / "mended").write_text("")
        endpoint.choose = say
        resumed = project.run("--model-url", endpoint.url, "--resume", "run", "--in-flight", "32")
        assert resumed.status == 0, resumed.output
        assert len(records(project.path / "run")) == 100
        assert len(endpoint.requests) <= 100 + 2 * 4


ORDER = """
from agentgauge.run import services
from agentgauge.run.services import Service
from agentgauge.store import RunFolder
def spied(where, name):
    done = getattr(where, name)
    def told(*arguments):
        with open("order", "a") as file:
            print(name, file=file)
        return done(*arguments)
    setattr(where, name, told)
for where, name in ((Service, "tell_to_end"), (Service, "stop"), (RunFolder, "merge_records")):
    spied(where, name)
"""


def test_services_end_while_a_run_is_summed_up(tmp_path):
    project = Project.make(tmp_path / "project")
    with (project.path / "conftest.py").open("a") as stream:
        stream.write(NEEDS_TOOLS + ORDER)
    (project.path / "mended").write_text("")
    with FaultServer(choose=say) as endpoint:
        result = project.run("--model", "m", "--model-url", endpoint.url, "--run-dir", "run")
    assert result.status == 0, result.output
    done = list(dict.fromkeys((project.path / "order").read_text().splitlines()))
    assert done == ["tell_to_end", "merge_records", "stop"]


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_a_tool_server_that_fails_at_once_costs_few_requests(tmp_path, workers):
    """It may end while the run is still being prepared."""
    project = Project.make(tmp_path / "project", samples=400)
    with (project.path / "conftest.py").open("a") as stream:
        stream.write(NEEDS_TOOLS.replace("import json, os, sys, time", "import os, sys; os._exit(3)"))
    with FaultServer(choose=slow(0.05)) as endpoint:
        result = project.run(
            "--model", "m", "--model-url", endpoint.url, "--in-flight", "4", "--run-dir", "run", *workers
        )
        assert result.status == 4, result.output
        assert "the tool server did not start (status 3)" in result.output
        assert len(endpoint.requests) <= 100


CHATTY = """
import json, sys
from agentgauge.core.processes import given_listener
listener = given_listener()
for number in range(2000):
    print(f"line {number:06d} " + "x" * 40, file=sys.stderr)
print(json.dumps({"url": "http://127.0.0.1:%d" % listener.getsockname()[1]}), flush=True)
listener.accept()
"""


def test_the_log_of_a_service_keeps_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MOST_LOG", 10_000)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    service = Service("chatty", [sys.executable, "-c", CHATTY], tmp_path / "chatty.log")
    service.start()
    service.stop()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["chatty.log", "chatty.log.1"]
    kept = [(tmp_path / name).read_text() for name in ("chatty.log.1", "chatty.log")]
    assert all(len(text) < 10_100 for text in kept)
    numbers = [int(line.split()[1]) for line in "".join(kept).splitlines()]
    assert numbers == list(range(numbers[0], 2000))


# -- The tool server of a run: killed in the middle, unusable, or not ours.


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
    server = wait_for(lambda: child_running(process.pid, "tool_impls.server.command"))
    wait_for(lambda: (tmp_path / "run" / "services.json").exists())
    process.kill()
    process.communicate()
    assert wait_for(lambda: not (Path(f"/proc/{server}/cmdline").exists() and alive(server)), seconds=15)


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
    assert "tools on cuda:0 (NVIDIA L4): Calculator" in run_gta(*resume, cwd=tmp_path).output

    calculator["version"] = 99
    (tmp_path / "run" / "run.json").write_text(json.dumps(about))
    result = run_gta(*resume, cwd=tmp_path, status=4)
    assert "run: that run had another Calculator" in result.output


# -- Tasks bring the command of their tool server along: each gets the tools of its own.


CONFTEST = """
import sys
import urllib.request
from pathlib import Path
from agentgauge.core.task import RealTools
from agentgauge.core.tools import ToolOutput
from tests.plugin.toy import toy

class Box:
    def __init__(self, url):
        self.url = url
    async def catalog(self):
        return {}
    async def call(self, name, arguments, *, folder, readable):
        return (ToolOutput("text", urllib.request.urlopen(self.url, timeout=20).read().decode()),)
    async def close(self):
        pass

async def run(case):
    (said,) = await case.use("Say", {})
    return {"answer": said.content}

class Served(RealTools):
    def __init__(self, word):
        self.word = word
    def tools_of(self, index, row):
        return ("Say",)
    def check_tools(self, names, config, *, scoring, allow_unsafe, server):
        return {}
    def tool_server(self, config, *, scoring, allow_unsafe):
        return [sys.executable, str(Path(__file__).with_name("server.py")), self.word]
    def toolbox(self, url):
        return Box(url)

WORDS = {"toy.one": "good", "bad.two": "bad", "toy.three": "good"}
TASKS = [toy(name=name, run=run, tools=Served(word)) for name, word in WORDS.items()]
"""

SERVER_TOOL_SERVERS = """
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from agentgauge.core.processes import end_with_parent, given_listener

class Say(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(sys.argv[1].encode())

end_with_parent()
server = HTTPServer(("127.0.0.1", 0), Say, bind_and_activate=False)
server.socket = given_listener()
print(json.dumps({"url": "http://%s:%d" % server.socket.getsockname()}), flush=True)
server.serve_forever()
"""

CASES = """
import json
from pathlib import Path
from agentgauge import benchmark_task

@benchmark_task("toy.one")
def test_one(outcome):
    outcome.check()

@benchmark_task("bad.two")
def test_two(outcome):
    outcome.check()

@benchmark_task("toy.three")
def test_three(outcome):
    outcome.check()

def test_of_the_project(tool_server):
    assert tool_server.url == json.loads(Path("run/services.json").read_text())["tools of tests.tools"]
"""


def test_each_task_has_the_tools_of_its_own_server(project: Project) -> None:
    (project.path / "conftest.py").write_text(CONFTEST)
    (project.path / "server.py").write_text(SERVER_TOOL_SERVERS)
    (project.path / "test_toy.py").write_text(CASES)
    project.run("--model=baseline", "--limit=2", "--run-dir=run")
    run = project.path / "run"
    found = {(one["task"], one["transcript"]["output"].get("answer", one["status"])) for one in records(run)}
    assert found == {("toy.one", "good"), ("bad.two", "bad"), ("toy.three", "good"), ("tests.tools", "passed")}
    addresses = json.loads((run / "services.json").read_text())
    assert addresses["tools of toy.one"] == addresses["tools of toy.three"]
    assert len({addresses[f"tools of {task}"] for task in ("toy.one", "bad.two", "tests.tools")}) == 3


# -- The token of a tool server in a run: made for its own server, taken from the address of another, stored
# nowhere.


RUN_TOOL_TOKEN = ("-m", "gta_atomic_e2e", "--model", "oracle", "-k", "10 or 33")  # whose tools load nothing heavy


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
    process = start_gta(*RUN_TOOL_TOKEN, "--in-flight", "1", "--run-dir", "run", *workers, cwd=tmp_path)
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
            refused = run_gta(*RUN_TOOL_TOKEN, "--tool-server", plain, "--run-dir", "refused", cwd=tmp_path, status=4)
            assert f"--tool-server {plain} requires a token; give the one that it printed" in refused.output
            address = plain.replace("http://", f"http://:{token}@")
            result = run_gta(*RUN_TOOL_TOKEN, "--tool-server", address, "--run-dir", "run", *workers, cwd=tmp_path)
        finally:
            server.terminate()
    assert summary(tmp_path / "run")["tasks"]["gta_atomic.e2e"]["passed"] > 0
    assert token not in result.output and files_with(token, tmp_path) == []


# -- A tool box whose server is not there yet: one case waits for it, and the others are not begun.


class Late:
    """A box that answers when the test lets it."""

    def __init__(self, problem: Exception | None) -> None:
        self.problem = problem
        self.there = asyncio.Event()

    async def catalog(self):
        await self.there.wait()
        if self.problem:
            raise self.problem
        return {}


@pytest.mark.parametrize("problem", [None, ToolFault("it is gone", cause="tool server")])
def test_one_case_waits_and_then_all_are_let_in(problem):
    async def scene():
        box, told = Late(problem), []
        arriving = PendingToolBox(box, lambda: told.append((arriving.waiting, arriving.takes_more)))
        assert arriving.takes_more
        first = asyncio.create_task(arriving.catalog())
        await asyncio.sleep(0)
        box.there.set()
        found = await asyncio.gather(first, return_exceptions=True)
        return found, told

    found, told = asyncio.run(scene())
    assert found == [problem or {}]
    assert told == [(1, False), (0, True)]
