"""The limits of a run in the sandbox, and how it ended."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "timeout", "memory", "output", "killed", "error"]

_SENT = {signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT}
"""Signals that users, other programs and the kernel (for want of memory) send to end a program."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of the code. The defaults suit a short computation."""

    wall_seconds: float = 20.0
    cpu_seconds: float | None = None
    """Of all processes together, rounded up to whole seconds; None: the wall time, for each process."""
    memory_bytes: int = 1 << 30  # address space of each process, and all memory that they hold together
    output_bytes: int = 1 << 20  # standard output and standard error together
    file_bytes: int = 64 << 20  # the largest file
    disk_bytes: int = 256 << 20  # all files in the folder together, removed ones that are still open included
    processes: int = 32  # processes and threads at one time


@dataclass(frozen=True, slots=True)
class Steps:
    """Work that the program gets piece by piece, each with limits of time that are kept outside of its reach.

    The program's standard input and output carry messages: 8 bytes of length, little-endian, and a body. The first
    message is ``stdin`` of the run; the program answers it with an empty message when it is ready. Then it gets one
    input after the other, each when the one before has been answered. It is ended after the last answer.

    Busy seconds: processor time of all its processes, and time in which none of them ran though a processor was free.
    """

    inputs: tuple[bytes, ...]
    wall_seconds: float  # of each step
    busy_seconds: float | None = None  # of each step
    total_seconds: float | None = None  # busy seconds of all steps together


@dataclass(frozen=True, slots=True)
class Answer:
    """The program's answer to a step, and the busy seconds that it took."""

    content: bytes
    busy_seconds: float


@dataclass(frozen=True, slots=True)
class SandboxResult:
    """How the code ended.

    ``status``: ``ok`` exit status 0, or all steps answered; ``error`` another exit status; ``timeout`` wall or CPU
    time; ``memory`` it exceeded its memory limit; ``output`` it printed too much or filled its folder; ``killed`` it
    died of a signal that we did not send. ``stdout`` and ``stderr`` are cut at the limit; bytes that are no UTF-8
    become U+FFFD, control characters stay in.
    """

    status: Status
    reason: str  # one sentence without a full stop; empty for ok
    stdout: str
    stderr: str
    returncode: int | None  # exit status, minus the signal's number, None if the code was ended by us
    seconds: float  # wall time including the start
    layers: tuple[str, ...]  # protections that were in force
    answers: tuple[Answer, ...] = ()  # to the inputs of ``Steps``, as far as they came
    ready: bool = False  # with ``Steps``: the program asked for its first input
    late_step: bool = False  # a limit of ``Steps`` has ended it
    notes: tuple[str, ...] = ()  # what of its folder was not kept as it was; names are the code's

    @property
    def ended_from_outside(self) -> bool:
        return ended_from_outside(self.status, self.returncode)


def ended_from_outside(status: object, returncode: object) -> bool:
    """Whether a program, or its sandbox, died of a signal that other programs send. It may have sent it to itself."""
    return status == "killed" and (not isinstance(returncode, int) or -returncode in _SENT)


def ending(code: int) -> str:
    """How a process ended that failed, in words; ``code`` as subprocess has it. A shell ends with 128 and the number of
    the signal that has killed its program."""
    if code < 0:
        return f"died of {_signal(-code)}"
    shell = f", as a shell does when its program died of {_signal(code - 128)}" if code - 128 in _SENT else ""
    return f"ended with exit status {code}{shell}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
