"""Turns of two threads: who waits for the floor, and who goes ahead without it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from agentgauge.run import handoff_lock as turns
from agentgauge.run.handoff_lock import Floor, TurnTaking

LONG = 30.0  # seconds, for waits that end at once where all is well


def in_thread(work: Callable[[], Any]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_who_has_the_floor_keeps_others_waiting_until_he_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", LONG)
    floor, took = Floor(), threading.Event()
    floor.take()
    other = in_thread(lambda: (floor.take(), took.set(), floor.leave()))
    assert not took.wait(0.05)
    floor.leave()
    assert took.wait(LONG)
    other.join(LONG)


def test_who_has_waited_long_enough_goes_ahead_and_takes_nothing_away() -> None:
    floor = Floor()
    floor.take()
    in_thread(lambda: (floor.take(), floor.leave())).join(LONG)  # after PATIENCE, without the floor
    taken = threading.Event()
    other = in_thread(lambda: (floor._lock.acquire(), taken.set()))
    assert not taken.wait(0.05), "the floor was still ours"
    floor.leave()
    assert taken.wait(LONG)
    other.join(LONG)


def test_a_loop_leaves_the_floor_while_it_waits_and_has_it_while_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "HASTE", LONG)
    floor = Floor()
    loop = asyncio.SelectorEventLoop(TurnTaking(floor))
    thread = in_thread(loop.run_forever)
    floor.take()  # the loop waits, so it is free
    ran, may_end = threading.Event(), threading.Event()
    loop.call_soon_threadsafe(lambda: (ran.set(), may_end.wait(LONG)))
    assert not ran.wait(0.05), "the loop worked while we had the floor"
    floor.leave()
    assert ran.wait(LONG)
    assert not floor._lock.acquire(blocking=False), "the loop works and has left the floor"
    may_end.set()
    assert floor._lock.acquire(timeout=LONG)
    floor._lock.release()
    loop.call_soon_threadsafe(loop.stop)
    thread.join(LONG)
    loop.close()


def test_a_loop_waits_once_for_somebody_who_keeps_the_floor_and_again_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []

    class Lock:
        """Taken, and never waited for."""

        def acquire(self, timeout: float) -> bool:
            waits.append(timeout)
            return False

    floor = Floor()
    floor._lock = Lock()  # type: ignore[assignment]
    floor.take(hurried=True)
    floor.take(hurried=True)
    floor.take()  # pytest: always
    floor._holder, floor._lock = threading.get_ident(), threading.Lock()
    floor._lock.acquire()
    floor.leave()
    floor._lock = Lock()  # type: ignore[assignment]
    floor.take(hurried=True)
    assert waits == [turns.HASTE, 0, turns.PATIENCE, turns.HASTE]
