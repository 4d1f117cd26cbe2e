"""Tools on Ray Serve against the same tools in worker processes of the server: what a call costs, and how many there
are a second."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.test_tools import ROOT, photograph, serving
from tool_impls.server.client import ToolServerBox

CALLS = 60
MANY = 200
AT_A_TIME = 32
ADDED = 25.0  # milliseconds that Ray Serve may add to a call
NASTY = ROOT / "tests" / "tools" / "nasty_tools.py"
TOOLS = ("--extra", str(NASTY), "--tools", "Echo,Where,Model,ImageQualityTest,DrawBox")

pytest.importorskip("ray", reason="the extra ray is not installed")


@pytest.fixture(scope="module", params=["ours", "Ray Serve"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Which server, and its address: with two processes or replicas for light tools, and without kept results."""
    folder = tmp_path_factory.mktemp("tools")
    (folder / "tools.toml").write_text("[tools]\ncache_mb = 0\nreplicas = 2\n")
    where = ("--ray", "local") if request.param == "Ray Serve" else ()
    with serving(folder, "--settings", str(folder / "tools.toml"), *TOOLS, *where) as url:
        yield request.param, url


def calls(url: str, name: str, arguments: dict[str, Any], folder: Path, number: int, at_a_time: int) -> list[float]:
    """Seconds of each call."""

    async def one(box: ToolServerBox, turns: asyncio.Semaphore) -> float:
        async with turns:
            start = time.perf_counter()
            await box.call(name, arguments, folder=folder / "out", readable=[folder])
            return time.perf_counter() - start

    async def every() -> list[float]:
        box = ToolServerBox(url)
        try:
            await one(box, asyncio.Semaphore(1))
            turns = asyncio.Semaphore(at_a_time)
            return list(await asyncio.gather(*(one(box, turns) for _ in range(number))))
        finally:
            await box.close()

    return asyncio.run(every())


LONE: dict[tuple[str, str], float] = {}
"""Milliseconds of a call by server and tool."""


@pytest.mark.parametrize(("name", "arguments"), [("Echo", {"word": "x"}), ("ImageQualityTest", {})])
def test_a_call_at_a_time(place, tmp_path, benchmark, figure, name, arguments):
    server, url = place
    if name == "ImageQualityTest":
        arguments = {"image": str(photograph(tmp_path))}
    seconds = benchmark.pedantic(lambda: calls(url, name, arguments, tmp_path, CALLS, 1), rounds=1)
    LONE[server, name] = 1000 * statistics.median(seconds)
    what = "a text" if name == "Echo" else "a picture of 500 kB"
    figure(f"serve: a call with {what}, {server}", LONE[server, name], "ms")
    if ("ours", name) in LONE and server != "ours":
        added = LONE[server, name] - LONE["ours", name]
        figure(f"serve: what Ray Serve adds to a call with {what}", added, "ms", most=ADDED)
        assert added < ADDED


@pytest.mark.parametrize(
    ("name", "arguments"), [("Echo", {"word": "x"}), ("Where", {}), ("Model", {"word": "x"})], ids=lambda value: value
)
def test_many_calls_at_a_time(place, tmp_path, benchmark, figure, name, arguments):
    """Echo takes eight calls at a time in a process, Where one; Model works 50 ms on up to eight calls."""
    server, url = place
    start = time.perf_counter()
    benchmark.pedantic(lambda: calls(url, name, arguments, tmp_path, MANY, AT_A_TIME), rounds=1)
    a_second = MANY / (time.perf_counter() - start)
    kind = {"Echo": "texts", "Where": "texts, one call a process", "Model": "a model with batches of 8"}[name]
    figure(f"serve: {kind}, {AT_A_TIME} at a time, {server}", a_second, "calls/s")
