"""The public names for authors of benchmarks and readers of runs, loaded at first use. No module of the project imports
from here."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentgauge_reports.results import compare, read_run

    from agentgauge.core.capabilities import (
        Agent,
        AgentAnswer,
        AgentTask,
        Artifact,
        Breakdown,
        Breakdowns,
        Cell,
        Column,
        CombinedScores,
        ExternalAgents,
        Footnote,
        Leaderboard,
        Oracle,
        OwnOptions,
        Pictures,
        PredictionFiles,
        Presentation,
        Prompts,
        PublishedRows,
        RealTools,
        Similarity,
        TaskOption,
        ToolUse,
        role_option,
    )
    from agentgauge.core.case import Case
    from agentgauge.core.chat import (
        ChatReply,
        ChatRequest,
        Conversation,
        ConversationCall,
        Sampling,
        SimulatedUser,
        ToolCall,
    )
    from agentgauge.core.errors import DataProblem, Fault, ToolError, UsageProblem
    from agentgauge.core.estimate import MetricFormula
    from agentgauge.core.index import Entry, Index, Row, build_index, line_entries, list_entries, object_entries
    from agentgauge.core.task import DataSource, Task
    from agentgauge.core.task_registry import announce
    from agentgauge.core.tools import Tool, ToolBox, ToolOutput
    from agentgauge.core.types import ROOT_TOKEN, RUN_TOKEN, Sample, Score
    from agentgauge.model.providers import Provider, Quirks
    from agentgauge.pytest_plugin import benchmark_task
    from agentgauge.pytest_plugin.benchmark import benchmark
    from agentgauge.pytest_plugin.fixtures import Outcome
    from agentgauge.short_form.sample_files import SampleFiles

__all__ = [
    "ROOT_TOKEN",
    "RUN_TOKEN",
    "Agent",
    "AgentAnswer",
    "AgentTask",
    "Artifact",
    "Breakdown",
    "Breakdowns",
    "Case",
    "Cell",
    "ChatReply",
    "ChatRequest",
    "Column",
    "CombinedScores",
    "Conversation",
    "ConversationCall",
    "DataProblem",
    "DataSource",
    "Entry",
    "ExternalAgents",
    "Fault",
    "Footnote",
    "Index",
    "Leaderboard",
    "MetricFormula",
    "Oracle",
    "Outcome",
    "OwnOptions",
    "Pictures",
    "PredictionFiles",
    "Presentation",
    "Prompts",
    "Provider",
    "PublishedRows",
    "Quirks",
    "RealTools",
    "Row",
    "Sample",
    "SampleFiles",
    "Sampling",
    "Score",
    "Similarity",
    "SimulatedUser",
    "Task",
    "TaskOption",
    "Tool",
    "ToolBox",
    "ToolCall",
    "ToolError",
    "ToolOutput",
    "ToolUse",
    "UsageProblem",
    "announce",
    "benchmark",
    "benchmark_task",
    "build_index",
    "compare",
    "line_entries",
    "list_entries",
    "object_entries",
    "read_run",
    "role_option",
]

_CAPABILITIES = "agentgauge.core.capabilities"
_MODULES = {
    "agentgauge.core.case": ("Case",),
    "agentgauge.core.chat": (
        *("ChatReply", "ChatRequest", "Conversation", "ConversationCall", "Sampling", "SimulatedUser", "ToolCall"),
    ),
    "agentgauge.core.errors": ("DataProblem", "Fault", "ToolError", "UsageProblem"),
    "agentgauge.core.estimate": ("MetricFormula",),
    "agentgauge.core.index": ("Entry", "Index", "Row", "build_index", "line_entries", "list_entries", "object_entries"),
    "agentgauge.core.task": ("DataSource", "Task"),
    "agentgauge.core.task_registry": ("announce",),
    "agentgauge.core.tools": ("Tool", "ToolBox", "ToolOutput"),
    "agentgauge.core.types": ("ROOT_TOKEN", "RUN_TOKEN", "Sample", "Score"),
    "agentgauge.model.providers": ("Provider", "Quirks"),
    "agentgauge.pytest_plugin": ("benchmark_task",),
    "agentgauge.pytest_plugin.fixtures": ("Outcome",),
    "agentgauge.short_form.sample_files": ("SampleFiles",),
    "agentgauge.pytest_plugin.benchmark": ("benchmark",),
    "agentgauge_reports.results": ("compare", "read_run"),
}
"""Where each public name is found; all others are capabilities."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = next((module for module, names in _MODULES.items() if name in names), _CAPABILITIES)
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return __all__
