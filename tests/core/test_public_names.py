"""What users import from ``agentgauge``."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import agentgauge
from tests.docs.pages import ROOT

NAMES = [
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
    "ROOT_TOKEN",
    "RUN_TOKEN",
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


def test_the_names_are_these() -> None:
    assert sorted(agentgauge.__all__) == dir(agentgauge) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_is_there(name: str) -> None:
    assert getattr(agentgauge, name) is not None


def test_an_unknown_name_is_none() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Recipe'"):
        agentgauge.Recipe  # noqa: B018


def test_an_import_loads_nothing_else() -> None:
    code = "import sys, agentgauge; print(*[name for name in sys.modules if name.partition('.')[0] == 'agentgauge'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["agentgauge"]


def test_the_classes_load_nothing_heavy() -> None:
    heavy = ("pytest", "openai", "aiohttp", "numpy", "torch", "httpx")
    for_tests = ("benchmark", "benchmark_task", "Outcome")
    names = [name for name in NAMES if name not in for_tests]
    code = f"import sys; from agentgauge import {', '.join(names)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not set(heavy) & set(done.stdout.split())


def test_nothing_inside_imports_them() -> None:
    """Submodules such as ``from agentgauge import sandbox`` are no names of it."""
    imported = re.compile(r"^ *(?:import agentgauge$|from agentgauge import ([^\n#]+))", re.MULTILINE)
    folders = ("agentgauge", "bench_gta", "bench_mmau", "bench_wild", "bundled_data", "reports", "tool_impls")
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        if "new_benchmark" in path.parts:
            continue  # what `agentgauge new` writes is a user's
        for found in imported.finditer(path.read_text(encoding="utf-8")):
            assert found[1] and not set(re.findall(r"\w+", found[1])) & set(NAMES), f"{path}: {found[0]}"
