"""One run of a program: confined to its folder, or as an ordinary process if the user wants that."""

from __future__ import annotations

import asyncio
import contextlib
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path

from agentgauge import sandbox
from agentgauge.core.errors import SandboxFault, UsageProblem
from agentgauge.sandbox import SandboxLimits, SandboxResult
from agentgauge.sandbox.launch import environment
from agentgauge.sandbox.protection import missing
from agentgauge.sandbox.result import Status, ending

MOST_OUTPUT = 8 << 20  # bytes of standard output and standard error together; a program that prints more is ended
MOST_FILE = 1 << 30  # bytes of a file that it writes
MOST_DISK = 4 << 30  # bytes of its whole folder
PROCESSES = 256

PROGRAMS = ("/usr/local/bin", "/usr/bin", "/bin")
"""Readable for every program: the system's own, because scripts start them."""

OF_NETWORK = (
    "/etc/resolv.conf /etc/hosts /etc/nsswitch.conf /etc/gai.conf /etc/ssl/certs /etc/ssl/openssl.cnf"
    " /usr/share/ca-certificates /etc/ca-certificates /etc/pki/tls/certs /etc/pki/ca-trust"
)
"""Also readable if the program has the network: host names and certificates."""

_TICK = 0.05  # seconds between two looks at the process
_GRACE = 2.0  # seconds for the last output once everything was ended


@dataclass(frozen=True, slots=True)
class ProgramSettings:
    """How a program runs."""

    seconds: float
    memory_mb: int = 8192
    readable: tuple[Path, ...] = ()
    env: Mapping[str, str] | None = None
    network: bool = False
    confined: bool = True

    @property
    def connected(self) -> bool:
        """Whether the program has the network: always without the sandbox."""
        return self.network or not self.confined

    def with_more(self, env: Mapping[str, str], readable: Sequence[Path]) -> ProgramSettings:
        """The settings of one run, with its own variables and files."""
        return replace(self, env={**(self.env or {}), **env}, readable=(*self.readable, *readable))


def variables(settings: ProgramSettings) -> dict[str, str]:
    """The variables that are added to the small fixed environment: the paths of programs, and the variables that the
    user named.
    """
    return {"PATH": ":".join((str(Path(sys.executable).parent), *PROGRAMS))} | dict(settings.env or {})


def require_sandbox(settings: ProgramSettings, without: str) -> None:
    """Raises UsageProblem if this machine cannot confine an agent that must be confined. ``without``: the option that
    runs it unconfined."""
    if settings.confined and (lacking := missing(sandbox.layers())):
        raise UsageProblem(
            f"an agent would run here without {' and '.join(lacking)}; use a Linux kernel with namespaces or Landlock, "
            f"or run the agent with all your rights: {without}"
        )


def require_ports(settings: ProgramSettings, without: str) -> None:
    """Raises UsageProblem if this machine cannot open single ports to a confined agent. ``without``: the options that
    open them in another way."""
    if not settings.connected and "net_ns" not in sandbox.layers():
        raise UsageProblem(
            "an agent in the sandbox cannot reach a server on this machine, because the kernel refuses network"
            f" namespaces; allow the agent more with {without}"
        )


def refuse_shown(settings: ProgramSettings, secret: Mapping[Path, str], *, readable: str, command: str) -> None:
    """Raises UsageProblem where the user's ``readable`` would show a confined agent a folder that holds the gold, or a
    part of it. ``secret``: these folders, and what each of them is. ``readable`` and ``command``: what the user calls
    the two settings.
    """
    for path in settings.readable if settings.confined else ():
        for folder, what in secret.items():
            real, hidden = path.resolve(), folder.resolve()
            if hidden.is_relative_to(real) or real.is_relative_to(hidden):
                raise UsageProblem(
                    f"{readable} {path} would let the agent read {what} ({folder}), which holds the expected answers; "
                    f"name another path (files that {command} names count as well)"
                )


async def run_program(
    argv: Sequence[str],
    folder: Path,
    settings: ProgramSettings,
    *,
    ports: Sequence[int] = (),
    executor: Executor | None = None,
) -> SandboxResult:
    """Run to the end or the limit; cancelling ends the program. Raises SandboxFault if it cannot be started.

    ``ports``: those of this machine's 127.0.0.1 that a program without the network reaches all the same.
    ``executor``: whose threads wait for programs; None: the event loop's.
    """
    if not settings.confined:
        process = Unconfined(argv, folder, settings)
        try:
            return await asyncio.get_running_loop().run_in_executor(executor, process.run)
        except asyncio.CancelledError:
            process.stop()
            raise
    limits = SandboxLimits(
        wall_seconds=settings.seconds,
        cpu_seconds=settings.seconds * (os.cpu_count() or 1),
        memory_bytes=settings.memory_mb << 20,
        output_bytes=MOST_OUTPUT,
        file_bytes=MOST_FILE,
        disk_bytes=MOST_DISK,
        processes=PROCESSES,
    )
    programs = [Path(argv[0]), *map(Path, PROGRAMS), *(map(Path, OF_NETWORK.split()) if settings.network else ())]
    return await sandbox.run_async(
        argv,
        folder=folder,
        limits=limits,
        env=variables(settings),
        readable=[*programs, *settings.readable],
        network=settings.network,
        own_proc=True,
        ports=ports,
        executor=executor,
    )


class Unconfined:
    """An ordinary process in a session of its own. ``run`` once, in a thread; ``stop`` from any thread. All processes
    of the session end with it. A process that has left the session lives on, so the sandbox is the default."""

    def __init__(self, argv: Sequence[str], folder: Path, settings: ProgramSettings) -> None:
        self._argv = argv
        self._folder = folder
        self._settings = settings
        self._stopped = threading.Event()
        self._kept: tuple[bytearray, bytearray] = (bytearray(), bytearray())
        self._overflow = False

    def stop(self) -> None:
        self._stopped.set()

    def run(self) -> SandboxResult:
        """Raises SandboxFault if the program cannot be started."""
        began = time.monotonic()
        try:
            process = subprocess.Popen(
                self._argv,
                cwd=self._folder,
                env=environment(str(self._folder)) | variables(self._settings),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise SandboxFault(f"the agent's program could not be started: {error}", cause="no program") from None
        with process, selectors.DefaultSelector() as selector:
            for stream, kept in zip((process.stdout, process.stderr), self._kept, strict=True):
                assert stream is not None
                selector.register(stream, selectors.EVENT_READ, kept)
            deadline = began + self._settings.seconds
            while process.poll() is None and not self._overflow and not self._stopped.is_set():
                if time.monotonic() >= deadline:
                    break
                self._read(selector)
            in_time = process.poll() is not None
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            # what is still in the pipes; a process that left the session may hold them open for ever
            deadline = time.monotonic() + _GRACE
            while selector.get_map() and time.monotonic() < deadline:
                self._read(selector)
        status, reason = self._verdict(process.returncode, in_time)
        stdout, stderr = (bytes(part).decode("utf-8", "replace") for part in self._kept)
        code, seconds = process.returncode if in_time else None, time.monotonic() - began
        return SandboxResult(status, reason, stdout, stderr, code, seconds, ())

    def _read(self, selector: selectors.BaseSelector) -> None:
        """Whatever there is, kept up to the limit."""
        for key, _ in selector.select(_TICK):
            part = os.read(key.fd, 1 << 16)
            if not part:
                selector.unregister(key.fileobj)
            room = MOST_OUTPUT - sum(map(len, self._kept))
            key.data.extend(part[: max(room, 0)])
            self._overflow |= len(part) > room
        if not selector.get_map():
            time.sleep(_TICK)  # it has closed its output and goes on

    def _verdict(self, code: int, in_time: bool) -> tuple[Status, str]:
        if self._overflow:
            return "output", f"it printed more than {MOST_OUTPUT} bytes"
        if not in_time:
            return "timeout", f"it ran longer than {self._settings.seconds:g} s"
        if code < 0:
            return "killed", f"it {ending(code)}"
        return ("error", f"it {ending(code)}") if code else ("ok", "")
