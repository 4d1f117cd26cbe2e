"""Agents of two frameworks use the benchmark's tools by MCP, as their makers' packages do it, on bundled tasks.

Each framework has an environment of its own, since it pins other versions. ``make test-heavy`` makes them, and runs
this.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.project import records, run_gta
from tests.reports.runs import chunks

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
FRAMEWORKS = ("openai", "smolagents")
POSTER = "The poster is tea_week.png, with TEA WEEK above and 20 % OFF UNTIL SUNDAY below the teapot."
TEXTS = [
    {"text": "TEA WEEK", "position": "mt", "color": "#0b4f3c", "filename": "tea_week_top.png"},
    {"text": "20 % OFF UNTIL SUNDAY", "position": "mb", "color": "white", "filename": "tea_week.png"},
]


def script(folder: Path, framework: str, calls: list[tuple[str, Any]], answer: str) -> Path:
    """The replies of a model that makes the calls and answers, the way the framework takes an answer."""
    replies: list[Any] = [{"tool_calls": [{"name": name, "arguments": arguments}]} for name, arguments in calls]
    final = {"tool_calls": [{"name": "final_answer", "arguments": {"answer": answer}}]}
    file = folder / "script.json"
    file.write_text(json.dumps({"replies": {"*": [*replies, answer if framework == "openai" else final]}}))
    return file


@pytest.fixture(params=FRAMEWORKS)
def framework(request: pytest.FixtureRequest) -> str:
    if not python_of(request.param).exists():
        pytest.skip("the framework is not installed; `make test-heavy` puts it into .venv/agents-NAME")
    return str(request.param)


def python_of(framework: str) -> Path:
    return Path(sys.prefix) / f"agents-{framework}" / "bin" / "python"


def command_of(framework: str) -> str:
    program = ROOT / "examples" / "agents" / f"{'openai_agents' if framework == 'openai' else framework}_agent.py"
    return f"{python_of(framework)} {program}"


@pytest.mark.uses("agents")
def test_a_workflow_is_solved_in_the_models_place(framework: str, tmp_path: Path) -> None:
    teapot = str(ROOT / "bench_gta" / "workflow" / "mini" / "files" / "teapot.jpg")
    images = (teapot, "results/image/tea_week_top.png")  # as the task names it, and as the tool's answer does
    calls = [("AddText", {**call, "image": image}) for call, image in zip(TEXTS, images, strict=True)]
    replies = script(tmp_path, framework, calls, POSTER)
    options = (f"--agent={command_of(framework)}", f"--model=scripted:{replies}", "--run-dir=run")
    result = run_gta(*options, "-k", "test_workflow and 13", cwd=tmp_path)
    assert "1 planned · 1 passed" in result.output, result.output
    (record,) = records(tmp_path / "run")
    assert not any(event["error"] for event in record["transcript"]["events"])


@pytest.mark.uses("agents", "page")
def test_a_query_is_solved_in_the_models_place(framework: str, tmp_path: Path) -> None:
    picture = ROOT / "bench_gta" / "atomic" / "mini" / "image" / "receipt_market.jpg"
    calls = [("OCR", {"image": str(picture)}), ("Calculator", {"expression": "round((29.19 - 6.40) / 3, 2)"})]
    replies = script(tmp_path, framework, calls, "Each of the other two owes you 7.60 euros.")
    options = (f"--agent={command_of(framework)}", f"--model=scripted:{replies}", "--run-dir=run")
    result = run_gta(*options, "-k", "test_end_to_end and 0", "--limit=1", cwd=tmp_path)
    assert "1 planned · 1 passed" in result.output, result.output
    (record,) = records(tmp_path / "run")
    events = record["transcript"]["events"]
    assert [event["name"] for event in events if event["kind"] == "tool"] == ["OCR", "Calculator"]
    assert not any(event["error"] for event in events)
    ((case,),) = chunks(tmp_path / "run" / "report.html")
    shown = [step.get("name") for step in case["said"]["steps"]]
    assert [name for name in shown if name in ("OCR", "Calculator")] == ["OCR", "Calculator"]
