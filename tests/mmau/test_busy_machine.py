"""The same stored programs get the same verdicts with one worker and with several, while other work keeps every
processor busy."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentgauge.run.thread_pools import CpuSlots
from tests.mmau import records as made
from tests.plugin.project import MMAU, PYTEST, python, records

pytestmark = pytest.mark.slow

BURN = "import time\nend = time.monotonic() + 240\nwhile time.monotonic() < end: pass"
COUNT = "total = 0\nfor i in range({rounds}):\n    total += i\nprint(int(input()) ** 2)"
PROGRAMS = {
    "cc_1": "print(int(input()) ** 2)",
    "cc_2": "print(int(input()) + 1)",
    **{f"cc_{number}": COUNT.format(rounds=3_000_000) for number in range(3, 6)},  # some tenths of a second
}


@contextmanager
def busy_from(file: Path, count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Keep the processors busy from the moment when this file exists. Gives the ``count`` processes that do so."""
    ended, burners = threading.Event(), list[subprocess.Popen[bytes]]()

    def burn() -> None:
        while not file.exists():
            if ended.wait(0.02):
                return
        burners.extend(subprocess.Popen([sys.executable, "-I", "-S", "-c", BURN]) for _ in range(count))

    starter = threading.Thread(target=burn)
    starter.start()
    try:
        yield burners
    finally:
        ended.set()
        starter.join()
        for burner in burners:
            burner.kill()
            burner.wait()


@pytest.mark.parametrize(("workers", "burning"), [("2", 2), pytest.param("4", 3, marks=pytest.mark.long)])
def test_verdicts_do_not_depend_on_workers_or_load(workers: str, burning: int, tmp_path: Path) -> None:
    tests = [made.contest(int(name[3:]), private_tests=made.EMPTY) for name in PROGRAMS]
    made.write(tmp_path / "data", code_contests_solve=tests)
    script = {"replies": {f"*/{name}": [program] for name, program in PROGRAMS.items()}}
    (tmp_path / "script.json").write_text(json.dumps(script))
    options = ("--model", f"scripted:{tmp_path / 'script.json'}", "--data", "data", "-m", "mmau_contest_solver")
    first = python(*PYTEST, *MMAU, *options, "--run-dir", "one", cwd=tmp_path, seconds=300)
    assert first.status == 0, first.output
    slots = tmp_path / ".cache" / "agentgauge" / "places"
    shutil.rmtree(slots)
    with busy_from(slots / "place-0", burning) as burners:  # which the first program makes
        many = ("--rescore", "one", "-n", workers, "--run-dir", "many")
        again = python(*PYTEST, *MMAU, *many, cwd=tmp_path, seconds=300)
        assert again.status == 0, again.output
        assert [burner.poll() for burner in burners] == [None] * burning
    verdicts = [{record["sample"]: record["status"] for record in records(tmp_path / way)} for way in ("one", "many")]
    assert verdicts[0] == {name: "wrong" if name == "cc_2" else "passed" for name in PROGRAMS}
    assert verdicts[1] == verdicts[0]


# -- places that processes share


HOLD = """
import sys, time
from pathlib import Path
from agentgauge.run.thread_pools import CpuSlots
with getattr(CpuSlots(Path(sys.argv[1]), 2), sys.argv[2])():
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def held(tmp_path: Path) -> Iterator[object]:
    """Start a process that holds a place, or the machine, until it is told to let go or is killed."""
    started = []

    def start(how: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", HOLD, str(tmp_path), how]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
        )
        started.append(process)
        assert process.stdout and process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def entered(machine: CpuSlots, how: str) -> threading.Event:
    """An event that is set as soon as a place, or the machine, could be had."""
    event = threading.Event()

    def enter() -> None:
        with getattr(machine, how)():
            event.set()

    threading.Thread(target=enter, daemon=True).start()
    return event


@pytest.mark.parametrize(
    ("holders", "wanted", "free"),
    [
        ([], "slot", True),
        (["slot"], "slot", True),
        (["slot", "slot"], "slot", False),
        (["alone"], "slot", False),
        (["slot"], "alone", False),
        ([], "alone", True),
    ],
)
def test_places_are_shared_by_processes(holders, wanted, free, held, tmp_path):
    processes = [held(how) for how in holders]
    event = entered(CpuSlots(tmp_path, 2), wanted)
    assert event.wait(30 if free else 0.3) == free
    for process in processes:
        process.kill()  # the kernel gives the place back
    assert event.wait(30)


def test_who_wants_to_be_alone_goes_first(held, tmp_path):
    first = held("slot")
    alone = entered(CpuSlots(tmp_path, 2), "alone")
    time.sleep(0.2)  # until it waits
    later = entered(CpuSlots(tmp_path, 2), "slot")
    assert not later.wait(0.3)
    first.kill()
    assert alone.wait(30) and later.wait(30)


def test_a_place_says_whether_it_is_the_only_one(held, tmp_path):
    machine = CpuSlots(tmp_path, 2)
    with machine.slot() as mine:
        assert not machine.crowded(mine)
        process = held("slot")
        assert machine.crowded(mine)
        process.kill()
        process.wait()
        assert not machine.crowded(mine)
