"""Process L while the program runs: it enforces the limits that the kernel does not enforce for a group of
processes."""

from __future__ import annotations

import os
import select
import time

from . import usage

TYPE_CHECKING = False  # as typing has it; importing that module would cost 8 ms
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .confine import Spec
    from .connections import Connections
    from .folder import Folder
    from .steps import Steps

_TICK = 0.025  # seconds between two looks, each of which takes some tenths of a millisecond
_SEARCHING = 0.2  # where each look searches all processes of the machine


def until_the_end(
    spec: Spec,
    connections: Connections,
    steps: Steps | None,
    processes: usage.Processes,
    folder: Folder | None,
    deadline: float,
) -> Iterator[tuple[str, str]]:
    """Wait until the program has ended or has to end. Returns the report, if there is one: ``cause`` with ``timeout``,
    ``cpu``, ``step``, ``steps``, ``memory``, ``disk`` or ``output``, or ``end`` with the status.
    """
    clock, whole = usage.Clock(processes, time.monotonic), usage.Clock(processes, time.monotonic)
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


def _over(spec: Spec, processes: usage.Processes, folder: Folder | None, whole: usage.Clock) -> str | None:
    """Why the program has to end now, if it has."""
    if folder.is_full() if folder else usage.disk(processes, spec["folder"], spec["disk_bytes"]) >= spec["disk_bytes"]:
        return "disk"
    if spec["counted"]:
        if usage.ended(spec["events"]) > spec["ended_before"]:
            return "memory"
    elif usage.memory(processes, spec["memory_bytes"]) > spec["memory_bytes"]:
        return "memory"
    if spec["all_cpu_seconds"] is not None and whole.used() > spec["all_cpu_seconds"]:
        return "cpu"
    return None
