"""The public names for users of AgentGauge, loaded at first use; ``agentgauge.authoring`` has those that only some
benchmarks need. No module of the project imports from here."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentgauge_reports.results import compare, read_run

    from agentgauge.core.case import Case
    from agentgauge.core.chat import Conversation, SimulatedUser
    from agentgauge.core.errors import DataProblem, Fault, ToolError, UsageProblem
    from agentgauge.core.task import Task
    from agentgauge.core.task_options import TaskOption
    from agentgauge.core.types import Sample, Score
    from agentgauge.pytest_plugin import benchmark_task
    from agentgauge.pytest_plugin.benchmark import benchmark
    from agentgauge.pytest_plugin.fixtures import Outcome
    from agentgauge.run.run import Run

__all__ = [
    "Case",
    "Conversation",
    "DataProblem",
    "Fault",
    "Outcome",
    "Run",
    "Sample",
    "Score",
    "SimulatedUser",
    "Task",
    "TaskOption",
    "ToolError",
    "UsageProblem",
    "benchmark",
    "benchmark_task",
    "compare",
    "read_run",
]

_MODULES = {
    "Case": "agentgauge.core.case",
    "Task": "agentgauge.core.task",
    "TaskOption": "agentgauge.core.task_options",
    "benchmark_task": "agentgauge.pytest_plugin",
    "benchmark": "agentgauge.pytest_plugin.benchmark",
    "Outcome": "agentgauge.pytest_plugin.fixtures",
    "Run": "agentgauge.run.run",
    **dict.fromkeys(("Conversation", "SimulatedUser"), "agentgauge.core.chat"),
    **dict.fromkeys(("DataProblem", "Fault", "ToolError", "UsageProblem"), "agentgauge.core.errors"),
    **dict.fromkeys(("Sample", "Score"), "agentgauge.core.types"),
    **dict.fromkeys(("compare", "read_run"), "agentgauge_reports.results"),
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
