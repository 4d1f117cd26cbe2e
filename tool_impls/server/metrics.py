"""Figures of a tool server in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
SIZES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """The figures of ``/metrics``. A server has its own registry, so that several in one process do not mix."""

    def __init__(self) -> None:
        own: Any = {"registry": CollectorRegistry()}
        tool: Any = {"labelnames": ["tool"], **own}
        self._registry = own["registry"]
        self._calls = Counter(
            "agentgauge_tool_calls", "Calls answered, by HTTP status.", labelnames=["tool", "status"], **own
        )
        self._errors = Counter("agentgauge_tool_errors", "Calls answered with another status than 200.", **tool)
        self._seconds = Histogram(
            "agentgauge_tool_seconds", "From request to answer, waiting included.", buckets=SECONDS, **tool
        )
        self._queue = Gauge("agentgauge_tool_queue_length", "Calls that wait for their turn.", **tool)
        self._running = Gauge("agentgauge_tool_running", "Calls at work.", **tool)
        self._device = Gauge(
            "agentgauge_tool_device", "1 where the model of a tool runs.", labelnames=["tool", "device"], **own
        )
        batches = Histogram("agentgauge_batch_size", "Calls that a model answered at once.", buckets=SIZES, **own)
        restarts = Counter("agentgauge_process_restarts", "Worker processes that ended and were replaced.", **own)
        self.batch, self.restarted = batches.observe, restarts.inc

    def add_tool(self, tool: str, waiting: Callable[[], int], running: Callable[[], int]) -> None:
        """Show a tool from the beginning, so that a counter's first rise is seen."""
        self._calls.labels(tool, "200")
        self._errors.labels(tool)
        self._queue.labels(tool).set_function(waiting)
        self._running.labels(tool).set_function(running)

    def placed(self, tool: str, devices: str) -> None:
        """``devices``: those of its model, with their cards."""
        self._device.labels(tool, devices).set(1)

    def answered(self, tool: str, status: int, seconds: float) -> None:
        self._calls.labels(tool, str(status)).inc()
        if status != 200:
            self._errors.labels(tool).inc()
        self._seconds.labels(tool).observe(seconds)

    def text(self) -> bytes:
        return generate_latest(self._registry)
