"""No program can break its own case: whatever it does to what watches it, the answer says that the program failed,
in time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from agentgauge.core.errors import SandboxFault
from agentgauge.sandbox.result import read_report

from .conftest import Confined

SETUPS = {
    "all": (),
    "prepared": (),
    "no-filter": ("seccomp",),
    "no-namespaces": ("namespaces",),
}
TOOLS = """
import ctypes, os, resource, signal, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
others = [pid for pid in {1, os.getppid(), os.getppid() - 1} if pid > 0]
"""
ATTACKS = {
    "limits of open files": (
        "for pid in others:\n    try: resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, 0))\n    except OSError: pass"
    ),
    "limits of processor time": (
        "for pid in others:\n    try: resource.prlimit(pid, resource.RLIMIT_CPU, (0, 0))\n    except OSError: pass"
    ),
    "limits of memory": (
        "for pid in others:\n    for kind in (0, 1, 2, 3, resource.RLIMIT_AS):\n"
        "        try: resource.prlimit(pid, kind, (0, 0))\n        except OSError: pass"
    ),
    "signals": "for pid in others:\n    for n in range(1, 65):\n        if n != 19: libc.kill(pid, n)",
    "a stop": "for pid in others: libc.kill(pid, signal.SIGSTOP)",
    "signals through descriptors": (
        "for pid in others:\n    try: signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGKILL)\n"
        "    except OSError: pass"
    ),
    "priorities": (
        "for pid in others:\n    libc.setpriority(0, pid, 19)\n    libc.sched_setscheduler(pid, 5, struct.pack('i',"
        " 0))\n    try: os.sched_setaffinity(pid, {0})\n    except OSError: pass"
    ),
    "tracing": "for pid in others:\n    for request in (16, 0x4206): libc.ptrace(request, pid, None, None)",
    "memory of others": (
        "there = (ctypes.c_size_t * 2)(0x400000, 4096)\n"
        "for pid in others: libc.process_vm_writev(pid, there, 1, there, 1, 0)"
    ),
    "descriptors of others": (
        "for pid in others:\n    try: fd = os.pidfd_open(pid)\n    except OSError: continue\n    for n in range(16):\n "
        "       got = libc.syscall(438, fd, n, 0)\n        if got >= 0: os.write(got, b'fault from inside\\n')"
    ),
    "files of others": (
        "for pid in others:\n    for n in range(16):\n"
        "        try: os.write(os.open(f'/proc/{pid}/fd/{n}', os.O_WRONLY), b'fault inside\\n')\n"
        "        except OSError: pass"
    ),
    "every descriptor": (
        "for n in range(3, 256):\n    try: os.write(n, b'fault from inside\\n')\n    except OSError: pass"
    ),
    "no descriptor left": "os.closerange(0, 256)\nos._exit(3)",
    "a name": "libc.prctl(15, b') R 0 (\\n0 0', 0, 0, 0)\ntime.sleep(0.1)",
    "not dumpable": "libc.prctl(4, 0, 0, 0, 0)\ntime.sleep(0.1)",
    "names of files": "for name in (b'\\xff\\n', b'a' * 255, b'x\\ny', b'-rf', b'\\\\'): open(name, 'w').write('x')",
    "a nest of folders": "for _ in range(2000): os.mkdir('d'); os.chdir('d')",
    "rights of folders": "os.mkdir('d'); open('d/f', 'w'); os.chmod('d', 0); os.chmod('.', 0)",
    "other kinds of files": (
        "os.mkfifo('pipe'); os.symlink('loop', 'loop'); os.symlink('/', 'root'); os.symlink('..', 'up')"
    ),
    "a folder full of entries": "for n in range(400): os.symlink('x', str(n))",
    "its own name": "os.rename(os.getcwd(), os.getcwd() + '2')",
    "its own death": "os.kill(os.getpid(), signal.SIGKILL)",
}


@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_on_the_watcher_is_the_programs_own_failure(attack: str, setup: str, confined: Confined) -> None:
    if setup == "no-namespaces" and attack == "a nest of folders":
        pytest.skip("on disk, 2,000 folders within each other are removed by another test")
    began = time.monotonic()
    code = (
        f"{TOOLS}try:\n    "
        + ATTACKS[attack].replace("\n", "\n    ")
        + "\nexcept OSError: pass\ntime.sleep(0.15)\nsys.exit(3)"
    )
    answer = confined(code, refuse=SETUPS[setup], script=setup == "prepared", wall_seconds=4)  # a fault would raise
    assert answer["status"] in ("error", "killed", "output", "timeout"), answer
    assert time.monotonic() - began < 12


@pytest.mark.parametrize(
    "attack", ["limits of open files", "limits of processor time", "limits of memory", "a stop", "priorities"]
)
@pytest.mark.parametrize("script", [False, True], ids=["executed", "prepared"])
def test_the_limits_hold_after_an_attack(attack: str, script: bool, confined: Confined) -> None:
    code = f"{TOOLS}{ATTACKS[attack]}\ntime.sleep(60)"
    began = time.monotonic()
    answer = confined(code, script=script, wall_seconds=0.5)
    assert answer["status"] in ("timeout", "killed"), answer
    assert time.monotonic() - began < 6


@pytest.mark.parametrize(
    ("report", "fault"),
    [
        (b"layer a\nfault no room\n", "no room"),
        (b"layer a\nstart \nrefused no such program\n", "no such program"),
        (b"layer a\nstart \nfault something\n", ""),
        (b"layer a\nstart \nanswer 6 0.100\nfault cause memory\n", ""),
    ],
)
def test_once_the_program_runs_nothing_is_a_fault(report: bytes, fault: str) -> None:
    assert read_report(report).fault == fault


def test_a_folder_that_cannot_hold_what_is_given_is_a_fault(confined: Confined, place: Path, user: str) -> None:
    """Before the program has begun, which it therefore cannot bring about."""
    if user != "self":
        pytest.skip("the exception is seen in this process only")
    (place / "work" / "large").write_bytes(b"x" * (2 << 20))
    with pytest.raises(SandboxFault, match="No space left"):
        confined("pass", disk_bytes=1 << 20)
