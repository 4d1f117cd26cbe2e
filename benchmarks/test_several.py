"""Several models in one command: three models whose providers take unlike times, side by side and one after another.

Each model has 320 cases and 8 concurrent requests, so that the slowest provider takes 24 s. The three runs and their
launcher share the processors that are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import pytest

from benchmarks.measure import Cost, endpoint, run
from benchmarks.projects import toy_project
from tests.plugin.project import Project, summary, without_times

pytestmark = pytest.mark.perf

CASES = 320
MODELS = {"quick": 0.15, "middling": 0.3, "slow": 0.6}
"""Seconds of the median answer; the 99th percentile is three times that."""


def run_of(project: Project, models: Sequence[str], folder: str) -> Cost:
    """One command for these models, with endpoints that have answered nothing before: they draw each answer once."""
    with ExitStack() as stack:
        tables = ""
        for name in models:
            url, _ = stack.enter_context(endpoint(MODELS[name], tail=3.0, wrong=0.3, seed=list(MODELS).index(name)))
            tables += f'[models.{name}]\nmodel = "m"\nurl = "{url}"\n'
        (project.path / "agentgauge.toml").write_text(tables)
        return run(
            project, "--data=toy", "--in-flight=8", *(f"--model={name}" for name in models), f"--run-dir={folder}"
        )


def test_side_by_side(tmp_path, benchmark, figure):
    project = toy_project(tmp_path / "project", CASES)
    costs = {}

    def both_ways() -> None:
        for name in MODELS:
            costs[name] = run_of(project, [name], f"alone/{name}")
        costs["together"] = run_of(project, list(MODELS), "together")

    benchmark.pedantic(both_ways, rounds=1)
    for name in MODELS:
        one, other = summary(project.path / "together" / name), summary(project.path / "alone" / name)
        assert without_times(one) == without_times(other)
    alone = [costs[name].wall for name in MODELS]
    figure("three models, one after another: wall", sum(alone), "s")
    figure("the slowest of three models alone: wall", max(alone), "s")
    figure("three models in one command: wall", costs["together"].wall, "s")
    figure("three models in one command / the slowest alone: wall", costs["together"].wall / max(alone), most=1.15)
    extra = costs["together"].cpu - sum(costs[name].cpu for name in MODELS)
    figure("three models in one command - three runs: processor time", extra, "s")
