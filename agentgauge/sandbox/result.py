"""The limits of a run in the sandbox, what its processes report, and how it ended."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from typing import Literal

Status = Literal["ok", "timeout", "memory", "output", "killed", "error"]

_SENT = {signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT}
"""Signals that users, other programs and the kernel (for want of memory) send to end a program."""


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """The limits of the code. The defaults suit a short computation."""

    wall_seconds: float = 20.0
    cpu_seconds: float | None = None
    """The limit of all processes together, rounded up to whole seconds; None: the wall time, for each process."""
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
class StepAnswer:
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
    answers: tuple[StepAnswer, ...] = ()  # to the inputs of ``Steps``, as far as they came
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


@dataclass(slots=True)
class SandboxReport:
    """What the processes of a sandbox have reported (see ``inner.confine.ReportLines``)."""

    layers: list[str] = field(default_factory=lambda: ["process"])
    answers: list[StepAnswer] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    started: bool = False
    ready: bool = False
    fault: str = ""
    lost: str = ""
    cause: str = ""
    end: str | None = None


def read_report(content: bytes | bytearray) -> SandboxReport:
    """After the program has started, an early end of the processes that hold it does not count as a fault, because the
    program may have caused it.
    """
    report, at = SandboxReport(), 0
    while at < len(content):
        end = content.find(b"\n", at)
        end = len(content) if end < 0 else end
        kind, _, text = content[at:end].decode("utf-8", "replace").partition(" ")
        at = end + 1
        match kind:
            case "answer":
                size, busy = int(text.split()[0]), float(text.split()[1])
                if len(content) >= at + size:
                    report.answers.append(StepAnswer(bytes(content[at : at + size]), busy))
                at += size
            case "layer":
                report.layers.append(text)
            case "note":
                report.notes.append(text)
            case "start":
                report.started = True
            case "ready":
                report.ready = True
            case "lost" | "cause" | "end":
                setattr(report, kind, text)
            case "fault" if report.started:
                pass
            case "fault" | "refused":
                report.fault = report.fault or text
    return report


def verdict(
    report: SandboxReport, stderr: str, limits: SandboxLimits, cpu_seconds: int, *, overflow: bool, holder: int | None
) -> tuple[Status, str, int | None]:
    """Status, reason and exit status, as ``SandboxResult`` has them.

    ``cpu_seconds``: the limit in force. ``overflow``: the program has printed more than it may. ``holder``: the exit
    status of the process that held the program, where it is known.
    """
    cause, end = report.cause, report.end
    if overflow:
        return "output", f"it printed more than {limits.output_bytes} bytes", None
    if cause == "timeout":
        return "timeout", f"it ran longer than {limits.wall_seconds:g} s", None
    if cause == "cpu":
        return "timeout", f"it used more than {cpu_seconds} s of processor time", None
    if cause in ("step", "steps"):
        return "timeout", "a step took too long" if cause == "step" else "its steps took too long", None
    if cause == "output":
        return "output", f"it answered with more than {limits.output_bytes} bytes", None
    if cause == "memory":
        return "memory", f"it used more than {limits.memory_bytes >> 20} MiB of memory", None
    if cause == "disk":
        reason = f"it wrote more than {limits.disk_bytes >> 20} MiB, or too many files, into its folder"
        return "output", reason, None
    if end is None:
        how = f": its sandbox {ending(holder)}" if holder and holder < 0 else ""
        return "killed", f"it was ended from outside{how}", None
    raw, cpu = end.split()
    code = os.waitstatus_to_exitcode(int(raw))
    if code == -signal.SIGXCPU or (code == -signal.SIGKILL and float(cpu) >= cpu_seconds):
        return "timeout", f"it used more than {cpu_seconds} s of processor time", code
    if code == -signal.SIGXFSZ:
        return "output", f"it wrote a file of more than {limits.file_bytes >> 20} MiB", code
    if code < 0:
        return "killed", f"it {ending(code)}", code
    if code and "MemoryError" in stderr.strip().rpartition("\n")[2]:
        return "memory", f"it needed more than {limits.memory_bytes >> 20} MiB of memory", code
    return ("error", f"it {ending(code)}", code) if code else ("ok", "", 0)
