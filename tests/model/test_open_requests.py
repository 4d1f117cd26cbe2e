"""Requests of a run that stops: those on their way are awaited, the others end."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from typing import Any

import pytest

from agentgauge.model.open_requests import UNSENT, OpenRequests
from agentgauge.model.retry import EndpointHealth, Failure, RetryPolicy, persist

LONG = 60.0


def run(*sends: Any) -> tuple[list[Any], OpenRequests]:
    """The outcomes of requests; the run stops when all of them have begun. Fails if that takes long."""
    requests = OpenRequests()

    async def main() -> list[Any]:
        running = [asyncio.ensure_future(requests.run(send)) for send in sends]
        await asyncio.sleep(0.05)
        requests.stop()
        async with asyncio.timeout(5):
            return await asyncio.gather(*running, requests.run(at_once), return_exceptions=True)

    return asyncio.run(main()), requests


async def at_once(sending: AbstractContextManager[None]) -> str:
    with sending:
        return "answer"


async def on_its_way(sending: AbstractContextManager[None]) -> str:
    with sending:
        await asyncio.sleep(0.2)
    return "answer"


async def waiting_for_a_slot(sending: AbstractContextManager[None]) -> str:
    await asyncio.sleep(LONG)
    return "never"


async def between_two_attempts(sending: AbstractContextManager[None]) -> str | Failure:
    async def attempt() -> str | Failure:
        with sending:
            return Failure("http 500", "")

    return await persist(attempt, RetryPolicy(base=LONG, cap=LONG), EndpointHealth())


async def failing_when_the_run_stops(sending: AbstractContextManager[None]) -> str | Failure:
    async def attempt() -> str | Failure:
        with sending:
            await asyncio.sleep(0.2)
            return Failure("http 500", "")

    return await persist(attempt, RetryPolicy(base=LONG, cap=LONG), EndpointHealth())


async def failing_without_a_wait(sending: AbstractContextManager[None]) -> str | Failure:
    async def attempt() -> str | Failure:
        with sending:
            await asyncio.sleep(0.2)
            return Failure("http 429", "", "limit")

    return await persist(attempt, RetryPolicy(scale=0.0), EndpointHealth())


async def with_a_timeout_of_its_own(sending: AbstractContextManager[None]) -> str:
    with sending:
        async with asyncio.timeout(0.1):
            await asyncio.sleep(LONG)
    return "never"


@pytest.mark.parametrize(
    ("send", "outcome"),
    [
        (on_its_way, "answer"),
        (at_once, "answer"),
        (waiting_for_a_slot, UNSENT),
        (between_two_attempts, UNSENT),
        (failing_when_the_run_stops, UNSENT),
        (failing_without_a_wait, UNSENT),
    ],
)
def test_what_becomes_of_a_request(send: Any, outcome: Any) -> None:
    (found, later), requests = run(send)
    assert found == outcome
    assert later is UNSENT  # begun after the stop
    assert requests.sent == 0


def test_a_timeout_of_the_request_itself_is_no_stop() -> None:
    (found, _), _ = run(with_a_timeout_of_its_own)
    assert isinstance(found, TimeoutError)
