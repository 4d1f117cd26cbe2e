"""Code that means harm does none and gets a clear answer in time: as root and as an ordinary user, with every layer and
on machines (played by refusing layers) that lack some."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from .conftest import SECRET, Confined

LAYERS = {
    "all": (),
    "prepared": (),
    "no-landlock": ("landlock", "seccomp"),
    "no-namespaces": ("namespaces",),
}


class Case(NamedTuple):
    """A piece of hostile code and what must come of it."""

    code: str
    statuses: tuple[str, ...]
    says: str = ""  # in the reason or on standard error
    limits: Mapping[str, Any] = MappingProxyType({})
    seconds: float = 6.0  # the whole run may take this long


FORKS = """
import os, time
while True:
    try:
        if os.fork() == 0:
            with open("forks", "a") as file:
                file.write("x")
    except OSError:
        time.sleep(0.01)
"""
DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        for fd in (0, 1, 2):
            os.close(fd)
        while True:
            with open("beat", "a") as file:
                file.write("x")
            time.sleep(0.02)
    os._exit(0)
while not os.path.exists("beat"):
    time.sleep(0.01)
"""
MANY_LARGE = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        x = bytearray(b'x') * (100 << 20)
        time.sleep(60)
time.sleep(60)
"""
SENDS = """
import socket
s = socket.socket(socket.AF_INET, socket.KIND)
s.connect(('127.0.0.1', PORT))
s.send(b'out')
print('sent')
"""
CASES = {
    "reads /etc/passwd": Case("print(open('/etc/passwd').read())", ("error",), "/etc/passwd"),
    "lists the root folder's homes": Case(
        "import os; print(os.listdir('/root'), os.listdir('/home'))", ("error",), "Error"
    ),
    "writes beside its folder": Case("open('../beside', 'w').write('x')", ("error",), "Error"),
    "links to a file outside": Case(
        "import os; os.symlink('/etc/passwd', 'link'); print(open('link').read())", ("error",), "Error"
    ),
    "forks without end": Case(FORKS, ("timeout", "error"), limits={"wall_seconds": 0.6}),
    "starts threads without end": Case(
        "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
        ("error",),
        "can't start new thread",
    ),
    "allocates 8 GB": Case("x = bytearray(8 << 30)", ("memory",), "1024 MiB"),
    "allocates in many processes": Case(MANY_LARGE, ("memory",), "256 MiB", {"memory_bytes": 256 << 20}),
    "ignores SIGTERM": Case(
        "import signal\nfor n in range(1, 32):\n    if n not in (9, 19): signal.signal(n, signal.SIG_IGN)\nwhile True:"
        " pass",
        ("timeout",),
        "longer than 0.6 s",
        {"wall_seconds": 0.6},
        4,
    ),
    "sleeps": Case("import time; time.sleep(600)", ("timeout",), "longer than 0.6 s", {"wall_seconds": 0.6}, 4),
    "burns processor time": Case("while True: pass", ("timeout",), "1 s of processor time", {"cpu_seconds": 1}),
    "prints 1 GB": Case(
        "import os\nfor _ in range(1024): os.write(1, b'x' * (1 << 20))", ("output",), "printed more than"
    ),
    "writes a large file": Case(
        "f = open('big', 'wb')\nfor _ in range(1024): f.write(b'x' * (1 << 20))", ("error", "output"), "File too large"
    ),
    "writes many files": Case(
        "import time\nfor n in range(40): open(str(n), 'wb').write(b'x' * (1 << 20))\ntime.sleep(5)",
        ("output",),
        "into its folder",
        {"disk_bytes": 16 << 20},
    ),
    "writes many empty files": Case(
        "n = 0\nwhile True:\n    open(str(n), 'w').close(); n += 1", ("output",), "into its folder"
    ),
    "nests folders": Case("import os\nwhile True:\n    os.mkdir('d'); os.chdir('d')", ("output",), "into its folder"),
    "leaves a daemon": Case(DAEMON, ("ok", "error")),
    "kills everything it can": Case("import os, signal; os.kill(-1, signal.SIGKILL)", ("ok", "error", "killed")),
    "kills its parent": Case("import os, signal; os.kill(os.getppid(), signal.SIGINT)", ("ok", "error")),
    "deletes its folder": Case("import os, shutil; shutil.rmtree(os.getcwd())", ("ok", "error")),
    "closes its folder": Case(
        "import os; os.mkdir('d'); open('d/f', 'w'); os.chmod('d', 0); os.chmod('.', 0)", ("ok", "error")
    ),
    "prints control characters": Case(
        "import os; os.write(1, b'\\x1b[2J\\x1b]0;title\\x07\\xff\\xfe\\x00end')", ("ok",)
    ),
}


HARDEST = (
    "reads /etc/passwd",
    "writes beside its folder",
    "forks without end",
    "allocates 8 GB",
    "leaves a daemon",
    "kills everything it can",
    "kills its parent",
    "deletes its folder",
)
"""What depends on which layers there are."""


@pytest.mark.parametrize(
    ("case", "layers"),
    [(case, layers) for case in CASES for layers in LAYERS if layers == "all" or case in HARDEST],
)
def test_hostile_code_is_held(case: str, layers: str, confined: Confined, place: Path) -> None:
    code, statuses, says, limits, seconds = CASES[case]
    began = time.monotonic()
    answer = confined(code, refuse=LAYERS[layers], script=layers == "prepared", **limits)
    assert answer["status"] in statuses, answer
    assert says in answer["reason"] + answer["stderr"], answer
    assert time.monotonic() - began < seconds + 10  # a busy machine included
    assert "root:" not in answer["stdout"]
    assert (place / "beside").read_text() == "untouched"
    assert len(answer["stdout"]) + len(answer["stderr"]) <= 1 << 20
    for counted in ("forks", "beat"):
        if (place / "work" / counted).exists():
            size = (place / "work" / counted).stat().st_size
            assert counted == "beat" or size <= 32
            time.sleep(0.1)
            assert (place / "work" / counted).stat().st_size == size, "something still runs"


@pytest.mark.parametrize("layers", LAYERS)
def test_no_secret_of_this_process_is_visible(layers: str, confined: Confined) -> None:
    code = (
        "import os, glob\nprint(dict(os.environ))\n"
        "for name in glob.glob('/proc/*/environ') + [f'/proc/{n}/environ' for n in range(1, 40000)]:\n"
        "    try: print(open(name).read())\n    except OSError: pass"
    )
    answer = confined(code, refuse=LAYERS[layers], script=layers == "prepared")
    assert answer["status"] == "ok", answer
    assert "HOME" in answer["stdout"]
    assert SECRET not in answer["stdout"] + answer["stderr"]
    assert "PYTHONPATH" not in answer["stdout"]


@pytest.mark.parametrize("layers", ["all", "prepared", "no-namespaces"])
@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
def test_no_network(layers: str, kind: str, confined: Confined) -> None:
    """Neither TCP nor UDP reaches a socket that listens on this machine."""
    with socket.socket(socket.AF_INET, getattr(socket, kind)) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.settimeout(0.05)
        if kind == "SOCK_STREAM":
            listening.listen()
        port = listening.getsockname()[1]
        code = SENDS.replace("KIND", kind).replace("PORT", str(port))
        answer = confined(code, refuse=LAYERS[layers], script=layers == "prepared")
        assert answer["status"] == "error", answer
        assert "sent" not in answer["stdout"]
        with pytest.raises(TimeoutError):
            listening.accept() if kind == "SOCK_STREAM" else listening.recv(10)


def test_a_daemon_dies_also_where_only_processes_can_be_followed(confined: Confined, place: Path, user: str) -> None:
    """Without PID namespace and seccomp the launcher inherits every orphan and ends it."""
    answer = confined(DAEMON, refuse=("namespaces", "seccomp"))
    if user == "self":
        assert answer["status"] in ("ok", "error")
    beat = place / "work" / "beat"
    size = beat.stat().st_size if beat.exists() else 0
    time.sleep(0.1)
    assert (beat.stat().st_size if beat.exists() else 0) == size


def test_what_remains_belongs_to_the_folder_owner(confined: Confined, place: Path) -> None:
    answer = confined("open('left', 'w').write('x')")
    assert answer["status"] == "ok", answer
    assert (place / "work" / "left").stat().st_uid == (place / "work").stat().st_uid == place.stat().st_uid


def test_many_at_once_do_not_disturb_each_other(confined: Confined) -> None:
    """The limit of processes is each sandbox's own, whatever runs beside it."""
    answers: list[dict[str, Any]] = []
    code = (
        "import os\nfor _ in range(20):\n    if os.fork() == 0:\n        import time; time.sleep(1);"
        " os._exit(0)\nprint('all')"
    )
    threads = [threading.Thread(target=lambda: answers.append(confined(code, processes=28))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer["stdout"] for answer in answers] == ["all\n"] * 3
