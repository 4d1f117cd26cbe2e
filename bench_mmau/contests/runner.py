"""What runs inside the sandbox for one group of contest tests. It is handed over as text and uses the standard library only.

Standard input: the order, JSON (see ``execute``). Standard output: a token that only the order names, then JSON with one
result per test. It is written once, at the end, so a program that ends the process takes its whole group along
(MMAU spec 6.2 [Q14]). The expected outputs never come in here: whatever a program does in this process, all that it can
claim is an output of its own. What it prints goes to the null device or into the stream that is compared.

The three seconds per test count processor time; a program that hardly computes is measured by the wall clock instead.
"""

# This file runs alone, its names are the program's environment: everything it needs later is bound before the program starts.
from __future__ import annotations

import builtins
import contextlib
import faulthandler
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time

TYPE_CHECKING = False  # as typing has it; importing that module takes time
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, NoReturn

OVER = 87  # exit status: the group's time is over
_IDLE = 0.1  # a smaller share of the wall time on the processor: it waits for something, the machine is not to blame
_STARVED = 10.0  # wall time in multiples of the limit that a computing program gets at most
_EARLY = 0.02  # seconds by which the kernel's two accounts of processor time may differ
_TICK = 0.25  # seconds between two looks once a limit has passed on the wall clock

# fmt: off
_OS_GONE = (  # MMAU spec 8
    "kill", "system", "putenv", "remove", "removedirs", "rmdir", "fchdir", "setuid", "fork",
    "forkpty", "killpg", "rename", "renames", "truncate", "replace", "unlink", "fchmod", "fchown",
    "chmod", "chown", "chroot", "lchflags", "lchmod", "lchown", "getcwd", "chdir",
)
# fmt: on
_IMPORTS_GONE = ("ipdb", "joblib", "resource", "psutil", "tkinter")


class TimeoutException(Exception):
    """The test's time is over. An ordinary exception: a bare ``except`` of the program swallows it (MMAU spec 8)."""


class Clock:
    """The limits of a test and of the group. Signals call it in the main thread."""

    def __init__(self, test_seconds: float, group_seconds: float) -> None:
        self._test_seconds, self._group_seconds = test_seconds, group_seconds
        self._group = self._test = (time.monotonic(), time.process_time())
        self._armed = False
        self.fired = False  # ever
        signal.signal(signal.SIGPROF, self._look)
        signal.signal(signal.SIGALRM, self._look)
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL)  # it ends the process, also in the midst of a library's computation
        signal.setitimer(signal.ITIMER_VIRTUAL, group_seconds)
        self._arm()

    @contextlib.contextmanager
    def test(self) -> Iterator[None]:
        self._test = (time.monotonic(), time.process_time())
        self._armed = True
        self._arm()
        try:
            yield
        finally:
            self._armed = False

    def stop(self) -> None:
        for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL, signal.ITIMER_VIRTUAL):
            signal.setitimer(timer, 0)

    def _arm(self) -> None:
        """Set both timers to the next limit on their clocks."""
        now = (time.monotonic(), time.process_time())
        for place, timer, least in ((0, signal.ITIMER_REAL, _TICK), (1, signal.ITIMER_PROF, _EARLY)):
            ends = [self._group[place] + self._group_seconds] + ([self._test[place] + self._test_seconds] if self._armed else [])
            signal.setitimer(timer, max(min(ends) - now[place], least))

    def _look(self, number: int, frame: object) -> None:
        if _is_over(self._group, self._group_seconds):
            os._exit(OVER)
        over = self._armed and _is_over(self._test, self._test_seconds)
        self._armed = self._armed and not over
        self._arm()
        if over:
            self._fire()

    def _fire(self) -> NoReturn:
        self.fired = True  # once per test: a program that swallows it meets the group's limit only
        raise TimeoutException("Timed out!")


def _is_over(began: tuple[float, float], limit: float) -> bool:
    wall, used = time.monotonic() - began[0], time.process_time() - began[1]
    return used >= limit - _EARLY or (wall >= limit and (used < _IDLE * wall or wall >= _STARVED * limit))


def main() -> None:
    order = json.loads(sys.stdin.buffer.read())
    channel, null = os.dup(1), os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    sys.path += order["path"]
    encode, write, leave = json.JSONEncoder().encode, os.write, os._exit
    if "numpy" in order["code"]:  # the reference's process has loaded it before it takes away what numpy needs for that
        with contextlib.suppress(ImportError):
            import numpy  # noqa: F401
    guard(exits=order["exits"])
    clock = Clock(order["test_seconds"], order["group_seconds"])
    results, names = [], namespace(order)
    for text in order["inputs"]:
        results.append(run_test(order, text, names, clock))
        if order["fresh"]:
            names = namespace(order)
    clock.stop()
    answer = memoryview((order["token"] + encode({"results": results, "fired": clock.fired})).encode("ascii"))
    while answer:
        answer = answer[write(channel, answer) :]
    leave(0)  # threads and exit handlers of the program have no say


def namespace(order: dict[str, Any]) -> dict[str, Any]:
    """Without ``__name__``, so that it resolves to ``builtins`` (MMAU spec 6.2)."""
    return {"__name__": "__main__"} if order["main"] else {}


def guard(*, exits: bool) -> None:
    """Set to nothing what the reference sets to nothing. It makes programs fail as they do there; it protects nothing."""
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

    SystemExit and the like go on, and with them the group, unless the order says that leaving ends the test only.
    """
    try:
        with streams(order, text) as printed:
            try:
                with clock.test():
                    exec(compile(order["code"], "<string>", "exec", dont_inherit=True), names)
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


@contextlib.contextmanager
def streams(order: dict[str, Any], text: str) -> Iterator[Callable[[], str]]:
    """The program's streams. In parity the output has no ``buffer`` and descriptor 0 stays empty [Q15]. Gives what reads the output."""
    kept = sys.stdin, sys.stdout, sys.stderr
    content = text.encode("utf-8")
    if order["buffers"]:
        raw = io.BytesIO()
        output: io.StringIO | io.TextIOWrapper = io.TextIOWrapper(raw, encoding="utf-8", newline="\n", write_through=True)

        def printed() -> str:
            output.flush()
            return raw.getvalue().decode("utf-8", "replace")

        feed = os.memfd_create("input")
        with open(feed, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(feed, 0, os.SEEK_SET)
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


if __name__ == "__main__":
    main()
