"""AgentGauge's own reports of a run, on the hooks that others have too: summary, leaderboard and page. They come first,
so that others find what they write."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import pluggy

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import cannot_write
from agentgauge.core.tracebacks import mistake_behind, sentence_of

if TYPE_CHECKING:
    from agentgauge.run.run import Run
    from agentgauge.store.jsonl import CaseId, CaseOutline

first = pluggy.HookimplMarker("pytest")(tryfirst=True)


@first
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


@first
def pytest_agentgauge_report(run: Run) -> None:
    """The page."""
    from agentgauge_reports.load import Omitted, load_run
    from agentgauge_reports.page import write_page

    omitted, settings = Omitted(), run.settings
    try:
        loaded = load_run(run.folder, run.plan, run.outlines, tasks=settings.tasks)
        write_page(run.folder, run.folder / "report.html", loaded=loaded, omitted=omitted, roots=settings.roots)
    except UsageProblem as problem:
        run.problems.append(str(problem))
    except OSError as error:
        run.problems.append(f"{cannot_write(run.folder, error)}; continue with --resume={run.folder}")
    run.notes += omitted.sentences("report.html")
