"""How a program has ended, from what its sandbox has reported."""

from __future__ import annotations

import os
import signal

from agentgauge.sandbox.report import Report
from agentgauge.sandbox.result import Limits, Status, ending


def verdict(
    report: Report, stderr: str, limits: Limits, cpu_seconds: int, *, overflow: bool, holder: int | None
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
