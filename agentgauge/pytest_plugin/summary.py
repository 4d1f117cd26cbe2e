"""The end of a run: merged records, summary, page, and the exit status."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.core.task_registry import find_task
from agentgauge.core.tracebacks import mistake_behind, sentence_of
from agentgauge.model.outage import FILE as OUTAGES
from agentgauge.model.outage import outage_notes, outages
from agentgauge.model.rates import FILE as RATES
from agentgauge.pytest_plugin.run_state import RunState
from agentgauge.run.coordination.slots import FILE as SLOTS
from agentgauge.run.coordination.stopping import RUNNING
from agentgauge.run.coordination.waiting_requests import FILE as WAITING
from agentgauge.run.crashes import Suspects, remove_running
from agentgauge.run.run_metadata import describe
from agentgauge.store.folder import LEFT_OUT
from agentgauge.store.record_merge import LeftOut, left_out_notes


def sum_up(state: RunState, exitstatus: int) -> int:
    """Write the results of a run into its folder. Returns the exit status; ``exitstatus`` is pytest's own.

    Raises OSError and UsageProblem.
    """
    from agentgauge_reports.formats import job_summary
    from agentgauge_reports.load import Omitted, load_run
    from agentgauge_reports.page import write_page
    from agentgauge_reports.run import sum_up as summarize

    settings, folder = state.settings, state.folder
    state.notes += outage_notes(outages(folder.path, time.time()))
    for left in (RUNNING, SLOTS, WAITING, RATES, OUTAGES):
        (folder.path / left).unlink(missing_ok=True)
    folder.free_reserve()
    tasks = [find_task(name) for name in dict.fromkeys(task for task, _, _ in state.plan)]
    left_out: list[LeftOut] = []
    outlines = folder.merge_records(state.plan, left_out)
    remove_running(folder.path)
    if all(case in outlines for case in state.plan):
        Suspects().write(folder.path)  # none are left
    state.notes += left_out_notes(folder.path, left_out, LEFT_OUT)
    try:
        state.summary = summarize(
            folder,
            state.plan,
            outlines,
            about=describe(settings, tasks, state.tools),
            index_of=lambda task: task.data.index(settings.roots[task.name]),
            scoring=settings.scoring,
            similarity=settings.similarity,
            why_missing=state.why_missing,
        )
    except Exception as error:
        # what a resumed run holds may be of another version, and says so
        mistake = error.__cause__ if isinstance(error, UsageProblem) and not settings.resume else error
        if mistake is None or isinstance(mistake, OSError | UsageProblem) or not mistake_behind(mistake):
            raise
        what = f"no summary, because code of the benchmark failed: {sentence_of(mistake)}"
        advice = f"correct it, then score the stored answers with --rescore={folder.path}"
        raise UsageProblem(f"{what}; {advice}") from error
    status = _judge(state, exitstatus)
    state.write_run_json(finished=time.time())
    omitted = Omitted()
    loaded = load_run(folder.path, state.plan, outlines)
    write_page(folder.path, folder.path / "report.html", loaded=loaded, omitted=omitted, roots=settings.roots)
    state.notes += omitted.sentences("report.html")
    if results := state.config.getoption("allure_report_dir", None):
        from agentgauge_reports.allure import write_run

        omitted = Omitted()
        write_run(folder.path, Path(results), omitted=omitted, own_tests=False)
        state.notes += omitted.sentences("the Allure results")
    state.notes += job_summary.add(state.summary, state.gates, [*state.held, *state.problems, *state.notes])
    return status


def _judge(state: RunState, exitstatus: int) -> int:
    """The exit status: wrong answers are results and no failures of the run."""
    assert state.summary is not None
    for word in ("broken", "missing"):
        # pytest itself reports how a project's own tests ended
        tasks = [part for name, part in state.summary["tasks"].items() if not find_task(name).data.in_run_folder]
        if count := sum(part[word] for part in tasks):
            why = f": {state.why_missing}" if word == "missing" and state.why_missing else ""
            state.problems.append(f"{count} {'case is' if count == 1 else 'cases are'} {word}{why}")
    if state.settings.gates:
        from agentgauge_reports.comparison import check_gate, warning

        if text := warning(state.settings.gates, state.summary):
            state.notes.append(text)
    for gate in state.settings.gates:
        problem, seen = check_gate(gate, state.summary, state.folder.path)
        state.gates.append({"text": gate.text, "problem": problem})
        state.problems += [problem] if problem else []
        state.held += [f"gate {gate.text} holds: {seen}"] if seen else []
    if exitstatus in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR) or state.interrupted:
        return exitstatus
    if state.service_problem:
        return pytest.ExitCode.USAGE_ERROR
    if exitstatus == pytest.ExitCode.INTERRUPTED and not (state.stop_reason or state.failures):
        return exitstatus  # collection errors, or a worker that was interrupted
    return pytest.ExitCode.TESTS_FAILED if state.problems or state.ordinary_failures else pytest.ExitCode.OK
