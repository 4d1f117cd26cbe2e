"""Announces ``agentgauge report --allure``. A run with ``--alluredir`` leaves the same results: see
``agentgauge/pytest_plugin/allure.py``, which does nothing without this folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentgauge.run.report_form import ReportForm


def pytest_agentgauge_reports() -> Sequence[ReportForm]:
    from agentgauge.run.report_form import ReportForm

    help = "an Allure dashboard (default: allure in the run)"
    return [ReportForm("--allure", "DIR", help, "allure", _written)]


def _written(*given: Any, **more: Any) -> str:
    from agentgauge_reports.allure.results import write_results

    return write_results(*given, **more)
