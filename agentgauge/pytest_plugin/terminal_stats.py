"""What pytest's terminal keeps of the reports of benchmark cases: three a case, of 1 to 3 KB each, to the end of the
run."""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from types import MappingProxyType
from typing import Any

import pytest

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""Keywords of every report that has been taken; thousands of empty ones have a size."""


def lighten(report: pytest.TestReport, category: str, config: pytest.Config) -> None:
    """Leave only as much of a case's report as somebody will read. To be called once all plugins have had it.

    The terminal counts its reports by category at its end. Where it lists them too (``-v``, ``-rp``, ``--durations``),
    each is kept, without what no list shows. Else the first few are kept, and each further one is replaced by the
    first.
    """
    _take_away(report)
    terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
    for name in (category, ""):  # those of a set-up or teardown that went well have no name
        kept = terminal.stats.get(name) if terminal else None
        if kept and kept[-1] is report and not _is_listed(name, config):
            if name == "":
                kept.pop()
                continue
            from reports.terminal import SHOWN

            if len(kept) > SHOWN:
                kept[-1] = kept[0]


def _is_listed(category: str, config: pytest.Config) -> bool:
    option = config.option
    if option.durations is not None:
        return True
    if category == "passed":
        return bool({"p", "P", "A"} & set(option.reportchars))
    return category != "" and option.verbose > 0


def _take_away(report: pytest.TestReport) -> None:
    report.keywords = NOTHING
    report.user_properties = ()  # type: ignore[assignment]  # each an object of its own, where it is a list
    report.__dict__.pop("agentgauge_record", None)
    file, line, name = report.location
    report.location = (intern(str(file)), line, name)
    for shared in ("outcome", "when", "worker_id", "testrun_uid"):  # xdist makes new ones for each
        if type(text := getattr(report, shared, None)) is str:
            setattr(report, shared, intern(text))
