"""Workers as forks: what each must have of its own, and when they are started afresh."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin.project import Project

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forks on Linux only")

TELLS = """
import os, sys
AT_IMPORT = os.environ.get("PYTEST_XDIST_WORKER", "controller")

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        os.environ["SAID_LATE"] = "by the controller"

def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        forked = "agentgauge.pytest_plugin.forks" in sys.modules
        told = [AT_IMPORT, session.config.workerinput["workerid"], forked, os.getppid(), os.environ.get("SAID_LATE"), __name__]
        open(f"told-{AT_IMPORT}-{os.getpid()}", "w").write(repr(told))
        print("words of a worker", file=sys.stderr)
"""


@pytest.fixture
def telling(project: Project) -> Project:
    with (project.path / "conftest.py").open("a") as stream:
        stream.write(TELLS)
    return project


def told(project: Project) -> list[list[object]]:
    return sorted((eval(file.read_text()) for file in project.path.glob("told-*")), key=str)


def test_each_worker_is_a_fork_that_has_imported_the_projects_modules_itself(telling, model):
    result = telling.run(*model, "--tx", "2*popen", "--dist", "load", "--run-dir", "run")
    assert result.status == 0, result.output
    assert [(at_import, worker, forked) for at_import, worker, forked, *_ in told(telling)] == [
        ("gw0", "gw0", True),
        ("gw1", "gw1", True),
    ]
    assert {late for *_, late, _ in told(telling)} == {"by the controller"}
    assert result.output.count("words of a worker") == 2


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        ("", ("--tx", f"2*popen//python={sys.executable}")),
        (
            "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n",
            ("--tx", "2*popen"),
        ),
        ("import sys\nsys.settrace(lambda *_: None)\n", ("--tx", "2*popen")),
        ("import logging\nlogging.basicConfig(level=logging.INFO)\n", ("--tx", "2*popen")),
        ("import tempfile\nPLACE = tempfile.TemporaryDirectory()\n", ("--tx", "2*popen")),
        ("JOURNALS = {'first': [open('journal', 'w')]}\n", ("--tx", "2*popen")),
    ],
    ids=[
        "another Python is asked for",
        "a thread runs",
        "a debugger looks on",
        "logging is set up",
        "a folder is held",
        "a file is held",
    ],
)
def test_workers_are_started_afresh_where_a_fork_could_differ(telling, model, lines, options):
    with (telling.path / "conftest.py").open("a") as stream:
        stream.write(lines)
    result = telling.run(*model, *options, "--dist", "load", "--run-dir", "run")
    assert result.status == 0, result.output
    assert [(worker, forked) for _, worker, forked, *_ in told(telling)] == [("gw0", False), ("gw1", False)]
    assert result.summary("run")["tasks"]["toy.say"]["passed"] == 5


def test_forks_that_nobody_wants_end_with_the_first_process(telling, model):
    """A mistake that comes to light after they were made; a process beside them holds what they listen to."""
    with (telling.path / "conftest.py").open("a") as stream:
        stream.write(MISTAKE)
    result = telling.run(*model, "--tx", "2*popen", "--dist", "load", seconds=30)
    assert result.status == 4, result.output
    assert "a mistake of 2 forks" in result.output
    assert not told(telling)


MISTAKE = """
import pytest
@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        from agentgauge.pytest_plugin.forks import FORKS
        forks = config.stash[FORKS]._waiting
        if os.fork() == 0:
            import time
            held = sorted(stream.fileno() for fork in forks for stream in (fork.stdin, fork.stdout))
            for low, high in zip([-1, *held], [*held, 256]):
                os.closerange(low + 1, high)
            time.sleep(60)
            os._exit(0)
        raise pytest.UsageError(f"a mistake of {len(forks)} forks")
"""


def test_a_fork_that_somebody_ended_is_replaced_by_a_fresh_worker(telling, model):
    with (telling.path / "conftest.py").open("a") as stream:
        stream.write(ENDED)
    result = telling.run(*model, "--tx", "2*popen", "--dist", "load", "--run-dir", "run")
    assert result.status == 0, result.output
    assert [(worker, forked) for _, worker, forked, *_ in told(telling)] == [("gw0", True), ("gw1", False)]


ENDED = """
import signal, time
def pytest_sessionstart(session):
    if not hasattr(session.config, "workerinput"):
        from agentgauge.pytest_plugin.forks import FORKS
        fork = session.config.stash[FORKS]._waiting[0]
        os.kill(fork.pid, signal.SIGKILL)
        os.waitid(os.P_PID, fork.pid, os.WEXITED | os.WNOWAIT)
"""


def test_what_a_worker_leaves_to_its_end_is_done(telling, model):
    """A thread that still writes, a file that nobody has flushed, something to be called at the end; a child that
    nobody waits for."""
    (telling.path / "test_left.py").write_text(LEFT)
    result = telling.run(*model, "--tx", "2*popen", "--dist", "load", "--run-dir", "run", "-m", "not slow", seconds=30)
    assert result.status == 0, result.output
    assert sorted(file.name for file in telling.path.glob("left-*")) == ["left-called", "left-open", "left-thread"]
    assert (telling.path / "left-open").read_text() == "not flushed"


LEFT = """
import atexit, multiprocessing, pathlib, threading, time

def later():
    time.sleep(0.3)
    pathlib.Path("left-thread").touch()

def test_leaves_much():
    global FILE
    FILE = open("left-open", "w")
    FILE.write("not flushed")
    atexit.register(pathlib.Path("left-called").touch)
    threading.Thread(target=later).start()
    multiprocessing.Process(target=time.sleep, args=(60,), daemon=True).start()
"""


def test_a_fork_becomes_what_it_is_told_and_ends_as_a_process_does(tmp_path: Path) -> None:
    (tmp_path / "forks.py").write_text(SCRIPT)
    command = [sys.executable, str(tmp_path / "forks.py")]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env=Project(tmp_path).environment()
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "b\"heard 'one\\\\n'\\n\"",
        "b\"__main__ ['-c'] True\\n\"",
        "killed, and waited for twice",
        "afresh: Popen",
        "room for 256",
        "nobody is left",
    ]


SCRIPT = """
import os, sys
from subprocess import PIPE
from types import SimpleNamespace
from agentgauge.pytest_plugin.forks import Forks

def popen(*arguments):
    return forks.popen([sys.executable, *arguments], stdin=PIPE, stdout=PIPE)

forks = Forks(150)
for _ in range(5):
    forks.add(SimpleNamespace(option=SimpleNamespace()))

heard = popen("-u", "-c", "import sys; print('heard', repr(sys.stdin.readline()))")
heard.stdin.write(b"one\\n")
heard.stdin.close()
print(heard.stdout.read())
heard.wait()

alone = popen("-u", "-c", "import sys; print(__name__, sys.argv, 'forks' not in sys.modules)")
print(alone.stdout.read())
alone.wait()

sleeper = popen("-u", "-c", "import time; time.sleep(60)")
sleeper.kill()
sleeper.wait()
sleeper.wait()
sleeper.kill()
print("killed, and waited for twice")

table = popen("-u", "-c", "print('room for', *(line.split()[1] for line in open('/proc/self/status') if line.startswith('FDSize')))")
roomy = table.stdout.read().decode().strip()
table.wait()

fresh = popen("-c", "pass")
print("afresh:", type(fresh).__name__)
fresh.wait()

forks.close()
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    print(roomy)
    print("nobody is left")
"""
