"""Hostile programs: each fails for itself, within bounds, and a neighbour that runs at the same time is judged
rightly."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench_mmau.contests.execute import ExecutionLimits, ExecutionSettings, ProgramPool
from bench_mmau.contests.score import Candidate, start
from bench_mmau.fixes import STRICT

pytestmark = pytest.mark.slow

PROBLEM: dict[str, Any] = {
    "id": "sq",
    "public_tests": {"input": ["5\n"], "output": ["25\n"]},
    "private_tests": {"input": ["6"], "output": ["36"]},
}
ONE_GROUP = {"id": "sq", "public_tests": {"input": ["5\n", "6\n"], "output": ["25\n", "36\n"]}}
SQUARE = "n = int(input())\nprint(n * n)\n"
BOUND = 45.0  # seconds; an idle machine needs a few

LIBC = "import ctypes, os, sys, time\nlibc = ctypes.CDLL(None)\n"

PROGRAMS = {
    "endless loop": (
        """
while True:
    pass
"""
    ),
    "endless loop that swallows": (
        """
while True:
    try:
        while True:
            pass
    except:
        pass
"""
    ),
    "endless wait": (
        """
import time
while True:
    try:
        time.sleep(1000)
    except:
        pass
"""
    ),
    "endless loop with deaf ears": (
        """
import signal, time
for n in range(1, 65):
    try:
        signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    pass
"""
    ),
    "fork bomb": LIBC
    + """
while True:
    libc.fork()
""",
    "thread bomb": (
        """
import threading, time
while True:
    threading.Thread(target=time.sleep, args=(1000,)).start()
"""
    ),
    "10 GB at once": "x = bytearray(10 << 30)",
    "10 GB bit by bit": (
        """
x = []
while True:
    x.append(bytearray(1 << 24))
"""
    ),
    "1 GB of output": (
        """
for _ in range(1000):
    print('x' * 1000000)
"""
    ),
    "1 GB past the stream": (
        """
import os
for _ in range(1000):
    os.write(1, b'x' * 1000000)
    os.write(2, b'x' * 1000000)
"""
    ),
    "1 GB into every descriptor": (
        """
import os
for _ in range(1000):
    for fd in range(1, 12):
        try:
            os.write(fd, b'x' * 1000000)
        except OSError:
            pass
"""
    ),
    "killing the parent": LIBC
    + """
for pid in (os.getppid(), 1, -1, 0):
    libc.kill(pid, 9)
print(-1)
""",
    "killing the neighbours": LIBC
    + """
for pid in range(1, 40000):
    if pid != os.getpid():
        libc.kill(pid, 9)
print(-1)
""",
    "endless recursion": (
        """
import sys
sys.setrecursionlimit(10 ** 9)
def f(n):
    return f(n + 1) + 1
f(0)
"""
    ),
    "endless recursion in C": (
        """
import sys
sys.setrecursionlimit(10 ** 9)
class A:
    def __repr__(self):
        return repr(self)
repr(A())
"""
    ),
    "a million files": (
        """
for n in range(1000000):
    open(str(n), 'w').close()
"""
    ),
    "a file of 10 GB": (
        """
with open('big', 'wb') as f:
    for _ in range(10000):
        f.write(bytes(1 << 20))
"""
    ),
    "a deep folder": LIBC
    + """
while libc.mkdir(b'd', 0o777) == 0:
    libc.chdir(b'd')
raise ValueError
""",
    "leaving early": (
        """
import os
os._exit(0)
"""
    ),
    "crash": LIBC + "ctypes.string_at(0)",
    "guessed verdict": (
        """
import os
for fd in range(1, 12):
    try:
        os.write(fd, b'{"results": [["passed", "25"], ["passed", "36"]], "fired": false}')
    except OSError:
        pass
os._exit(0)
"""
    ),
    "forged answers": (
        """
import sys
frame, found, channel = sys._getframe(), None, None
while frame:
    found, channel = frame.f_locals.get('order', found), frame.f_locals.get('channel', channel)
    frame = frame.f_back
assert found and not [key for key in found if 'output' in key or 'expected' in key]
for _ in range(2):
    channel.answer(b'["passed", "right", false]')
"""
    ),
    "an absurd answer": (
        """
import os
for fd in range(3, 12):
    try:
        os.write(fd, b'\\xff' * 8)
    except OSError:
        pass
"""
    ),
    "broken tools": (
        """
import json, os, sys
json.dumps = json.JSONEncoder.encode = os.write = os._exit = None
sys.stdout.close()
"""
    ),
}


@pytest.fixture
def where(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExecutionSettings]:
    """Where programs run, with slots of its own, more than work of others keeps busy: a late program runs once more
    only if it has a neighbour. Afterwards no file of theirs and no process in their folders is left."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("slots")))
    tmp_path_factory.getbasetemp()  # which is made once, and not in a folder of this fixture's
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        pool = ProgramPool(64)
        yield ExecutionSettings(
            ExecutionLimits(0.5, 1, replace(ExecutionLimits().resources, memory_bytes=1 << 28, disk_bytes=32 << 20)),
            pool,
        )
        pool.close()
        assert list(Path(folder).iterdir()) == []
        assert _processes_in(folder) == []


def _processes_in(folder: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if str((process / "cwd").readlink()).startswith(folder):
                found.append((process / "cmdline").read_text())
    return found


def _beside_neighbour(code: str, where: ExecutionSettings) -> Candidate:
    began = time.monotonic()
    hostile = start(code, ONE_GROUP, where)
    neighbour = start(SQUARE, PROBLEM, where)
    good, found = neighbour(), hostile()
    assert time.monotonic() - began < BOUND
    assert good == Candidate(True, 1.0, [])
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_hostile_program_fails_alone(name: str, where: ExecutionSettings) -> None:
    found = _beside_neighbour(PROGRAMS[name], where)
    assert not found.passed
    assert found.score == 0


OFF = """
import ctypes, os, signal, time
for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
    signal.setitimer(timer, 0)
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
libc = ctypes.CDLL(None)
def burn(seconds):
    began = time.process_time()
    while time.process_time() < began + seconds:
        pass
n = int(input())
WORK
print(n * n)
"""
SLOW = {
    "a wait": "time.sleep(4)",
    "a wait with some work": "for _ in range(80): burn(0.015); time.sleep(0.1)",
    "children that wait": "for _ in range(4):\n    if libc.fork() == 0: time.sleep(8); os._exit(0)\ntime.sleep(8)",
    "children that work": (
        "for _ in range(4):\n    if libc.fork() == 0: burn(0.9); os._exit(0)\nfor _ in range(4): libc.wait(None)"
    ),
    "children that nobody waits for": (
        "for _ in range(60):\n    if libc.fork() == 0: burn(0.1); os._exit(0)\n    time.sleep(0.1)"
    ),
    "threads that wait": "import threading\nt = threading.Thread(target=time.sleep, args=(8,)); t.start(); t.join()",
    "a wait for a child": "pid = libc.fork()\nif pid == 0: time.sleep(8); os._exit(0)\nlibc.waitpid(pid, None, 0)",
}


@pytest.mark.parametrize("name", SLOW)
def test_no_program_gets_more_time(name: str, where: ExecutionSettings) -> None:
    """All timers and signals are put away; the limit is 1 s for the group. What is right comes too late."""
    began = time.monotonic()
    found = start(OFF.replace("WORK", SLOW[name]), ONE_GROUP, where)()
    assert (found.passed, found.score, found.lost) == (False, 0.0, ("the time for the group of tests was over",))
    assert time.monotonic() - began < 20  # which leaves room for a busy machine; it takes 2 s on an idle one


def test_under_strict_each_test_has_its_time(where: ExecutionSettings) -> None:
    """Half a second a test: a wait that the program's own timer does not end is seen from outside, and the other test
    still counts."""
    code = OFF.replace("WORK", "if n == 5: time.sleep(0.9)")
    found = start(code, ONE_GROUP, where, STRICT)()
    assert (found.passed, found.score) == (False, 0.5)
    assert found.errors == [{"status": "runtime_error", "test_input": "5\n", "error_message": "timeout"}]


def test_time_is_not_saved_up_for_another_test(where: ExecutionSettings) -> None:
    """The next input comes when the test before is answered, so work for a test cannot be done in the time of
    another."""
    code = "import sys, select\nprint(25 if not select.select([3, 4], [], [], 0.15)[0] else 0)"
    found = start(code, {"id": "sq", "public_tests": {"input": ["5\n", "6\n"], "output": ["25\n", "25\n"]}}, where)()
    assert found.passed, found


def test_no_network(where: ExecutionSettings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        port = server.getsockname()[1]
        found = _beside_neighbour(
            f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 1)\nn = int(input())\nprint(n * n)", where
        )
        with pytest.raises(TimeoutError):
            server.accept()
    assert found.score == 0


def test_no_files_and_no_environment_of_the_host(
    where: ExecutionSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret", encoding="utf-8")
    monkeypatch.setenv("OPENAI_API_KEY", "the secret")
    places = [str(secret), __file__, "/proc/1/environ", "/etc/passwd", "/root", "/home"]
    code = (
        f"import os\nfor place in {places!r}:\n    try:\n        print(open(place).read())\n    except OSError:\n      "
        "  pass\n    try:\n        print(os.listdir(place))\n    except OSError:\n       "
        " pass\nprint(os.environ.get('OPENAI_API_KEY'))"
    )
    found = _beside_neighbour(code, where)
    assert isinstance(found.errors, list)
    assert [error.get("code_output", "").strip() for error in found.errors] == ["None", "None"]


def test_a_process_in_the_background_ends_with_its_program(where: ExecutionSettings) -> None:
    mark = f"mark-{uuid.uuid4().hex}"
    code = (
        LIBC + "if libc.fork() == 0:\n    os.setsid()\n"
        f"    os.execv(sys.executable, [sys.executable, '-I', '-S', '-c', 'import time; time.sleep(1000)', '{mark}'])\n"
        "time.sleep(0.3)\nprint(0)"
    )
    seen = threading.Event()
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            if _with_mark(mark):
                seen.set()
            time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    found = _beside_neighbour(code, where)
    done.set()
    watcher.join()
    assert found.score == 0
    assert seen.is_set()  # it did run, else this test shows nothing
    assert _with_mark(mark) == []


def _with_mark(mark: str) -> list[str]:
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0") if name.isdigit() else []
            if mark.encode() in words:
                found.append(name)
    return found
