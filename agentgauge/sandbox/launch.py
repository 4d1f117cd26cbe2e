"""Run a program in the sandbox and wait for its end: AgentGauge's side; ``inner`` is the other one."""

from __future__ import annotations

import contextlib
import marshal
import math
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Required, TypedDict, Unpack

from agentgauge.core.errors import SandboxFault
from agentgauge.sandbox.cgroup import MemoryGroup, memory_group
from agentgauge.sandbox.inner.mounts import devices
from agentgauge.sandbox.paths import view
from agentgauge.sandbox.report import Report, read_report
from agentgauge.sandbox.result import Limits, SandboxResult, Status, Steps

_HERE = str(Path(__file__).parent)
_START = f"import sys; sys.path.append({_HERE!r}); from inner.supervise import main; main()"
_GRACE = 5.0  # seconds that the launcher has to end after the time limit
_KEEPING = 20 << 20  # bytes a second at which it brings back the folder, at the least
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Setup:
    """How to build the confinement on this machine; chosen once by ``layers``."""

    refuse: tuple[str, ...] = ()  # what not to try: namespaces, mount_ns, landlock, seccomp, memory_group
    bubblewrap: str | None = None  # path of bwrap, if it has to make the namespaces


class Options(TypedDict, total=False):
    """What a program may see and use."""

    folder: Required[Path]
    """Working directory, and the only folder that the program can write. A program with a file system of its own works
    on a copy in memory that replaces the folder at the end: files and folders without special bits, and links. What it
    leaves is as untrusted as its output (links!). Files put there should be copies, not hard links."""
    limits: Limits
    stdin: bytes
    env: Mapping[str, str] | None  # added to the small fixed environment
    readable: Sequence[Path]
    """Files and folders that may be read besides the interpreter, the system's libraries and installed packages. This
    project and what was given to ``hide`` cannot be read."""
    packages: bool  # default True: installed packages can be read
    network: bool  # default False; True: IP over this machine's network, services on localhost included
    steps: Steps | None  # work that is handed over piece by piece
    keep: bool  # default True; False: what the program leaves in the folder may be thrown away


def environment(folder: Path) -> dict[str, str]:
    """The whole environment of the code. Nothing of AgentGauge's own environment gets in."""
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "PYTHONHASHSEED": "0",  # the same code gives the same output
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",  # else it takes one thread, and 30 MB of address space, per core
    }


@dataclass(slots=True)
class _Arrived:
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    report: bytearray = field(default_factory=bytearray)
    overflow: bool = False


class Job:
    """A program, where and how to run it. ``run`` once; ``stop`` from any thread."""

    def __init__(self, argv: Sequence[str], setup: Setup, **options: Unpack[Options]) -> None:
        folder, limits, steps = options["folder"], options.get("limits", Limits()), options.get("steps")
        network = options.get("network", False)
        program = argv[0] if argv else "nothing"
        if not Path(program).is_absolute():
            raise SandboxFault(f"the program to run must be an absolute path, not {program!r}", cause="no program")
        self._limits = limits
        self._setup = setup
        self._lock = threading.Lock()
        self._stopped = False
        self._lifeline: int | None = None  # the sandbox ends when it is closed
        real = folder.resolve()
        if not real.is_dir():
            raise SandboxFault(f"the sandbox needs an existing folder; {folder} is none", cause="no folder")
        seen = view(map(str, options.get("readable", ())), packages=options.get("packages", True))
        self._spec: dict[str, Any] = {
            "argv": list(argv),
            "env": environment(real) | dict(options.get("env") or {}),
            "folder": str(real),
            "stdin": options.get("stdin", b""),
            "steps": steps and {**asdict(steps), "inputs": list(steps.inputs)},
            "mounts": list(seen.mounts),
            "readable": list(seen.readable),
            "listed": list(seen.listed),
            "network": network,
            "keep": options.get("keep", True),
            "refuse": setup.refuse,
            "outer": ("bubblewrap",) if setup.bubblewrap else (),
            **asdict(limits),
            "cpu_seconds": math.ceil(limits.wall_seconds if limits.cpu_seconds is None else limits.cpu_seconds),
            "all_cpu_seconds": limits.cpu_seconds and math.ceil(limits.cpu_seconds),
        }

    def stop(self) -> None:
        """End the code now, if it runs."""
        self._stopped = True
        self._close_lifeline()

    def _close_lifeline(self) -> None:
        with self._lock:
            if self._lifeline is not None:
                os.close(self._lifeline)
                self._lifeline = None

    def run(self) -> SandboxResult:
        """Run to the end. Raises SandboxFault if the confinement or the program cannot be started."""
        began = time.monotonic()
        group = None if "memory_group" in self._setup.refuse else memory_group(self._limits.memory_bytes)
        try:
            return self._run(began, group)
        finally:
            if group:
                group.close()

    def _run(self, began: float, group: MemoryGroup | None) -> SandboxResult:
        status_read, status_write = os.pipe()
        try:
            process = subprocess.Popen(
                [*self._prefix(), sys.executable, "-I", "-S", "-c", _START],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={},
                cwd="/",
                pass_fds=(status_write,),
                start_new_session=True,
            )
        except OSError as error:
            os.close(status_read)
            raise SandboxFault(f"the sandbox could not start a process: {error}", cause="no process") from error
        finally:
            os.close(status_write)
        try:
            counted = group is not None and group.add(process.pid)  # while its interpreter starts
            events = str(group.events) if group else ""
            self._order(process, {"status_fd": status_write, "counted": counted, "events": events})
            arrived = self._collect(process, status_read, began)
        finally:
            self._close_lifeline()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
            with contextlib.suppress(ProcessLookupError):  # also what was left in its session
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            os.close(status_read)
            for stream in (process.stdout, process.stderr):
                if stream:
                    stream.close()
        report = read_report(bytes(arrived.report))
        if counted:
            report.layers.append("memory_group")
        return self._result(arrived, report, time.monotonic() - began)

    def _prefix(self) -> list[str]:
        if not self._setup.bubblewrap:
            return []
        words = [self._setup.bubblewrap, "--unshare-all", "--clearenv", "--proc", "/proc"]
        if self._spec["network"]:
            words.append("--share-net")
        emptied = []
        for source, target in sorted({*self._spec["mounts"], (_HERE, _HERE)}, key=lambda pair: pair[1]):
            if source or not Path(target).is_dir():
                words += ["--ro-bind", source or os.devnull, target]
            else:
                words += ["--tmpfs", target]
                emptied += ["--remount-ro", target]
        folder = self._spec["folder"]
        for device in devices(counted=False):
            words += ["--dev-bind", device, device]
        return [*words, "--bind", folder, folder, *emptied, "--remount-ro", "/", "--"]

    def _order(self, process: subprocess.Popen[bytes], more: Mapping[str, Any]) -> None:
        """Send the job, and keep a descriptor of the pipe that ``stop`` may close at any time."""
        assert process.stdin
        with self._lock:
            self._lifeline = os.dup(process.stdin.fileno())
        order = marshal.dumps({**self._spec, **more})
        with contextlib.suppress(BrokenPipeError):  # it died; its report says why
            process.stdin.write(len(order).to_bytes(8, "little") + order)
            process.stdin.flush()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        if self._stopped:
            self._close_lifeline()

    def _collect(self, process: subprocess.Popen[bytes], status: int, began: float) -> _Arrived:
        """Read everything until all writers have ended; what exceeds the limit is read and dropped."""
        seen = _Arrived()
        most = self._limits.wall_seconds + _GRACE + self._limits.disk_bytes / _KEEPING
        assert process.stdout and process.stderr
        with selectors.DefaultSelector() as selector:
            for descriptor, kept in (
                (process.stdout.fileno(), seen.stdout),
                (process.stderr.fileno(), seen.stderr),
                (status, seen.report),
            ):
                selector.register(descriptor, selectors.EVENT_READ, kept)
            while selector.get_map():
                left = began + most - time.monotonic()
                if left <= 0:
                    break
                for key, _ in selector.select(left):
                    part = os.read(key.fd, _CHUNK)
                    if not part:
                        selector.unregister(key.fd)
                    elif key.data is seen.report:
                        seen.report += part
                    else:
                        room = self._limits.output_bytes - len(seen.stdout) - len(seen.stderr)
                        key.data.extend(part[: max(room, 0)])
                        if len(part) > room and not seen.overflow:
                            seen.overflow = True
                            self._close_lifeline()
        return seen

    def _result(self, arrived: _Arrived, report: Report, seconds: float) -> SandboxResult:
        if report.fault:
            raise SandboxFault(f"the sandbox could not start the code: {report.fault}", cause="sandbox")
        if report.lost:
            lost = f"what the code has left in its folder could not be kept: {report.lost}"
            raise SandboxFault(lost, cause="no room")
        if self._setup.bubblewrap:
            report.layers.append("bubblewrap")
        if not report.started and report.cause != "timeout" and not self._stopped:
            detail = arrived.stderr.decode("utf-8", "replace").strip()[-300:] or "no reason given"
            raise SandboxFault(f"the sandbox ended before the code began: {detail}", cause="sandbox")
        stdout, stderr = (bytes(part).decode("utf-8", "replace") for part in (arrived.stdout, arrived.stderr))
        status, reason, code = self._verdict(arrived, report.cause, report.end, stderr)
        late = report.cause in ("step", "steps")
        layers, answers, notes = tuple(report.layers), tuple(report.answers), tuple(report.notes)
        return SandboxResult(status, reason, stdout, stderr, code, seconds, layers, answers, report.ready, late, notes)

    def _verdict(self, seen: _Arrived, cause: str, end: str | None, stderr: str) -> tuple[Status, str, int | None]:
        limits = self._limits
        if seen.overflow:
            return "output", f"it printed more than {limits.output_bytes} bytes", None
        if cause == "timeout":
            return "timeout", f"it ran longer than {limits.wall_seconds:g} s", None
        if cause == "cpu":
            return "timeout", f"it used more than {self._spec['cpu_seconds']} s of processor time", None
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
            return "killed", "it was ended from outside", None
        raw, cpu = end.split()
        code = os.waitstatus_to_exitcode(int(raw))
        if code == -signal.SIGXCPU or (code == -signal.SIGKILL and float(cpu) >= self._spec["cpu_seconds"]):
            return "timeout", f"it used more than {self._spec['cpu_seconds']} s of processor time", code
        if code == -signal.SIGXFSZ:
            return "output", f"it wrote a file of more than {limits.file_bytes >> 20} MiB", code
        if code < 0:
            return "killed", f"it died of signal {-code}", code
        if code and "MemoryError" in stderr.strip().rpartition("\n")[2]:
            return "memory", f"it needed more than {limits.memory_bytes >> 20} MiB of memory", code
        return ("error", f"it ended with exit status {code}", code) if code else ("ok", "", 0)
