"""The public names for authors of benchmarks beyond those of ``agentgauge``: parts of a task, data sources, replies,
tools, providers. No module of the project imports from here."""

from agentgauge.core.agents import Agent, AgentAnswer, AgentTask, ToolUse
from agentgauge.core.chat import ChatReply, ChatRequest, ConversationCall, Sampling, ToolCall
from agentgauge.core.estimate import MetricFormula
from agentgauge.core.index import Entry, Index, Row, build_index, line_entries, list_entries, object_entries
from agentgauge.core.presentation import Artifact, Breakdown, Cell, CombinedScores, Presentation
from agentgauge.core.published import Column, Footnote, Leaderboard, Published
from agentgauge.core.registry import Registry
from agentgauge.core.task import DataSource, Pictures, PredictionFiles, Prompts, RealTools, Similarity
from agentgauge.core.task_options import role_option
from agentgauge.core.tools import Tool, ToolBox, ToolOutput
from agentgauge.core.types import ROOT_TOKEN, RUN_TOKEN, Metric, TaskSummary
from agentgauge.model.prices import PriceList
from agentgauge.model.providers import Provider, Quirks
from agentgauge.short_form.sample_files import SampleFiles
from agentgauge.short_form.task import author_of

__all__ = [
    "ROOT_TOKEN",
    "RUN_TOKEN",
    "Agent",
    "AgentAnswer",
    "AgentTask",
    "Artifact",
    "Breakdown",
    "Cell",
    "ChatReply",
    "ChatRequest",
    "Column",
    "CombinedScores",
    "ConversationCall",
    "DataSource",
    "Entry",
    "Footnote",
    "Index",
    "Leaderboard",
    "Metric",
    "MetricFormula",
    "Pictures",
    "PredictionFiles",
    "Presentation",
    "PriceList",
    "Prompts",
    "Provider",
    "Published",
    "Quirks",
    "RealTools",
    "Registry",
    "Row",
    "SampleFiles",
    "Sampling",
    "Similarity",
    "TaskSummary",
    "Tool",
    "ToolBox",
    "ToolCall",
    "ToolOutput",
    "ToolUse",
    "author_of",
    "build_index",
    "line_entries",
    "list_entries",
    "object_entries",
    "role_option",
]
