"""Announces the formats of other programs, which ``agentgauge report --format`` takes, and ``--eval``. A run with
``--benchmark-json`` writes its times: see ``agentgauge/pytest_plugin/case_times.py``, unused without this folder."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentgauge.core.registry import Registry
    from agentgauge.run.report_form import ReportForm
    from agentgauge_reports.load import Omitted

LISTED = 20
"""Up to this number, each written file is named."""


def pytest_agentgauge_reports() -> Sequence[ReportForm]:
    from agentgauge.run.report_form import ReportForm
    from agentgauge_reports.formats.known import FORMATS

    forms = [ReportForm(name, of.place, of.help, "", partial(_written, name)) for name, of in FORMATS.items()]
    return [*forms, ReportForm("--eval", "FILE", "the run as a log of inspect_ai", "", partial(_written, "eval"))]


def _written(name: str, run: Path, place: Path, *, tasks: Registry, omitted: Omitted) -> str:
    from agentgauge.core.text import counted
    from agentgauge_reports.formats.known import writer

    files = writer(name)(run, place, omitted, tasks)
    return "\n".join(map(str, files)) if len(files) <= LISTED else f"{counted(len(files), 'file')} in {place}"
