"""Writes ``report.html`` when a run ends, and announces ``agentgauge report --html``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from agentgauge.run.report_form import ReportForm
    from agentgauge.run.run import Run

USUAL = "report.html"


@pluggy.HookimplMarker("pytest")(tryfirst=True)  # so that others find the page
def pytest_agentgauge_report(run: Run) -> None:
    from agentgauge.core.errors import UsageProblem
    from agentgauge.core.files import cannot_write
    from agentgauge_reports.load import Omitted, load_run
    from agentgauge_reports.page.page import write_page

    omitted, settings = Omitted(), run.settings
    try:
        loaded = load_run(run.folder, run.plan, run.outlines, tasks=settings.tasks)
        write_page(run.folder, run.folder / USUAL, loaded=loaded, omitted=omitted, roots=settings.roots)
    except UsageProblem as problem:
        run.problems.append(str(problem))
    except OSError as error:
        run.problems.append(f"{cannot_write(run.folder, error)}; continue with --resume={run.folder}")
    else:
        run.pages.append(USUAL)
    run.notes += omitted.sentences(USUAL)


def pytest_agentgauge_reports() -> Sequence[ReportForm]:
    from agentgauge.run.report_form import ReportForm

    help = f"the page (default: {USUAL} in the run)"
    switches = {"--embed": "transcripts and pictures inside the page"}
    return [ReportForm("--html", "FILE", help, USUAL, _written, switches, _served)]


def _written(run: Path, place: Path, **more: Any) -> str:
    from agentgauge_reports.page.page import write_page

    return str(write_page(run, place, **more))


def _served(run: Path, place: Path, **more: Any) -> str:
    from agentgauge_reports.page.page import policy

    _written(run, place, **more)
    return policy()
