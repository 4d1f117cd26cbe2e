"""A tool's process that is killed before it gets its first call: the call is given to another, or fails, and never
waits for nobody."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.tools.test_worker_pool import pool_of
from tool_impls.server.calls import CallAnswer, QueuedCall


@pytest.mark.parametrize(
    ("killed", "status", "words"), [(1, 200, "2"), (99, 500, "ended before the call began (SIGKILL)")]
)
def test_a_process_that_is_killed_while_it_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: int, status: int, words: str
) -> None:
    start, started = asyncio.create_subprocess_exec, 0

    async def start_and_kill(*arguments: Any, **options: Any) -> asyncio.subprocess.Process:
        nonlocal started
        process = await start(*arguments, **options)
        started += 1
        if started <= killed:
            process.kill()
            await process.wait()
        return process

    async def call() -> CallAnswer:
        pool = pool_of("Calculator", tmp_path)
        try:
            call = QueuedCall("Calculator", str(tmp_path), {"expression": "1+1"}, {}, False)
            return await asyncio.wait_for(pool.run(call, 60), 20)
        finally:
            await pool.close()

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start_and_kill)
    answer = asyncio.run(call())
    told = json.loads(answer.body)
    assert (answer.status, words in str(told)) == (status, True), told
