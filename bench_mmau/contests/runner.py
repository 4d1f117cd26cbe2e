"""The program that runs one group of contest tests inside the sandbox. It is passed as the text of a script (see
``agentgauge.sandbox.Script``) and uses the standard library only.

It gets messages and answers them (see ``agentgauge.sandbox.Steps``): first the order, JSON (see ``execute``), then the
input of one test after the other, each when the test before has been answered, with JSON. The expected outputs never
enter this process, so a program in it can only produce outputs of its own. A program that ends the process loses its
whole group (docs/benchmarks/mmau.md#execution [Q14]). Printed text goes to the null device or into the stream that is
compared.

The three seconds per test count processor time; a program that hardly computes is measured by the wall clock instead.
The timers here raise the exception that the reference's raise. A program can remove them; then the sandbox stops it
from outside.
"""

# This file runs alone, its names are the program's environment: everything it needs later is bound before the program
# starts.
from __future__ import annotations

import builtins
import contextlib
import faulthandler
import io
import json
import multiprocessing.managers  # noqa: F401  # loaded, as in the reference's process, before functions are removed
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TYPE_CHECKING = False  # as typing has it; importing that module takes time
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_IDLE = 0.1  # a smaller share of the wall time on the processor: it waits for something, the machine is not to blame
_EARLY = 0.02  # seconds by which the kernel's two accounts of processor time may differ
_TICK = 0.25  # seconds between two looks once the limit has passed on the wall clock

# fmt: off
_OS_GONE = (  # docs/benchmarks/mmau.md#confinement
    "kill", "system", "putenv", "remove", "removedirs", "rmdir", "fchdir", "setuid", "fork",
    "forkpty", "killpg", "rename", "renames", "truncate", "replace", "unlink", "fchmod", "fchown",
    "chmod", "chown", "chroot", "lchflags", "lchmod", "lchown", "getcwd", "chdir",
)
# fmt: on
_IMPORTS_GONE = ("ipdb", "joblib", "resource", "psutil", "tkinter")


class TimeoutException(Exception):
    """The test's time is over. An ordinary exception: a bare ``except`` of the program swallows it
    (docs/benchmarks/mmau.md#confinement)."""


class Clock:
    """The limit of a test. Signals call it in the main thread."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._began = (0.0, 0.0)
        self._armed = False
        self.fired = False  # in the present test or the last one
        signal.signal(signal.SIGPROF, self._look)
        signal.signal(signal.SIGALRM, self._look)

    @contextlib.contextmanager
    def test(self) -> Iterator[None]:
        self._began = (time.monotonic(), time.process_time())
        self._armed, self.fired = True, False
        self._arm()
        try:
            yield
        finally:
            self._armed = False
            for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
                signal.setitimer(timer, 0)

    def _arm(self) -> None:
        """Set both timers to the limit on their clocks."""
        now = (time.monotonic(), time.process_time())
        for place, timer, least in ((0, signal.ITIMER_REAL, _TICK), (1, signal.ITIMER_PROF, _EARLY)):
            signal.setitimer(timer, max(self._began[place] + self._seconds - now[place], least))

    def _look(self, number: int, frame: object) -> None:
        if not self._armed:
            return
        if not self._is_over():
            self._arm()
            return
        self._armed = False  # once per test: a program that swallows it meets the sandbox's limit only
        self.fired = True
        raise TimeoutException("Timed out!")

    def _is_over(self) -> bool:
        wall, used = time.monotonic() - self._began[0], time.process_time() - self._began[1]
        return used >= self._seconds - _EARLY or (wall >= self._seconds and used < _IDLE * wall)


class Channel:
    """The messages, out of the way of the program's own streams."""

    def __init__(self) -> None:
        self._in, self._out = os.dup(0), os.dup(1)
        self._read, self._write = os.read, os.write
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)

    def receive(self) -> bytes:
        return self._exactly(int.from_bytes(self._exactly(8), "little"))

    def _exactly(self, size: int) -> bytes:
        content = b""
        while len(content) < size:
            content += self._read(self._in, size - len(content)) or sys.exit(1)
        return content

    def answer(self, content: bytes) -> None:
        message = memoryview(len(content).to_bytes(8, "little") + content)
        while message:
            message = message[self._write(self._out, message) :]


def prepare(path: list[str], *, with_numpy: bool) -> None:
    """Prepare the process, before any program is known. ``with_numpy``: load numpy, as the reference's process does
    before it removes functions that numpy needs."""
    sys.path += path
    tempfile.gettempdir()  # known from now on; to look for it takes functions that are removed
    if with_numpy:
        with contextlib.suppress(ImportError):
            import numpy  # noqa: F401


def main() -> None:
    channel = Channel()
    order = json.loads(channel.receive())
    encode = json.JSONEncoder().encode
    guard(exits=order["exits"])
    clock = Clock(order["test_seconds"])
    names = namespace(order)
    channel.answer(b"")
    status = ""
    while status != "uncompiled":  # the sandbox ends this process after the last answer
        status, text = run_test(order, channel.receive().decode("utf-8", "surrogatepass"), names, clock)
        channel.answer(encode([*bounded(order, status, text), clock.fired]).encode("ascii"))
        if order["fresh"]:
            names = namespace(order)


def namespace(order: dict[str, Any]) -> dict[str, Any]:
    """Without ``__name__``, so that it resolves to ``builtins`` (docs/benchmarks/mmau.md#execution)."""
    return {"__name__": "__main__"} if order["main"] else {}


def guard(*, exits: bool) -> None:
    """Set the same names to None as the reference. Programs then fail as they do there; this protects nothing."""
    faulthandler.disable()
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in ("exit", "quit", "help"):
        setattr(builtins, name, sys.exit if exits and name != "help" else None)
    for module, gone in ((os, _OS_GONE), (shutil, ("rmtree", "move", "chown")), (subprocess, ("Popen",))):
        for name in gone:
            setattr(module, name, None)
    for name in _IMPORTS_GONE:
        sys.modules[name] = None  # type: ignore[assignment]  # an import of it fails


def run_test(order: dict[str, Any], text: str, names: dict[str, Any], clock: Clock) -> tuple[str, str]:
    """``("passed", output)``, ``("timeout", "timeout")`` or ``("failed", "failed: ...")``.

    ``("uncompiled", "failed: ...")``: the program does not compile, which is so on every input, and that took no longer
    than the order allows. SystemExit and the like go on, and with them the group, unless the order says that leaving
    ends the test only.
    """
    began = time.process_time()
    try:
        with streams(order, text) as printed:
            try:
                with clock.test():
                    try:
                        code = compile(order["code"], "<string>", "exec", dont_inherit=True)
                    except TimeoutException:
                        raise
                    except Exception as error:
                        brief = time.process_time() - began < order["brief"]
                        return "uncompiled" if brief else "failed", f"failed: {error}"
                    exec(code, names)
            except SystemExit as error:
                if not order["exits"]:
                    raise
                if error.code not in (None, 0):
                    return "failed", f"failed: exit status {error.code}"
            return "passed", printed()
    except TimeoutException:
        return "timeout", "timeout"
    except Exception as error:
        return "failed", f"failed: {error}"


def bounded(order: dict[str, Any], status: str, text: str) -> tuple[str, str]:
    """The outcome of a test, with no more of its text than a verdict needs. An output that stays too long without its
    blanks, which are not compared, is longer than any right one: ``("too_long", its beginning)``."""
    most = order["most"]
    if len(text) > most and status == "passed":
        compared = " ".join(text.split()) if order["words"] else text.strip().replace(" ", "")
        return ("passed", compared) if len(compared) <= most else ("too_long", text[:most])
    return status, text[:most]


@contextlib.contextmanager
def streams(order: dict[str, Any], text: str) -> Iterator[Callable[[], str]]:
    """The program's streams. In parity the output has no ``buffer`` and descriptor 0 stays empty [Q15]. Gives what
    reads the output."""
    kept = sys.stdin, sys.stdout, sys.stderr
    content = text.encode("utf-8")
    if order["buffers"]:
        raw = io.BytesIO()
        output: io.StringIO | io.TextIOWrapper = io.TextIOWrapper(
            raw, encoding="utf-8", newline="\n", write_through=True
        )

        def printed() -> str:
            output.flush()
            return raw.getvalue().decode("utf-8", "replace")

        feed = open_removed(content)
        if feed:  # else a program has closed descriptor 0, and this took its place
            os.dup2(feed, 0)
            os.close(feed)
        sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False), encoding="utf-8")  # noqa: SIM115
    else:
        output = plain = io.StringIO()
        printed = plain.getvalue
        sys.stdin = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")
    sys.stdout, sys.stderr = output, io.StringIO()
    try:
        yield printed
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept


def open_removed(content: bytes) -> int:
    """A descriptor of a file with this content and no name."""
    feed = os.open(".", os.O_RDWR | os.O_TMPFILE, 0o600)
    with open(feed, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(feed, 0, os.SEEK_SET)
    return feed
