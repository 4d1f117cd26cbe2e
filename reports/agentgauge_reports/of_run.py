"""What a run that has ended leaves in its folder: summary, leaderboard, verdicts of its gates, and its page."""

from __future__ import annotations

import time
from collections.abc import Mapping

from agentgauge.core.errors import UsageProblem
from agentgauge.core.tracebacks import mistake_behind, sentence_of
from agentgauge.run.run import Run
from agentgauge.run.run_folder import describe
from agentgauge.store.jsonl import CaseId, CaseOutline
from agentgauge_reports import run as summaries
from agentgauge_reports.comparison import check_gate, warning
from agentgauge_reports.load import Omitted, load_run
from agentgauge_reports.page import write_page


def sum_up(run: Run, outlines: Mapping[CaseId, CaseOutline]) -> None:
    """``outlines``: the merged records. Raises OSError, and UsageProblem where code of a benchmark fails."""
    settings, folder = run.settings, run.files
    tasks = [settings.tasks[name] for name in dict.fromkeys(task for task, _, _ in run.plan)]
    try:
        run.summary_json = summaries.sum_up(
            folder,
            run.plan,
            outlines,
            tasks=settings.tasks,
            about=describe(settings, tasks, run.tools),
            index_of=lambda task: task.data.index(settings.roots[task.name]),
            scoring=settings.scoring,
            similarity=settings.similarity,
            why_missing=run.why_missing,
            more=lambda figures: run.hooks.tell_now("pytest_agentgauge_figures", run=run, figures=figures),
        )
    except Exception as error:
        # what a resumed run holds may be of another version, and says so
        mistake = error.__cause__ if isinstance(error, UsageProblem) and not settings.resume else error
        if mistake is None or isinstance(mistake, OSError | UsageProblem) or not mistake_behind(mistake):
            raise
        what = f"no summary, because code of the benchmark failed: {sentence_of(mistake)}"
        advice = f"correct it, then score the stored answers with --rescore={folder.path}"
        raise UsageProblem(f"{what}; {advice}") from error
    _judge(run)
    run.describe(finished=time.time())
    omitted = Omitted()
    loaded = load_run(folder.path, run.plan, outlines, tasks=settings.tasks)
    write_page(folder.path, folder.path / "report.html", loaded=loaded, omitted=omitted, roots=settings.roots)
    run.notes += omitted.sentences("report.html")


def _judge(run: Run) -> None:
    """Wrong answers are results and no failures of the run; broken and missing cases, and gates that fail, are."""
    assert run.summary_json is not None
    benchmarks = run.benchmark_cases
    for word in ("broken", "missing"):
        # pytest itself reports how a project's own tests ended
        if count := sum(run.summary_json["tasks"][name][word] for name in benchmarks):
            why = f": {run.why_missing}" if word == "missing" and run.why_missing else ""
            run.problems.append(f"{count} {'case is' if count == 1 else 'cases are'} {word}{why}")
    if run.settings.gates and (text := warning(run.settings.gates, run.summary_json)):
        run.notes.append(text)
    for gate in run.settings.gates:
        problem, seen = check_gate(gate, run.summary_json, run.folder, run.settings.tasks)
        run.gates.append({"text": gate.text, "problem": problem})
        run.problems += [problem] if problem else []
        run.held += [f"gate {gate.text} holds: {seen}"] if seen else []
