"""Agents of two frameworks use the benchmark's tools by MCP, as their makers' packages do it, on bundled tasks.

Each framework has an environment of its own, since it pins other versions. ``make test-heavy`` makes them, and runs
this.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.gta.pack_data import pack, stored
from tests.plugin.project import records, run_gta
from tests.reports.runs import chunks

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
FRAMEWORKS = ("openai", "smolagents")
POSTER = "The poster is tea_week.png, with TEA WEEK above and 20 % OFF UNTIL SUNDAY below the teapot."
POSTER_CALLS = [
    {
        "image": "files/teapot.jpg",
        "text": "TEA WEEK",
        "position": "mt",
        "color": "#0b4f3c",
        "filename": "tea_week_top.png",
    },
    {
        "image": "results/image/tea_week_top.png",
        "text": "20 % OFF UNTIL SUNDAY",
        "position": "mb",
        "color": "white",
        "filename": "tea_week.png",
    },
]


def script(folder: Path, framework: str, calls: list[tuple[str, Any]], answer: str) -> Path:
    """The replies of a model that makes the calls and answers, the way the framework takes an answer."""
    replies: list[Any] = [{"tool_calls": [{"name": name, "arguments": arguments}]} for name, arguments in calls]
    final = {"tool_calls": [{"name": "final_answer", "arguments": {"answer": answer}}]}
    file = folder / "script.json"
    file.write_text(json.dumps({"replies": {"*": [*replies, answer if framework == "openai" else final]}}))
    return file


@contextmanager
def served(script: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "agentgauge.cli.main", "serve-model", f"--model=scripted:{script}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


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


def test_a_workflow_is_solved_in_the_sandbox(framework: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ids").write_text("13\n")
    replies = script(tmp_path, framework, [("AddText", call) for call in POSTER_CALLS], POSTER)
    with served(replies) as url:
        variables = {"": "scripted", "_URL": f"{url}/v1", "_KEY": "any-key-will-do"}
        given: list[str] = []
        for name, value in variables.items():
            monkeypatch.setenv(f"AGENTGAUGE_MODEL{name}", value)
            given += ["--env", f"AGENTGAUGE_MODEL{name}"]
        reach = ("--mcp", "--local-port", url.rpartition(":")[2])
        where = ("--out", tmp_path / "run", "--task-ids", tmp_path / "ids")
        status = pack("run", "--command", command_of(framework), *given, *reach, *where)
    folder = tmp_path / "run" / "13"
    assert status == 0, (folder / "stderr.txt").read_text()
    assert (folder / "final.txt").read_text().strip() == POSTER
    record = stored(folder / "run.json")
    assert [call["arguments"] for call in record["tools"]["calls"]] == [
        {**call, "image": call["image"].replace("files/", "input/")} for call in POSTER_CALLS
    ]
    assert not record["network"] and "net_ns" in record["sandbox"]
    assert pack("score", "--in-pack", tmp_path / "run" / "pack.json") == 0
    summary = stored(tmp_path / "run" / "pack_rules_scores_summary.json")
    assert summary["figures"]["Root SR"] == 100
    assert summary["steps"]["Args accepted"] == summary["steps"]["Tools used"] == 100


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
