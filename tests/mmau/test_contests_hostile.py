"""Hostile programs: each fails for itself, within bounds, and a neighbour that runs at the same time is judged rightly."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench_mmau.contests.candidate import Candidate, start
from bench_mmau.contests.execute import Room, Workplace
from bench_mmau.contests.pool import Pool

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
    "endless loop": """
while True:
    pass
""",
    "endless loop that swallows": """
while True:
    try:
        while True:
            pass
    except:
        pass
""",
    "endless wait": """
import time
while True:
    try:
        time.sleep(1000)
    except:
        pass
""",
    "endless loop with deaf ears": """
import signal, time
for n in range(1, 65):
    try:
        signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    pass
""",
    "fork bomb": LIBC
    + """
while True:
    libc.fork()
""",
    "thread bomb": """
import threading, time
while True:
    threading.Thread(target=time.sleep, args=(1000,)).start()
""",
    "10 GB at once": "x = bytearray(10 << 30)",
    "10 GB bit by bit": """
x = []
while True:
    x.append(bytearray(1 << 24))
""",
    "1 GB of output": """
for _ in range(1000):
    print('x' * 1000000)
""",
    "1 GB past the stream": """
import os
for _ in range(1000):
    os.write(1, b'x' * 1000000)
    os.write(2, b'x' * 1000000)
""",
    "1 GB into every descriptor": """
import os
for _ in range(1000):
    for fd in range(1, 12):
        try:
            os.write(fd, b'x' * 1000000)
        except OSError:
            pass
""",
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
    "endless recursion": """
import sys
sys.setrecursionlimit(10 ** 9)
def f(n):
    return f(n + 1) + 1
f(0)
""",
    "endless recursion in C": """
import sys
sys.setrecursionlimit(10 ** 9)
class A:
    def __repr__(self):
        return repr(self)
repr(A())
""",
    "a million files": """
for n in range(1000000):
    open(str(n), 'w').close()
""",
    "a file of 10 GB": """
with open('big', 'wb') as f:
    for _ in range(10000):
        f.write(bytes(1 << 20))
""",
    "a deep folder": LIBC
    + """
while libc.mkdir(b'd', 0o777) == 0:
    libc.chdir(b'd')
raise ValueError
""",
    "leaving early": """
import os
os._exit(0)
""",
    "crash": LIBC + "ctypes.string_at(0)",
    "guessed verdict": """
import os
for fd in range(1, 12):
    try:
        os.write(fd, b'{"results": [["passed", "25"], ["passed", "36"]], "fired": false}')
    except OSError:
        pass
os._exit(0)
""",
    "stolen token": """
import sys, os
frame, found = sys._getframe(), None
while frame:
    found = frame.f_locals.get('order', found)
    frame = frame.f_back
assert found and not [key for key in found if 'output' in key or 'expected' in key]
os.write(3, (found['token'] + '{"results": [["passed", "right"], ["passed", "also"]], "fired": false}').encode())
os._exit(0)
""",
    "broken tools": """
import json, os, sys
json.dumps = json.JSONEncoder.encode = os.write = os._exit = None
sys.stdout.close()
""",
}


@pytest.fixture
def where(monkeypatch: pytest.MonkeyPatch) -> Iterator[Workplace]:
    """Where programs run; afterwards no file of theirs and no process in their folders is left."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        pool = Pool(2)
        yield Workplace(Room(test_seconds=1, group_seconds=2, memory_bytes=1 << 28, disk_bytes=32 << 20), pool)
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


def _beside_neighbour(code: str, where: Workplace) -> Candidate:
    began = time.monotonic()
    hostile = start(code, ONE_GROUP, where)
    neighbour = start(SQUARE, PROBLEM, where)
    good, found = neighbour.finish(), hostile.finish()
    assert time.monotonic() - began < BOUND
    assert good == Candidate(True, 1.0, [])
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_hostile_program_fails_alone(name: str, where: Workplace) -> None:
    found = _beside_neighbour(PROGRAMS[name], where)
    assert not found.passed
    assert found.score == 0


def test_no_network(where: Workplace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        port = server.getsockname()[1]
        found = _beside_neighbour(
            f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 1)\nn = int(input())\nprint(n * n)", where
        )
        with pytest.raises(TimeoutError):
            server.accept()
    assert found.score == 0


def test_no_files_and_no_environment_of_the_host(where: Workplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret", encoding="utf-8")
    monkeypatch.setenv("OPENAI_API_KEY", "the secret")
    places = [str(secret), __file__, "/proc/1/environ", "/etc/passwd", "/root", "/home"]
    code = (
        f"import os\nfor place in {places!r}:\n    try:\n        print(open(place).read())\n    except OSError:\n        pass\n"
        "    try:\n        print(os.listdir(place))\n    except OSError:\n        pass\nprint(os.environ.get('OPENAI_API_KEY'))"
    )
    found = _beside_neighbour(code, where)
    assert isinstance(found.errors, list)
    assert [error.get("code_output", "").strip() for error in found.errors] == ["None", "None"]


def test_a_process_in_the_background_ends_with_its_program(where: Workplace) -> None:
    mark = f"mark-{uuid.uuid4().hex}"
    code = LIBC + (
        "if libc.fork() == 0:\n    os.setsid()\n"
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
