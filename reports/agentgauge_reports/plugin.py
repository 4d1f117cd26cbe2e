"""AgentGauge's own reports of a run, on the hooks that others have too: summary and leaderboard, which come first, so
that others find them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import pluggy

from agentgauge.core.errors import UsageProblem
from agentgauge.core.tracebacks import mistake_behind, sentence_of

if TYPE_CHECKING:
    from agentgauge.run.run import Run
    from agentgauge.store.jsonl import CaseId, CaseOutline


@pluggy.HookimplMarker("pytest")(tryfirst=True)
def pytest_agentgauge_ended(run: Run, outlines: Mapping[CaseId, CaseOutline]) -> None:
    """Raises OSError, and UsageProblem where code of a benchmark fails."""
    from agentgauge.run.run_folder import describe
    from agentgauge_reports.run import sum_up

    settings = run.settings
    tasks = [settings.tasks[name] for name in dict.fromkeys(task for task, _, _ in run.plan)]
    try:
        run.summary_json = sum_up(
            run.files,
            run.plan,
            outlines,
            tasks=settings.tasks,
            about=describe(settings, tasks, run.tools),
            index_of=lambda task: task.data.index(settings.roots[task.name]),
            scoring=settings.scoring,
            similarity=settings.similarity,
            why_missing=run.why_missing,
            more=partial(_add_figures, run),
        )
    except Exception as error:
        # what a resumed run holds may be of another version, and says so
        mistake = error.__cause__ if isinstance(error, UsageProblem) and not settings.resume else error
        if mistake is None or isinstance(mistake, OSError | UsageProblem) or not mistake_behind(mistake):
            raise
        what = f"no summary, because code of the benchmark failed: {sentence_of(mistake)}"
        advice = f"correct it, then score the stored answers with --rescore={run.folder}"
        raise UsageProblem(f"{what}; {advice}") from error
    for word in ("broken", "missing"):  # wrong answers are results and no failures of the run
        # pytest itself reports how a project's own tests ended
        if count := sum(run.summary_json["tasks"][name][word] for name in run.benchmark_cases):
            why = f": {run.why_missing}" if word == "missing" and run.why_missing else ""
            run.problems.append(f"{count} {'case is' if count == 1 else 'cases are'} {word}{why}")


def _add_figures(run: Run, figures: object) -> None:
    run.hooks.tell_now("pytest_agentgauge_figures", run=run, figures=figures)
