"""Helper processes: started behind a socket that is there before them, at once or when somebody asks; and what a run
does without one."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.run import services
from agentgauge.run.services import Service
from tests.model.fault_server import FaultServer
from tests.plugin.conftest import say, slow
from tests.plugin.project import ROOT, Project, records

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

    def service(seconds: float = 0.0, how: str = "works", *, on_demand: bool = False) -> Service:
        command = [sys.executable, "-c", SERVER, str(seconds), how]
        made.append(Service("greeter", command, tmp_path / "greeter.log", on_demand=on_demand))
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


def test_a_service_on_demand_is_started_by_the_first_who_asks(make) -> None:
    service = make(on_demand=True)
    service.spawn()
    service.ready()  # nothing to wait for
    time.sleep(0.1)
    assert service.pid is None
    assert greeting(service) == b"hello"
    assert service.pid


def test_a_service_on_demand_that_nobody_asks_is_never_started_and_ends_at_once(make, tmp_path) -> None:
    service = make(on_demand=True)
    service.spawn()
    service.stop()
    assert service.pid is None
    assert not (tmp_path / "greeter.log").exists()
    with pytest.raises(OSError, match="refused"):
        greeting(service)


@pytest.mark.parametrize("on_demand", [False, True], ids=["at once", "on demand"])
def test_who_waits_for_a_service_that_fails_is_told_so_and_nobody_hangs(make, on_demand) -> None:
    service, told = make(0.2, "fails", on_demand=on_demand), []
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
    for on_demand in (False, True):
        service, told = Service("ghost", ["/nowhere/ghost"], tmp_path / "ghost.log", on_demand=on_demand), []
        if on_demand:
            service.spawn(told.append)
            with pytest.raises(OSError, match=r"reset|closed|refused"):
                greeting(service)
            assert "cannot be started" in str(told[0])
            service.stop()
        else:
            with pytest.raises(UsageProblem, match=r"the ghost cannot be started: .*No such file"):
                service.spawn(told.append)
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
from agentgauge.core.capabilities import RealTools

class Needs(Toy, RealTools):
    def tools_of(self, index, row):
        return ()
    def check_tools(self, names, config, *, scoring, allow_unsafe, server):
        return {}
    def tool_server(self, config, *, scoring, allow_unsafe):
        return [sys.executable, "-c", TOOLS]
    def toolbox(self, url):
        from tool_impls.server.client import ToolServerBox
        return ToolServerBox(url)

announce(Needs())
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
