"""What a run says that it cost is what the endpoint charges, and a budget of dollars holds."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentgauge.core.registry import Registry
from agentgauge.model.presets import resolve
from agentgauge.plugins.budget.estimate import cost_lines
from tests.costs.billing import Till, serve
from tests.plugin.project import ROOT, Project, records, run_bundled, run_gta, run_mmau

KEY = {"OPENAI_API_KEY": "sk-of-nobody-1234"}
FAST = ("-k", "not contest and not ds_", "--limit", "12")
"""Tasks without programs of a model, which take longer than their requests."""


@pytest.mark.uses("prices")
def test_the_cost_of_the_bundled_suite_is_the_bill(tmp_path: Path) -> None:
    till = Till(latency=0.01)
    with serve(till) as server:
        env = {**KEY, "OPENAI_BASE_URL": server.url}
        result = run_bundled("-n", "2", *FAST, "--model=gpt-4o", "--run-dir=run", cwd=tmp_path, env=env)
    summary = result.summary("run")
    usage = summary["usage"]
    assert till.counts["useless"] > 10 and till.counts["cached_tokens"] > 1000
    assert usage["requests"] == len(server.requests)
    counted = ("prompt_tokens", "completion_tokens", "cached_tokens")
    assert {name: usage[name] for name in counted} == {name: till.counts[name] for name in counted}
    assert math.isclose(usage["usd"], till.bill, abs_tol=1e-9)
    parts = [part["usage"] for part in summary["tasks"].values()]
    assert math.isclose(sum(part["usd"] for part in parts), till.bill, abs_tol=1e-9)
    header = " ".join(result.output.split())
    assert "cost: about $" in header and "an estimate" in header and "4 bytes a token" in header
    assert json.loads((tmp_path / "run" / "run.json").read_text())["versions"]["genai-prices"]
    assert f"cost: ${usage['usd']:.4f}" in result.output


@pytest.mark.uses("prices")
def test_a_budget_of_dollars_is_overshot_by_five_percent_at_most(tmp_path: Path) -> None:
    till, budget = Till(), 0.08
    with serve(till) as server:
        env = {**KEY, "OPENAI_BASE_URL": server.url}
        words = ("-k", "tool_ or dag_", "--model=gpt-4o", f"--budget={budget}usd", "--run-dir=run")
        result = run_mmau("-n", "2", *words, cwd=tmp_path, env=env, status=1)
    assert "stopped early: the budget of 0.08usd" in result.output
    assert " cases are missing" in result.output and " missing in " not in result.output  # pytest saw only some of them
    assert 0.9 * budget <= till.bill <= 1.05 * budget
    assert math.isclose(result.summary("run")["usage"]["usd"], till.bill, abs_tol=1e-9)
    assert len(records(tmp_path / "run")) > 32


UNKNOWN = "the prices of m are not known; give prices"


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (("--model=m", "--model-url=http://models.example.org/v1"), 1),  # through a proxy
        (("--model=m", "--model-url={url}"), 0),
        (("--model=vllm/m", "--model-url={url}"), 0),
        (("--model=llamacpp/m", "--model-url=http://models.example.org/v1"), 0),
    ],
)
def test_an_unknown_price_is_said_once_and_never_of_a_server_of_ones_own(
    tmp_path: Path, words: tuple[str, ...], count: int
) -> None:
    project = Project.make(tmp_path)
    with serve(Till(latency=0)) as server:
        env = {"http_proxy": server.url.removesuffix("/v1"), "no_proxy": ""}
        result = project.run(*(word.format(url=server.url) for word in words), "--run-dir=run", env=env)
    assert result.status == 0, result.output
    shown = " ".join(result.output.split())
    assert shown.count(f"cost: not known, because {UNKNOWN}") == count and shown.count("cost: ") == count
    assert result.summary("run")["usage"]["usd"] == 0.0


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (
            ("--model=m", "--model-url=http://127.0.0.1:9/v1"),
            "--budget 5usd needs the prices of m, which are not known; give prices",
        ),
        (("--model=baseline",), "--budget 5usd would never be used up: baseline costs nothing"),
    ],
)
def test_a_budget_of_dollars_that_means_nothing_is_refused(tmp_path: Path, model: tuple[str, ...], says: str) -> None:
    project = Project.make(tmp_path)
    result = project.run(*model, "--budget=5usd", "--run-dir=run")
    assert result.status == 4 and says in result.output, result.output
    assert not (tmp_path / "run").exists()


@pytest.mark.uses("prices")
def test_a_judge_without_a_price_is_named(tmp_path: Path) -> None:
    words = ("-k", "gta_workflow", "--model=gpt-4o", "--budget=5usd", "--run-dir=run")
    result = run_gta(*words, "--judge-model=vllm/x", cwd=tmp_path, env=KEY, status=4)
    assert "--budget 5usd needs the prices of vllm/x" in result.output


@pytest.mark.uses("prices")
def test_a_budget_holds_for_a_judge_beside_a_model_that_costs_nothing(tmp_path: Path) -> None:
    """Nothing is assumed of the tested model's own cost."""
    (tmp_path / "script.json").write_text(json.dumps({"replies": {"*": ["#ANSWER# 5"]}}))
    till, budget = Till(reply=lambda seen: "wrong"), 0.01
    with serve(till) as server:
        env = {**KEY, "OPENAI_BASE_URL": server.url}
        words = ("-k", "math_standard", "--model=scripted:script.json", "--mmau-judge=gpt-4o", "--run-dir=run")
        result = run_mmau(*words, f"--budget={budget}usd", cwd=tmp_path, env=env, status=1)
    assert 0.5 * budget <= till.bill <= 1.1 * budget
    assert "cost: scripted:script.json costs nothing; what gpt-4o costs is not estimated" in " ".join(
        result.output.split()
    )


@pytest.mark.uses("prices")
@pytest.mark.parametrize(("judge", "requests"), [("oracle", 10), ("gpt-4o", 10), ("same", 20)])
def test_the_estimate_counts_no_requests_to_a_judge(judge: str, requests: int) -> None:
    spec, task = resolve("gpt-4o", environ=KEY), "mmau.math_standard"
    roles = {"--mmau-judge": spec} if judge == "gpt-4o" else {}
    settings: Any = SimpleNamespace(
        spec=spec,
        tasks=Registry.installed(),
        roles=roles,
        roots={task: ROOT / "bench_mmau" / "mini"},
        options={"--mmau-judge": judge},
        resume=None,
        cache=None,
    )
    [line] = cost_lines(settings, [(task, str(number), 1) for number in range(10)])
    assert f"an estimate: {requests} requests with" in line


def test_a_table_prices_a_model_and_the_budget_is_kept(tmp_path: Path) -> None:
    project = Project.make(tmp_path, samples=40)
    with serve(Till(latency=0)) as server:
        (tmp_path / "agentgauge.toml").write_text(
            f'[models.mine]\nmodel = "m"\nurl = "{server.url}"\n'
            "prices = { prompt = 2.5, completion = 10, cached = 1.25 }\n"
        )
        result = project.run("--model=mine", "--budget=0.005usd", "--run-dir=run")
    assert result.status == 1, result.output
    assert "prices of agentgauge.toml" in " ".join(result.output.split())
    assert "stopped early: the budget of 0.005usd" in result.output
    assert 0.004 <= result.summary("run")["usage"]["usd"] <= 0.00525
