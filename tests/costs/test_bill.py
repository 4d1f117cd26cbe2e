"""What a run says that it cost is what the endpoint charges, and a budget of dollars holds."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.costs.billing import Till, serve
from tests.plugin.project import records, run_bundled, run_mmau

KEY = {"OPENAI_API_KEY": "sk-of-nobody-1234"}
FAST = ("-k", "not contest and not ds_", "--limit", "12")
"""Tasks without programs of a model, which take longer than their requests."""


@pytest.mark.parametrize("workers", [("-n", "0"), ("-n", "2")], ids=["one", "two"])
def test_the_cost_of_the_bundled_suite_is_the_bill(tmp_path: Path, workers: tuple[str, ...]) -> None:
    till = Till(latency=0.01)
    with serve(till) as server:
        env = {**KEY, "OPENAI_BASE_URL": server.url}
        result = run_bundled(*workers, *FAST, "--model=gpt-4o", "--run-dir=run", cwd=tmp_path, env=env)
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


@pytest.mark.parametrize("workers", [("-n", "0"), ("-n", "2")], ids=["one", "two"])
def test_a_budget_of_dollars_is_overshot_by_five_percent_at_most(tmp_path: Path, workers: tuple[str, ...]) -> None:
    till, budget = Till(), 0.08
    with serve(till) as server:
        env = {**KEY, "OPENAI_BASE_URL": server.url}
        words = ("-k", "tool_ or dag_", "--model=gpt-4o", f"--budget={budget}usd", "--run-dir=run")
        result = run_mmau(*workers, *words, cwd=tmp_path, env=env, status=1)
    assert "stopped early: the budget of 0.08usd" in result.output
    assert 0.9 * budget <= till.bill <= 1.05 * budget
    assert math.isclose(result.summary("run")["usage"]["usd"], till.bill, abs_tol=1e-9)
    assert len(records(tmp_path / "run")) > 32
