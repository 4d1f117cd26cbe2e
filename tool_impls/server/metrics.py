"""Figures of a tool server in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
SIZES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """What ``/metrics`` shows. A server has its own registry, so that several in one process do not mix."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._calls = Counter(
            "agentgauge_tool_calls", "Calls answered, by HTTP status.", ["tool", "status"], registry=self._registry
        )
        self._errors = Counter(
            "agentgauge_tool_errors", "Calls answered with another status than 200.", ["tool"], registry=self._registry
        )
        self._seconds = Histogram(
            "agentgauge_tool_seconds",
            "From request to answer, waiting included.",
            ["tool"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self._queue = Gauge(
            "agentgauge_tool_queue_length", "Calls that wait for their turn.", ["tool"], registry=self._registry
        )
        self._running = Gauge("agentgauge_tool_running", "Calls at work.", ["tool"], registry=self._registry)
        self._batches = Histogram(
            "agentgauge_batch_size", "Calls that a model answered at once.", buckets=SIZES, registry=self._registry
        )
        self._restarts = Counter(
            "agentgauge_process_restarts", "Worker processes that ended and were replaced.", registry=self._registry
        )

    def add_tool(self, tool: str, waiting: Callable[[], int], running: Callable[[], int]) -> None:
        """Show a tool from the beginning, so that a counter's first rise is seen."""
        self._calls.labels(tool, "200")
        self._errors.labels(tool)
        self._queue.labels(tool).set_function(waiting)
        self._running.labels(tool).set_function(running)

    def answered(self, tool: str, status: int, seconds: float) -> None:
        self._calls.labels(tool, str(status)).inc()
        if status != 200:
            self._errors.labels(tool).inc()
        self._seconds.labels(tool).observe(seconds)

    def batch(self, size: int) -> None:
        self._batches.observe(size)

    def restarted(self) -> None:
        self._restarts.inc()

    def text(self) -> bytes:
        return generate_latest(self._registry)
