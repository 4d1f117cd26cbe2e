"""``--budget``: refuses one that means nothing, reserves what running cases need, and stops the run when it is used up.
Shows the estimated cost of the run, whether it has a budget or not."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from agentgauge.run.part import Part, Process
    from agentgauge.run.run import Run
    from agentgauge.run.several.beside import Beside


def pytest_agentgauge_options() -> type:
    from agentgauge.plugins.budget.options import BudgetOptions

    return BudgetOptions


def pytest_agentgauge_check(run: Run) -> None:
    from agentgauge.model.budget import check_dollars
    from agentgauge.plugins.budget.estimate import asked_models
    from agentgauge.plugins.budget.options import BudgetOptions

    models = asked_models(run.settings, sorted({task for task, _, _ in run.plan}))
    check_dollars(run.settings.of(BudgetOptions).budget, models, shared=run.settings.shared is not None)


def pytest_agentgauge_begin(run: Run) -> None:
    from agentgauge.plugins.budget.options import BudgetOptions

    budget = run.settings.of(BudgetOptions).budget
    if budget and not run.settings.shared:  # the launcher watches a budget of several runs
        from agentgauge.plugins.budget.watch import BudgetWatch

        run.until_cases_end.callback(BudgetWatch(budget, run.files, partial(run.stop, awaits=True)).stop)


def pytest_agentgauge_late_header(run: Run) -> Iterable[str]:
    from agentgauge.plugins.budget.estimate import cost_lines

    return list(cost_lines(run.settings, run.plan)) if run.benchmark_cases else []


def pytest_agentgauge_process(process: Process) -> Part | None:
    from agentgauge.plugins.budget.options import BudgetOptions

    budget = process.settings.of(BudgetOptions).budget
    if budget is None or budget.unit == "s":
        return None
    from agentgauge.plugins.budget.reserve import ReservePart

    return ReservePart(process, budget)


def pytest_agentgauge_several(parent: Path, together: Mapping[str, str]) -> Beside | None:
    if (text := together.get("--budget")) is None:
        return None
    from agentgauge.model.budget import parse_budget
    from agentgauge.plugins.budget.several import BudgetOfRuns

    return BudgetOfRuns(parse_budget(text), parent)
