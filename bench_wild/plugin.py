"""What WildToolBench announces to AgentGauge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentgauge.core.task import Task
    from agentgauge.data.fetch.dataset import DataSet


def pytest_agentgauge_tasks() -> Sequence[Task]:
    from bench_wild.task import WILD

    return (WILD,)


def pytest_agentgauge_data() -> Sequence[DataSet]:
    from bench_wild.fetch import WILD

    return (WILD,)


def pytest_agentgauge_commands() -> Mapping[str, Callable[[Sequence[str]], int]]:
    from bench_wild.generate.command import main

    return {"generate": main}
