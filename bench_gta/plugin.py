"""What GTA announces to AgentGauge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentgauge.core.task import Task
    from agentgauge.data.fetch.dataset import DataSet


def pytest_agentgauge_tasks() -> Sequence[Task]:
    from bench_gta.atomic.task import E2E, STEP
    from bench_gta.workflow.task import WORKFLOW

    return STEP, E2E, WORKFLOW


def pytest_agentgauge_data() -> Sequence[DataSet]:
    from bench_gta.fetch import ATOMIC, WORKFLOW

    return ATOMIC, WORKFLOW


def pytest_agentgauge_commands() -> Mapping[str, Callable[[Sequence[str]], int]]:
    from bench_gta.pack.command import main

    return {"pack": main}
