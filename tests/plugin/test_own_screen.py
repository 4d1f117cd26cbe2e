"""What a person sees of a project's own tests, and what is left of them: what was asked for, and nothing more."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.model.fault_server import FaultServer, Seen, answer, status
from tests.plugin.project import records, summary
from tests.plugin.test_installed import forked_in

TESTS = """
import pytest

@pytest.mark.receipts
def test_greets(model):
    assert "morning" in model.complete("hello").text

def test_is_polite(model):
    assert "please" in model.complete("hello").text

def test_ends_in_a_fault(model):
    model.complete("fault")

def test_skips(model):
    pytest.skip("now")
"""

NOISE = (
    "95 %",
    "missing",
    "planned",
    "value",
    "Passed",
    "not ready",
    "disabled",
    "cost",
    "scoring",
    "dialect",
    "clean",
)
"""Words of our lines about benchmarks, none of which belongs to a project's own tests."""


@pytest.fixture
def endpoint():
    def choose(seen: Seen):
        return status(500, "on fire") if "fault" in str(seen.body["messages"]) else answer("good morning")

    with FaultServer(choose=choose) as server:
        yield server


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = receipts\n")
    (folder / "test_own.py").write_text(TESTS)
    return folder


def model_of(endpoint: FaultServer) -> tuple[str, ...]:
    return ("--model=m", f"--model-url={endpoint.url}")


def left(folder: Path) -> set[str]:
    there = {"pytest.ini", "test_own.py", "agentgauge.toml", "__pycache__", ".cache", ".benchmarks"}
    return {path.name for path in folder.iterdir()} - there


def noise(output: str) -> list[str]:
    """Our words in the output, without the tests' own tracebacks."""
    shown = re.sub(r"=+ FAILURES =+.*?(?==+ (?:agentgauge|short test summary info) =+)", "", output, flags=re.DOTALL)
    lines = [line for line in shown.splitlines() if not line.startswith(("benchmark:", "plugins:", "FAILED"))]
    return [line for line in lines for word in NOISE if word in line]


@pytest.mark.parametrize("more", [(), ("-q",), ("-x",), ("-n", "2"), ("-v",)], ids=" ".join)
def test_nothing_is_left_and_nothing_is_said_beyond_the_model(project, endpoint, more):
    result = forked_in(project, *model_of(endpoint), *more)
    assert result.status == 1, result.output
    assert result.output.count("agentgauge: ") == 1, result.output
    assert f"agentgauge: model m at {endpoint.url}\n" in result.output
    assert noise(result.output) == []
    assert "= agentgauge =" not in result.output and "results:" not in result.output
    assert left(project) == set()


def test_without_any_option_nothing_is_left_either(project):
    result = forked_in(project, "-k", "skips or greets")
    assert "agentgauge: model baseline\n" in result.output, result.output
    assert left(project) == set()


@pytest.mark.parametrize("more", [(), ("-n", "2")], ids=["serial", "xdist"])
def test_a_named_folder_holds_records_page_and_usage(project, endpoint, more):
    result = forked_in(project, *model_of(endpoint), "--run-dir=run", *more)
    assert result.status == 1, result.output
    assert "own tests: 1 passed, 1 wrong, 1 broken; 2 requests to the model; 30 tokens\n" in result.output
    assert noise(result.output) == []
    assert left(project) == {"run"}
    assert len(records(project / "run")) == 3
    metric = summary(project / "run")["tasks"]["tests"]["metrics"]["Passed"]
    assert metric["low"] is None and metric["high"] is None
    page = (project / "run" / "report.html").read_text()
    data = json.loads(re.search(r'<script[^>]* id="data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    assert data["boards"] == [] and data["meaning"] == "" and data["alarm"] == ""
    assert [(task["planned"], task["missing"]) for task in data["tasks"]] == [(3, 0)]
    assert len(data["cases"]["sample"]) == 3


@pytest.mark.parametrize(
    ("more", "toml", "stays"),
    [
        ((), "[tests]\nrun_folder = true\n", True),
        ((), "[tests]\nrun_folder = false\n", False),
        (("--gate=tests.Passed>=10",), "", True),
        (("--budget=1Mtok",), "", True),
        (("--shard=1/1",), "", True),
        (("--record=tape.jsonl",), "", False),
        (("--alluredir=allure",), "", False),
    ],
    ids=str,
)
def test_what_asks_for_a_folder(project, endpoint, more, toml, stays):
    if toml:
        (project / "agentgauge.toml").write_text(toml)
    forked_in(project, *model_of(endpoint), *more)
    folders = [*(project / "runs").iterdir()] if (project / "runs").exists() else []
    assert [folder.is_dir() for folder in folders] == [True] * stays
    others = {word.partition("=")[2] for word in more if word.startswith(("--record", "--alluredir"))}
    assert left(project) - {"runs"} == others


def test_a_setting_that_is_no_truth_value_is_refused(project):
    (project / "agentgauge.toml").write_text('[tests]\nrun_folder = "yes"\n')
    result = forked_in(project, "--model=baseline")
    assert result.status == 4
    assert "[tests] run_folder must be true or false, not a text" in result.output


def test_allure_has_the_transcript_without_a_folder(project, endpoint):
    forked_in(project, *model_of(endpoint), "--alluredir=allure")
    results = [json.loads(path.read_text()) for path in (project / "allure").glob("*-result.json")]
    steps = {result["name"]: [step["name"] for step in result.get("steps", ())] for result in results}
    assert steps["test_greets"] == ["model: good morning"]


def test_tools_that_no_test_calls_are_not_mentioned(project):
    (project / "test_own.py").write_text("def test_it(tools): assert tools.Calculator(expression='1+1') == '2'\n")
    result = forked_in(project, "--model=baseline")
    assert result.status == 0, result.output
    ours = [line for line in result.output.splitlines() if line.startswith("agentgauge")]
    assert ours == ["agentgauge: model baseline"]
    assert left(project) == set()
