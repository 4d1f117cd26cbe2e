"""A program that is killed from outside is run once more; one that kills itself has ended."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgauge import sandbox
from agentgauge.sandbox.result import ended_from_outside, ending

WAITS = """
import ctypes, os, time
os.write(1, b"begun ")
ctypes.CDLL(None).prctl(15, b"sleeper")  # its name, by which the test sees that it has begun
time.sleep(0.7)
os.write(1, b"done")
"""
KILLS_ITSELF = "import os\nos.write(1, b'begun ')\nos.kill(os.getpid(), 9)\n"


def script(code: str) -> sandbox.Script:
    return sandbox.Script(f"def main():\n    exec({code!r})\nif __name__ == '__main__':\n    main()\n")


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def sleepers() -> Iterator[int]:
    """The program below this process, and the processes that hold it."""
    for comm in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):  # it has ended
            if comm.read_text() == "sleeper\n":
                chain = [int(comm.parent.name)]
                while chain[-1] > 1 and chain[-1] != os.getpid():
                    chain.append(parent(chain[-1]))
                if chain.pop() == os.getpid():
                    yield from chain


def kill_once(ended: threading.Event) -> None:
    while not ended.wait(0.01):
        if found := list(sleepers()):
            for pid in found:
                with contextlib.suppress(ProcessLookupError):  # one of them went with another
                    os.kill(pid, signal.SIGKILL)
            return


def test_a_program_that_is_killed_from_outside_is_run_once_more(tmp_path: Path) -> None:
    ended = threading.Event()
    killer = threading.Thread(target=kill_once, args=(ended,))
    killer.start()
    result = sandbox.run(script(WAITS), folder=tmp_path)
    ended.set()
    killer.join()
    assert (result.status, result.stdout) == ("ok", "begun done")


def test_one_that_kills_itself_has_ended(tmp_path: Path) -> None:
    result = sandbox.run(script(KILLS_ITSELF), folder=tmp_path)
    assert (result.status, result.reason, result.stdout) == ("killed", "it died of SIGKILL", "begun ")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (-9, "died of SIGKILL"),
        (-11, "died of SIGSEGV"),
        (-40, "died of signal 40"),
        (1, "ended with exit status 1"),
        (130, "ended with exit status 130, as a shell does when its program died of SIGINT"),
        (139, "ended with exit status 139"),
        (255, "ended with exit status 255"),
    ],
)
def test_how_a_process_ended_in_words(code: int, text: str) -> None:
    assert ending(code) == text


@pytest.mark.parametrize(
    ("status", "returncode", "expected"),
    [("killed", -9, True), ("killed", None, True), ("killed", -11, False), ("error", 137, False), ("ok", 0, False)],
)
def test_what_others_have_ended(status: str, returncode: int | None, expected: bool) -> None:
    assert ended_from_outside(status, returncode) is expected
