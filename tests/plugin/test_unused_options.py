"""An option does what it says in every task that it applies to; where it changes nothing, the header says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.mmau import records as made
from tests.model.fault_server import FaultServer, answer, tool_call
from tests.plugin.project import records, run_mmau, summary


def header(output: str) -> str:
    return " ".join(line for line in output.splitlines() if line.startswith("agentgauge: "))


def data(tmp_path: Path) -> tuple[str, str]:
    made.write(tmp_path / "data")
    return "--data", "data"


@pytest.mark.parametrize(
    ("dialect", "written"),
    [
        ("toolace", "[book(place='Lumen', seats=2)]"),
        ("react", 'Action: book\nAction Input: {"place": "Lumen", "seats": 2}'),
        ("qwen", '<tool_call>\n{"name": "book", "arguments": {"place": "Lumen", "seats": 2}}\n</tool_call>'),
    ],
)
def test_the_tool_tasks_of_mmau_speak_the_dialect(dialect, written, tmp_path):
    with FaultServer([answer(written)]) as server:
        model = ("--model", "m", "--model-url", server.url, f"--dialect={dialect}")
        output = run_mmau(*model, *data(tmp_path), "-m", "mmau_tool_single", "--run-dir", "run", cwd=tmp_path).output
    assert "is not used" not in output
    assert sorted(record["status"] for record in records(tmp_path / "run")) == ["passed", "wrong"]
    for seen in server.requests:
        assert seen.body.get("tool_choice", "none") == "none", "the server must not look for calls"
        assert "book" in json.dumps(seen.body["messages"] if dialect != "qwen" else seen.body["tools"])
    assert f"dialect {dialect} instead of native" in output


def test_a_server_that_parses_the_calls_of_a_dialect_is_told(tmp_path):
    call = tool_call("book", '{"place": "Lumen", "seats": 2}')
    with FaultServer([answer(None, tool_calls=[call])]) as server:
        model = ("--model", "m", "--model-url", server.url, "--dialect=toolace")
        output = run_mmau(
            *model, *data(tmp_path), "-m", "mmau_tool_single", "--run-dir", "run", cwd=tmp_path, status=1
        ).output
    assert "broken: 2 × server parsed" in output


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ("--dialect=toolace",),
            "--dialect toolace is for tasks with tools of their own: mmau.math_standard has none, and --dialect is not"
            " used",
        ),
        (("--mmau-solver=oracle",), "--mmau-solver oracle is not used: no selected task has this option"),
        (("--wild-language=zh",), "--wild-language zh is not used"),
        (("--temperature=0.5",), "--temperature 0.5 is not used: oracle answers by fixed rules"),
    ],
)
def test_an_option_that_changes_nothing_is_named(options, line, tmp_path):
    selected = ("--model", "oracle", "-m", "mmau_math_standard", "--run-dir", "run")
    assert line in header(run_mmau(*selected, *options, *data(tmp_path), cwd=tmp_path).output)
    notes = (tmp_path / "run" / "leaderboard.md").read_text()
    assert "dialect" not in notes, "math has the same figures in every dialect"
    assert summary(tmp_path / "run")["tasks"]["mmau.math_standard"]["passed"] == 3


def test_options_that_are_used_are_not_named(tmp_path):
    used = ("--mmau-judge", "baseline", "--model", "oracle", "-m", "mmau_math_standard", "--run-dir", "run")
    assert "not used" not in run_mmau(*used, *data(tmp_path), cwd=tmp_path).output
