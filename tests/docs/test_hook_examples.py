"""The plugins of examples/hooks, each in a small run, with the packages that they are for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.plugin.project import GTA, PYTEST, WILD, Project, pytest_here, records, summary

pytestmark = pytest.mark.slow

PLUGINS = sorted((ROOT / "examples" / "hooks").glob("*.py"))
TRACKERS = Path(sys.prefix) / "trackers" / "bin" / "python"
tracked = pytest.mark.skipif(
    not TRACKERS.exists(), reason="MLflow and W&B are not installed; `make test-heavy` puts them into .venv/trackers"
)


def run(*words: str, cwd: Path, python: Path = Path(sys.executable), status: int = 0, **env: str) -> str:
    """What a run with the oracle writes; its folder is ``run``."""
    path = f"{ROOT}:{PLUGINS[0].parent}:{cwd}"
    command = [str(python), *PYTEST, *words, "--model=oracle", "--run-dir=run"]
    environment = Project(cwd).environment({"PYTHONPATH": path, **env})
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    assert "the run went on without it" not in done.stdout
    return done.stdout


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.stem)
def test_each_has_at_most_40_lines(plugin: Path) -> None:
    assert len(plugin.read_text().splitlines()) <= 40


@tracked
@pytest.mark.heavy
@pytest.mark.uses("page")
def test_mlflow(tmp_path: Path) -> None:
    where = {"MLFLOW_TRACKING_URI": "file:./mlruns", "MLFLOW_ALLOW_FILE_STORE": "true"}
    output = run("-p", "track_mlflow", *WILD, "--limit=8", cwd=tmp_path, python=TRACKERS, **where)
    [folder] = (tmp_path / "mlruns" / "0").glob("*/")
    assert f"MLflow: run {folder.name} in file:./mlruns" in output
    assert {path.name: path.read_text() for path in (folder / "params").iterdir()} == {
        "model": "oracle",
        "limit": "8",
        "attempts": "1",
    }
    metrics = {path.name: float(path.read_text().split()[1]) for path in (folder / "metrics" / "wild").iterdir()}
    figures = summary(tmp_path / "run")["tasks"]["wild"]["metrics"]
    assert metrics == {name: figure["value"] for name, figure in figures.items() if figure["value"] is not None}
    for name in ("summary.json", "report.html"):
        assert (folder / "artifacts" / name).read_bytes() == (tmp_path / "run" / name).read_bytes()


@tracked
@pytest.mark.heavy
def test_weights_and_biases(tmp_path: Path) -> None:
    run(
        "-p",
        "track_wandb",
        *WILD,
        "--limit=8",
        cwd=tmp_path,
        python=TRACKERS,
        WANDB_MODE="offline",
        WANDB_PROJECT="ours",
    )
    [file] = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    command = [str(TRACKERS), str(Path(__file__).parent / "read_wandb.py"), str(file)]
    seen = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert (seen["project"], seen["name"]) == ("ours", "run")
    assert {name: seen["config"][name] for name in ("model", "limit", "attempts")} == {
        "model": "oracle",
        "limit": 8,
        "attempts": 1,
    }
    figures = summary(tmp_path / "run")["tasks"]["wild"]["metrics"]
    assert {name: seen["summary"][f"wild/{name}"] for name in figures} == {
        name: figure["value"] for name, figure in figures.items()
    }
    [table] = file.parent.glob("files/media/table/cases_*.table.json")
    cases = json.loads(table.read_text())
    assert cases["columns"][:4] == ["task", "sample", "attempt", "status"]
    names = ("task", "sample", "attempt", "status")
    expected = [[record[name] for name in names] for record in records(tmp_path / "run")]
    assert sorted(row[:4] for row in cases["data"]) == sorted(expected)


SDK = """
import json
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

def pytest_unconfigure():
    with open("spans.json", "w") as stream:
        json.dump([json.loads(span.to_json()) | {"times": [span.start_time, span.end_time]}
                   for span in exporter.get_finished_spans()], stream)
"""


@pytest.mark.heavy
def test_opentelemetry(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.sdk")
    names = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    (tmp_path / "sdk.py").write_text(SDK)
    run("-p", "trace_opentelemetry", "-p", "sdk", *GTA, "-k", "gta_workflow and VideoClip", "--limit=1", cwd=tmp_path)
    spans = json.loads((tmp_path / "spans.json").read_text())
    [record] = records(tmp_path / "run")
    *exchanges, case = spans  # a span is exported when it ends
    assert case["name"] == "invoke_agent oracle"
    assert case["parent_id"] is None
    assert case["attributes"]["test.case.name"] == record["sample"]
    assert case["attributes"]["test.case.result.status"] == "pass"
    events = record["transcript"]["events"]
    assert [span["name"] for span in exchanges] == [
        f"{'chat' if event['kind'] == 'model' else 'execute_tool'} {event['name']}" for event in events
    ]
    assert {event["kind"] for event in events} == {"model", "tool"}
    for span, event in zip(exchanges, events, strict=True):
        assert span["parent_id"] == case["context"]["span_id"]
        assert span["kind"] == ("SpanKind.CLIENT" if event["kind"] == "model" else "SpanKind.INTERNAL")
        start, end = (time / 1e9 for time in span["times"])
        assert start == pytest.approx(event["start"], abs=0.001)
        assert end - start == pytest.approx(event["seconds"], abs=0.001)
        assert case["times"][0] <= span["times"][0] <= span["times"][1] <= case["times"][1]
    usage = record["transcript"]["usage"]
    for ours, theirs in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")):
        counts = [span["attributes"].get(f"gen_ai.usage.{theirs}", 0) for span in exchanges]
        assert sum(counts) == usage[ours] > 0
    known = {value for name, value in vars(names).items() if name.isupper() and isinstance(value, str)}
    used = {name for span in spans for name in span["attributes"] if name.startswith("gen_ai.")}
    assert used <= known


FAILS = """
from agentgauge.core.errors import ModelFault

def pytest_agentgauge_request(request):
    raise ModelFault("the endpoint answered HTTP 500")
"""


def test_opentelemetry_where_a_request_fails(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.sdk")
    project = Project.make(tmp_path, 1)
    (tmp_path / "sdk.py").write_text(SDK)
    project.add_to_conftest(FAILS)
    run("-p", "trace_opentelemetry", "-p", "sdk", "--data=toy", cwd=tmp_path, status=1)
    request, case = json.loads((tmp_path / "spans.json").read_text())
    for span in (request, case):
        assert span["status"]["status_code"] == "ERROR"
        assert "the endpoint answered HTTP 500" in span["status"]["description"]
    assert request["parent_id"] == case["context"]["span_id"]
    assert request["attributes"]["error.type"] == "_OTHER"
    assert case["attributes"]["test.case.result.status"] == "fail"


@pytest.mark.uses("allure", "page")
def test_a_figure_of_ones_own(tmp_path: Path) -> None:
    """Copied into the project."""
    (tmp_path / "conftest.py").write_bytes((ROOT / "examples" / "hooks" / "tool_calls.py").read_bytes())
    words = ("--pyargs", "bench_wild", "--model=oracle", "--limit=24", "--run-dir=run", "--alluredir=allure")
    result = pytest_here(*words, cwd=tmp_path)
    assert result.status == 0
    figure = summary(tmp_path / "run")["tasks"]["wild"]["metrics"]["Calls a session"]
    assert (figure["n"], figure["added"]) == (6, True)
    assert figure["low"] < figure["value"] < figure["high"]
    assert "Calls a session" in result.output
    assert "Calls a session" in (tmp_path / "run" / "report.html").read_text()
    [perf] = (tmp_path / "allure").glob("*-perf.json")
    [metric] = [each for each in json.loads(perf.read_text()) if "Calls a session" in str(each)]
    assert str(figure["value"]) in str(metric)
    shown = [json.loads(path.read_text()) for path in (tmp_path / "allure").glob("*-result.json")]
    calls = [int(each["value"]) for result in shown for each in result["parameters"] if each["name"] == "tool calls"]
    assert sum(calls) == pytest.approx(figure["value"] * figure["n"])
