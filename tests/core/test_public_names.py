"""What users import from ``agentgauge`` and ``agentgauge.authoring``."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import agentgauge
from agentgauge import authoring
from tests.docs.pages import ROOT

NAMES = [
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


def test_the_names_are_these() -> None:
    assert sorted(agentgauge.__all__) == dir(agentgauge) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_is_there(name: str) -> None:
    assert getattr(agentgauge, name) is not None


def test_no_name_is_in_both() -> None:
    assert not set(NAMES) & set(authoring.__all__)


def test_an_unknown_name_is_none() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Recipe'"):
        agentgauge.Recipe  # noqa: B018


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_an_import_loads_nothing_else() -> None:
    found = modules_after("import agentgauge")
    assert {name for name in found if name.partition(".")[0] == "agentgauge"} == {"agentgauge"}


@pytest.mark.parametrize(
    "code",
    [
        f"from agentgauge import {', '.join(sorted({*NAMES} - {'benchmark', 'benchmark_task', 'Outcome'}))}",
        "import agentgauge.authoring",
    ],
)
def test_the_classes_load_nothing_heavy(code: str) -> None:
    assert not {"pytest", "openai", "aiohttp", "numpy", "torch", "httpx"} & modules_after(code)


def test_nothing_inside_imports_them() -> None:
    """Submodules such as ``from agentgauge import sandbox`` are no names of it."""
    imported = re.compile(
        r"^ *(?:import agentgauge(?:\.authoring)?$|from agentgauge import ([^\n#]+)|from agentgauge\.authoring import)",
        re.MULTILINE,
    )
    folders = ("agentgauge", "bench_gta", "bench_mmau", "bench_wild", "bundled_data", "reports", "tool_impls")
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        if "new_benchmark" in path.parts or path.name == "hookspec.py":
            continue  # what `agentgauge new` writes is a user's, and so are the examples of hooks
        for found in imported.finditer(path.read_text(encoding="utf-8")):
            assert found[1] and not set(re.findall(r"\w+", found[1])) & set(NAMES), f"{path}: {found[0]}"
