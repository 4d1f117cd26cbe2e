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

ROUNDS = 30
AT_A_TIME = 32
ADDED = 25.0  # milliseconds that Ray Serve may add to a call
NASTY = ROOT / "tests" / "tools" / "nasty_tools.py"
TOOLS = ("--extra", str(NASTY), "--tools", "Echo,Where,Model,ImageQualityTest,DrawBox")

pytest.importorskip("ray", reason="the extra ray is not installed")


OURS, SERVE = "ours", "Ray Serve"


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Both servers: with two processes or replicas for light tools."""
    folder = tmp_path_factory.mktemp("tools")
    (folder / "tools.toml").write_text("[tools]\nreplicas = 2\n")
    arguments = ("--settings", str(folder / "tools.toml"), *TOOLS)
    with serving(folder, *arguments) as ours, serving(folder, *arguments, "--ray", "local") as serve:
        yield {OURS: ours, SERVE: serve}


def in_turns(
    urls: dict[str, str], name: str, arguments: dict[str, Any], folder: Path, *, at_a_time: int
) -> dict[str, float]:
    """Median seconds that so many calls at a time take, by server.

    The servers take turns, since a machine does not run at the same speed all the time.
    """

    async def every() -> dict[str, float]:
        boxes = {server: ToolServerBox(url) for server, url in urls.items()}
        seconds: dict[str, list[float]] = {server: [] for server in urls}
        try:
            for _ in range(ROUNDS + 2):
                for server, box in boxes.items():
                    start = time.perf_counter()
                    calls = (box.call(name, arguments, folder=folder, readable=[folder]) for _ in range(at_a_time))
                    await asyncio.gather(*calls)
                    seconds[server].append(time.perf_counter() - start)
        finally:
            for box in boxes.values():
                await box.close()
        return {server: statistics.median(found[2:]) for server, found in seconds.items()}

    return asyncio.run(every())


@pytest.mark.parametrize("what", ["a text", "a picture of 500 kB"])
def test_a_call_at_a_time(urls, tmp_path, benchmark, figure, what):
    picture = {"image": str(photograph(tmp_path))}
    name, arguments = ("Echo", {"word": "x"}) if what == "a text" else ("ImageQualityTest", picture)
    seconds = benchmark.pedantic(lambda: in_turns(urls, name, arguments, tmp_path, at_a_time=1), rounds=1)
    for server, found in seconds.items():
        figure(f"serve: a call with {what}, {server}", 1000 * found, "ms")
    added = 1000 * (seconds[SERVE] - seconds[OURS])
    figure(f"serve: what Ray Serve adds to a call with {what}", added, "ms", most=ADDED)
    assert added < ADDED


@pytest.mark.parametrize(
    ("name", "arguments", "what"),
    [
        ("Echo", {"word": "x"}, "texts"),
        ("Where", {}, "texts, one call a process"),
        ("Model", {"word": "x"}, "a model with batches of 8"),
    ],
)
def test_many_calls_at_a_time(urls, tmp_path, benchmark, figure, name, arguments, what):
    """Echo takes eight calls at a time in a process, Where one; Model works 50 ms on up to eight calls."""
    seconds = benchmark.pedantic(lambda: in_turns(urls, name, arguments, tmp_path, at_a_time=AT_A_TIME), rounds=1)
    for server, found in seconds.items():
        figure(f"serve: {what}, {AT_A_TIME} at a time, {server}", AT_A_TIME / found, "calls/s")
