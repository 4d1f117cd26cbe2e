"""What a request costs by the way it travels: our two transports, bare aiohttp, and httpx2 over HTTP/1.1 and HTTP/2.

Each client runs in a process of its own against the same endpoint; the rounds alternate, and the best of each counts.
"""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys

import pytest

from benchmarks.measure import ROOT, endpoint
from benchmarks.transport_probe import CLIENTS

REQUESTS = 1024
LATENCY = 0.2  # seconds
IN_FLIGHT = 128
ROUNDS = 3
FIGURES = {
    "cpu": ("CPU a request", 1000 / REQUESTS, "ms"),
    "wall": ("wall / limit", IN_FLIGHT / (REQUESTS * LATENCY), "×"),
    "first_cpu": ("CPU up to the first answer", 1000, "ms"),
    "first_mb": ("memory up to the first answer", 1, "MB"),
}
"""What the probe says, the title of its figure, the factor to its unit."""


def probe(name: str, url: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.transport_probe", name, url, str(REQUESTS), str(IN_FLIGHT)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture
def http2_url():
    """The address of an endpoint that speaks HTTP/2, or None where ``h2`` is not installed."""
    if importlib.util.find_spec("h2") is None:
        yield None
        return
    command = [sys.executable, "-m", "benchmarks.transport_probe", "serve-http2", str(LATENCY)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
        process.send_signal(signal.SIGTERM)


@pytest.mark.perf
def test_transports(benchmark, figure, http2_url):
    costs: dict[str, list[dict[str, float]]] = {name: [] for name in CLIENTS if name != "http2" or http2_url}
    with endpoint(LATENCY) as (url, _):

        def round_of_all() -> None:
            for name, found in costs.items():
                found.append(probe(name, http2_url if name == "http2" else url))

        benchmark.pedantic(round_of_all, rounds=ROUNDS)
    best = {name: {key: min(cost[key] for cost in found) for key in FIGURES} for name, found in costs.items()}
    for name, cost in best.items():
        for key, (title, factor, unit) in FIGURES.items():
            figure(f"{name}: {title}", cost[key] * factor, unit)
    figure("lean / openai, CPU a request", best["lean"]["cpu"] / best["openai"]["cpu"], most=0.5)
    figure(
        "lean / openai, CPU up to the first answer", best["lean"]["first_cpu"] / best["openai"]["first_cpu"], most=0.5
    )
