"""The reserve of a budget: which cases may start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentgauge.core.types import Usage
from agentgauge.model.budget import parse_budget
from agentgauge.plugins.budget.reserve import Reserve, exhausted, release


def reserve(folder: Path, amount: str, worker: int = 0) -> Reserve:
    return Reserve(folder / "budget", parse_budget(amount), worker, {"cheap": 1.0, "dear": 10.0})


def cost(dollars: float) -> Usage:
    return Usage(1, 7, 3, dollars)


def started(reserve: Reserve, task: str, most: int = 50) -> int:
    return next((count for count in range(most) if not reserve.take(task)), most)


def test_the_first_case_shows_what_cases_cost(tmp_path: Path) -> None:
    held = reserve(tmp_path, "5usd")
    assert started(held, "cheap") == 1  # the assumptions may be off by ten
    assert not exhausted(tmp_path / "budget")
    held.give_back("cheap", cost(1.0))
    assert started(held, "cheap") == 1
    assert not exhausted(tmp_path / "budget")


def test_whoever_only_looks_writes_nothing(tmp_path: Path) -> None:
    """The watch of a budget must not end with a full disk."""
    assert reserve(tmp_path, "5usd").take("cheap")
    os.utime(tmp_path / "budget", ns=(1, 1))
    assert not exhausted(tmp_path / "budget")
    assert (tmp_path / "budget").stat().st_mtime_ns == 1


def test_nothing_runs_and_nothing_fits(tmp_path: Path) -> None:
    held = reserve(tmp_path, "5usd")
    assert held.take("cheap")
    held.give_back("cheap", cost(4.5))
    assert not held.take("cheap")
    assert exhausted(tmp_path / "budget")


def test_a_dear_task_has_to_fit(tmp_path: Path) -> None:
    held = reserve(tmp_path, "25usd")
    assert held.take("cheap")
    held.give_back("cheap", cost(1.0))
    assert held.take("dear")
    assert not held.take("dear")


def test_workers_share_a_budget_and_a_dead_one_leaves_nothing(tmp_path: Path) -> None:
    first, second = reserve(tmp_path, "40usd"), reserve(tmp_path, "40usd", worker=1)
    taken = started(first, "cheap")
    assert 1 < taken < 10
    assert not second.take("cheap")
    replacement = reserve(tmp_path, "40usd")
    assert started(replacement, "cheap") == taken


@pytest.mark.parametrize(("amount", "fits"), [("25tok", True), ("15tok", False)])
def test_tokens(tmp_path: Path, amount: str, fits: bool) -> None:
    held = Reserve(tmp_path / "budget", parse_budget(amount), 0, {"cheap": 10.0})
    assert held.take("cheap")
    held.give_back("cheap", Usage(1, 7, 3))
    assert held.take("cheap") is fits


def test_runs_share_a_budget_and_each_has_costs_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "budget"
    first, second = (Reserve(file, parse_budget("19.5usd"), 0, {"task": 1.0}, run=run) for run in ("first", "second"))
    assert first.take("task") and not second.take("task")  # both may cost ten times as much
    assert not exhausted(file, ["first", "second"])
    first.give_back("task", cost(18.5))
    assert not first.take("task") and exhausted(file, ["first"])
    assert second.take("task") and not exhausted(file, ["first", "second"])
    assert not first.take("task") and not exhausted(file, ["first", "second"])
    release(file, "second")  # killed
    assert not first.take("task")
    second.give_back("task", cost(1.0))
    assert not second.take("task") and exhausted(file, ["first", "second"])
