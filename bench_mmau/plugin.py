"""What MMAU announces to AgentGauge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentgauge.core.task import Task
    from agentgauge.data.fetch.dataset import DataSet


def pytest_agentgauge_tasks() -> Sequence[Task]:
    from bench_mmau.task import TASKS

    return TASKS


def pytest_agentgauge_data() -> Sequence[DataSet]:
    from bench_mmau.fetch import MMAU

    return (MMAU,)
