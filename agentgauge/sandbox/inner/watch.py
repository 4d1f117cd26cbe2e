"""Process L while the program runs: it reads from /proc what the processes of a sandbox use, and enforces the limits
that the kernel does not enforce for a group of processes."""

# pathlib would cost 5 ms to import, a quarter of a start.
# ruff: noqa: PTH116, PTH208
from __future__ import annotations

import os
import select
import stat
import time

from .mounts import MAX_ENTRIES

TYPE_CHECKING = False  # as typing has it; importing that module would cost 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from .confine import Connections, Spec
    from .mounts import Folder


_TICKS = os.sysconf("SC_CLK_TCK")
_HELD = (b"RssAnon", b"RssShmem", b"VmSwap")
_HELD_FAIRLY = (b"Pss_Anon", b"Pss_Shmem", b"SwapPss")  # pages that several processes map count once


class Processes:
    """The processes of a sandbox: the processes in its own /proc, else the descendants of one process."""

    def __init__(self, first: int, proc: int | None) -> None:
        """``first``: process I, which is not counted. ``proc``: a descriptor of the sandbox's own /proc; None: the
        host's is searched."""
        self._first = first
        self.own = proc is not None
        self._proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) if proc is None else proc

    @property
    def pids(self) -> list[int]:
        """Process ids, as in the /proc that is read."""
        if self.own:
            return [int(name) for name in os.listdir(self._proc) if name.isdigit() and name != "1"]
        parents, found, waiting = self.parents(), [], [self._first]
        while waiting:
            above = waiting.pop()
            below = [pid for pid, parent in parents.items() if parent == above]
            found += below
            waiting += below
        return found

    def parents(self) -> dict[int, int]:
        """The parent of each process that this /proc shows."""
        read = ((int(name), _fields(self.read(int(name), "stat"))) for name in os.listdir(self._proc) if name.isdigit())
        return {pid: int(fields[1]) for pid, fields in read if fields}

    def inherited(self) -> float:
        """Seconds of processor time of ended processes for which process I has waited."""
        fields = _fields(self.read(1 if self.own else self._first, "stat"))
        return _seconds(fields[13:15])

    def read(self, pid: int, name: str) -> bytes:
        """The content of a file of a process; empty if the process has ended or access is refused."""
        try:
            file = os.open(f"{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc)
        except OSError:
            return b""
        try:
            return os.read(file, 1 << 16)
        except OSError:
            return b""
        finally:
            os.close(file)

    def open_files(self, pid: int) -> Iterable[os.stat_result]:
        """The targets of a process's descriptors; empty if access is refused."""
        try:
            table = os.open(f"{pid}/fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._proc)
        except OSError:
            return
        try:
            for name in os.listdir(table):
                try:
                    yield os.stat(name, dir_fd=table)
                except OSError:
                    continue
        except OSError:
            return
        finally:
            os.close(table)


def memory(processes: Processes, limit: int) -> int:
    """Bytes that the processes hold besides files. Shared pages count once, but only if the quick sum is above the
    limit."""
    pids = processes.pids
    total = sum(_sum(processes.read(pid, "status"), _HELD) for pid in pids)
    if total <= limit:
        return total
    fair = 0
    for pid in pids:
        rollup = processes.read(pid, "smaps_rollup")
        fair += _sum(rollup, _HELD_FAIRLY) if rollup else _sum(processes.read(pid, "status"), _HELD)
    return fair


def ended(events: int) -> int:
    """How many processes the kernel has ended because their control group reached the limit of memory."""
    lines = os.pread(events, 1 << 12, 0).splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(b"oom_kill "))


def _sum(text: bytes, names: Iterable[bytes]) -> int:
    total = 0
    for line in text.splitlines():
        name, _, value = line.partition(b":")
        if name in names:
            total += int(value.split()[0]) << 10
    return total


class Clock:
    """Seconds that the processes have been busy since the last ``start``: on a processor, or asleep while they could
    have worked.

    Waiting for a processor does not count. A third of the time may be unaccounted for, because a virtual machine may be
    paused without noticing it.
    """

    def __init__(self, processes: Processes, now: Callable[[], float]) -> None:
        self._processes = processes
        self._now = now
        self._alive: dict[tuple[int, bytes], tuple[float, float]] = {}
        """By number and start of a process: processor time, waiting time."""
        self._ended = (0.0, 0.0)  # of those that are gone, as last seen
        self._begin = (0.0, 0.0, 0.0)

    def start(self) -> None:
        self._begin = self._look()

    def read(self) -> tuple[float, float]:
        """Seconds of wall time and of busy time since ``start``."""
        wall, used, waited = (now - then for now, then in zip(self._look(), self._begin, strict=True))
        asleep = wall - used - waited
        return wall, used + max(0.0, asleep - used / 2)

    def used(self) -> float:
        """Seconds of processor time of all processes since ``start``."""
        return self._look()[1] - self._begin[1]

    def _look(self) -> tuple[float, float, float]:
        alive, inherited = {}, self._processes.inherited()
        for pid in self._processes.pids:
            if fields := _fields(self._processes.read(pid, "stat")):
                waited = self._processes.read(pid, "schedstat").split()  # of the first thread
                alive[pid, fields[19]] = _seconds(fields[11:13]), int(waited[1]) / 1e9 if len(waited) > 1 else 0.0
                inherited += _seconds(fields[11:15])
        gone = [self._alive[key] for key in self._alive.keys() - alive.keys()]
        self._ended = (
            self._ended[0] + sum(used for used, _ in gone),
            self._ended[1] + sum(waited for _, waited in gone),
        )
        self._alive = alive
        seen = self._ended[0] + sum(used for used, _ in alive.values())
        # Neither sum is complete: the first lacks processes that lived shorter than a look, the second those that no
        # parent waited for.
        return self._now(), max(seen, inherited), self._ended[1] + sum(waited for _, waited in alive.values())


def _fields(stat_file: bytes) -> list[bytes]:
    """The fields of ``stat`` behind the program's name, which may hold anything; empty if the process has ended."""
    return stat_file.rpartition(b")")[2].split()


def _seconds(fields: Iterable[bytes]) -> float:
    return sum(map(int, fields)) / _TICKS


def disk(processes: Processes, path: str, enough: int) -> int:
    """Bytes of a folder on disk, and of files that were removed from it while they are open. Counting stops at
    ``enough``.

    Files that were removed and are only mapped, or on their way through a socket, are not found.
    """
    total = size_of_tree(path, enough)
    device, seen = os.stat(path).st_dev, set()
    for pid in processes.pids:
        for found in processes.open_files(pid):
            removed = stat.S_ISREG(found.st_mode) and not found.st_nlink and found.st_dev == device
            if removed and found.st_ino not in seen:
                seen.add(found.st_ino)
                total += found.st_blocks * 512
    return total


def size_of_tree(path: str, enough: int) -> int:
    """Bytes on disk below a folder. Counting stops at ``enough``; too many entries count as ``enough``."""
    total = entries = 0
    waiting = [path]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as found:
                for entry in found:
                    entries += 1
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    if entries > MAX_ENTRIES or total >= enough:
                        return enough
        except FileNotFoundError:
            continue  # removed while we looked
        except OSError:
            return enough  # closed to us, or a path longer than the system allows: no program does so in good faith
    return total


_HEAD = 8  # bytes that give a message's length
_CHUNK = 1 << 16


class StepFeed:
    """The program's work, piece by piece: the next piece only when the last one has been answered; and their times.

    Every message is 8 bytes of length, little-endian, and a body; pieces come through standard input, answers go to
    standard output. The first answer, empty, says that the program is ready. The pieces are held back here, outside of
    the program's reach, so the program cannot falsify the time between a piece and its answer.
    """

    def __init__(
        self, spec: Mapping[str, Any], first: bytes, most: int, send: Callable[[bytes], None], connections: Connections
    ) -> None:
        """``spec``: ``result.Steps`` as a dict. ``most``: bytes of all answers."""
        self._waiting = [first, *spec["inputs"]]
        self._busy, self._total, self._wall = spec["busy_seconds"], spec["total_seconds"], spec["wall_seconds"]
        self._left = most
        self._send = send
        self._out = b""
        self._in = bytearray()
        self._spent = 0.0
        self._timed = False
        self._feed, self.reading = connections.feed, connections.reading
        for descriptor in (self._feed, self.reading):
            os.set_blocking(descriptor, False)
        self._next()

    def _next(self) -> None:
        piece = self._waiting.pop(0)
        self._out = len(piece).to_bytes(_HEAD, "little") + piece

    @property
    def writing(self) -> int | None:
        """The descriptor that takes more of a piece, None if nothing is to be written."""
        return self._feed if self._out else None

    def write(self) -> None:
        """Write what fits; nothing more if the program has closed its end."""
        try:
            self._out = self._out[os.write(self._feed, self._out[:_CHUNK]) :]
        except BlockingIOError:
            pass
        except OSError:
            self._out = b""

    def read(self, clock: Clock) -> str | None:
        """Take in what has been answered. ``done`` after the last answer, ``output`` if it is too much, ``closed``
        if no more can come."""
        try:
            part = os.read(self.reading, _CHUNK)
        except BlockingIOError:
            return None
        if not part:
            return "closed"
        self._in += part
        if len(self._in) < _HEAD:
            return None
        size = int.from_bytes(self._in[:_HEAD], "little")
        if size > self._left:
            return "output"
        if len(self._in) < _HEAD + size:
            return None
        if len(self._in) > _HEAD + size:
            return "closed"  # more than was asked for: these are no answers
        return self._answered(bytes(self._in[_HEAD:]), clock)

    def _answered(self, answer: bytes, clock: Clock) -> str | None:
        self._in.clear()
        self._left -= len(answer)
        if self._timed:
            if over := self.over(clock):
                return over
            busy = clock.read()[1]
            self._spent += busy
            self._send(b"answer %d %.3f\n" % (len(answer), busy) + answer)
        else:
            self._send(b"ready \n")
        if not self._waiting:
            return "done"
        self._timed = True
        clock.start()
        self._next()
        return None

    def over(self, clock: Clock) -> str | None:
        """``step`` if the present step has taken too long, ``steps`` if all of them together have."""
        if not self._timed:
            return None
        wall, busy = clock.read()
        if wall > self._wall or (self._busy is not None and busy > self._busy):
            return "step"
        if self._total is not None and self._spent + busy > self._total:
            return "steps"
        return None


_TICK = 0.025  # seconds between two looks, each of which takes some tenths of a millisecond
_SEARCHING = 0.2  # where each look searches all processes of the machine


def until_the_end(
    spec: Spec,
    connections: Connections,
    steps: StepFeed | None,
    processes: Processes,
    folder: Folder | None,
    deadline: float,
) -> Iterator[tuple[str, str]]:
    """Wait until the program has ended or has to end. Returns the report, if there is one: ``cause`` with ``timeout``,
    ``cpu``, ``step``, ``steps``, ``memory``, ``disk`` or ``output``, or ``end`` with the status.
    """
    clock, whole = Clock(processes, time.monotonic), Clock(processes, time.monotonic)
    tick = _TICK if processes.own else _SEARCHING
    reading = steps is not None
    next_look = time.monotonic() + tick
    while True:
        now = time.monotonic()
        if now >= deadline:
            yield "cause", "timeout"
            return
        poll = select.poll()
        poll.register(0, select.POLLIN)
        poll.register(connections.ended, select.POLLIN)
        if steps and reading:
            poll.register(steps.reading, select.POLLIN)
        if steps and steps.writing is not None:
            poll.register(steps.writing, select.POLLOUT)
        ready = {descriptor for descriptor, _ in poll.poll(max(0.0, min(deadline, next_look) - now) * 1000)}
        if 0 in ready:
            return
        if steps and steps.writing in ready:
            steps.write()
        cause = None
        if steps and reading and steps.reading in ready:
            cause = steps.read(clock)
            if cause == "done" and not (cause := _over(spec, processes, folder, whole)):
                yield "end", "0 0"
                return
            reading = cause != "closed"
            cause = None if cause == "closed" else cause
        more = steps is not None and reading and steps.reading in ready  # of an answer, maybe
        ended = not cause and not more and connections.ended in ready
        if not cause and (ended or time.monotonic() >= next_look):
            next_look = time.monotonic() + tick
            cause = _over(spec, processes, folder, whole) or (steps.over(clock) if steps and not ended else None)
        if cause:
            yield "cause", cause
            return
        if ended:
            status = os.read(connections.ended, 100).decode("ascii")
            if status:  # else process I has died, which is the program's doing
                yield "end", status
            return


def _over(spec: Spec, processes: Processes, folder: Folder | None, whole: Clock) -> str | None:
    """Why the program has to end now, if it has."""
    if folder.is_full() if folder else disk(processes, spec["folder"], spec["disk_bytes"]) >= spec["disk_bytes"]:
        return "disk"
    if spec["counted"]:
        if ended(spec["events"]) > spec["ended_before"]:
            return "memory"
    elif memory(processes, spec["memory_bytes"]) > spec["memory_bytes"]:
        return "memory"
    if spec["all_cpu_seconds"] is not None and whole.used() > spec["all_cpu_seconds"]:
        return "cpu"
    return None
