"""The pytest side of AgentGauge: options, collection, fixtures, look-ahead, aggregation.

Loaded by the top-level ``conftest.py``, or by ``-p agentgauge.pytest_plugin`` elsewhere. One process runs cases
(WorkerSide), one plans and sums up (Controller); a serial run is both.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO, TypeVar, cast

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.core.redaction import Printed, redact, redact_logs
from agentgauge.core.service_process import end_with
from agentgauge.core.task_registry import known_tasks
from agentgauge.pytest_plugin.claim import claim_folder, continue_selection, select
from agentgauge.pytest_plugin.controller import Controller, is_distributed
from agentgauge.pytest_plugin.options import add_options, read_settings
from agentgauge.pytest_plugin.worker import Place, WorkerSide
from agentgauge.pytest_plugin.xdist.worker_count import limit_restarts, limit_workers, told
from agentgauge.run.thread_pools import processors
from agentgauge.run.tool_token import make_tool_token, take_tool_token

__all__ = ["benchmark_task"]

GARBAGE = 10_000
"""New objects after which the garbage collector runs, in processes that run cases. Python's own threshold of 700 takes
5 % of a run."""

Function = TypeVar("Function", bound=Callable[..., Any])


def benchmark_task(name: str) -> Callable[[Function], Function]:
    """Make a test function one case per sample of a task. The task's name, dots as ``_``, becomes a marker too."""

    def mark(function: Function) -> Function:
        return getattr(pytest.mark, name.replace(".", "_"))(pytest.mark.benchmark_task(name)(function))  # type: ignore[no-any-return]

    return mark


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_cmdline_main(config: pytest.Config) -> None:
    """After xdist's, which comes first, and before pytest's, in which everything else happens."""
    limit_workers(config, processors())
    limit_restarts(config)


def pytest_report_header(config: pytest.Config) -> str | None:
    text = told(config)
    return text and f"agentgauge: {text}"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "benchmark_task(name): one case per sample of a benchmark's task")
    for name in known_tasks():
        config.addinivalue_line("markers", f"{name.replace('.', '_')}: the task {name}")
    given: dict[str, Any] | None = getattr(config, "workerinput", None)
    config.add_cleanup(redact_logs())
    try:
        if given is None:
            continue_selection(config)
        else:
            select(config, given["agentgauge_selection"])
        settings = take_tool_token(read_settings(config, Path(given["agentgauge_run_dir"]) if given else None))
        if given is None:
            settings = claim_folder(config, settings)
    except UsageProblem as problem:
        raise pytest.UsageError(str(problem)) from None
    if given is None:
        _redact_terminal(config)
        if settings.spec and not settings.tool_server:
            config.add_cleanup(make_tool_token())
        config.pluginmanager.register(Controller(config, settings), "agentgauge-controller")
    if given is not None or not is_distributed(config):
        _collect_garbage_less_often(config)
        place = Place()
        if given is not None:
            end_with(given["agentgauge_controller"])
            place = Place(
                name=given["workerid"],
                number=given["agentgauge_place"],
                count=given["workercount"],
                dist=given["agentgauge_dist"],
                is_replacement=int(given["workerid"].removeprefix("gw")) >= given["workercount"],
            )
        config.pluginmanager.register(WorkerSide(config, settings, place), "agentgauge-worker")
        if config.getoption("allure_report_dir", None):
            from agentgauge.pytest_plugin.allure import AllureSide

            config.pluginmanager.register(AllureSide(config, settings), "agentgauge-allure")


def _redact_terminal(config: pytest.Config) -> None:
    """Errors inside pytest show the variables of every function, with ``--showlocals``."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if type(reporter) is pytest.TerminalReporter:
        config.pluginmanager.unregister(reporter)
        file = cast("TextIO", Printed(sys.stdout, redact))
        config.pluginmanager.register(pytest.TerminalReporter(config, file), "terminalreporter")


def _collect_garbage_less_often(config: pytest.Config) -> None:
    before = gc.get_threshold()
    if 0 < before[0] < GARBAGE:
        gc.set_threshold(GARBAGE, *before[1:])
        config.add_cleanup(lambda: gc.set_threshold(*before))
