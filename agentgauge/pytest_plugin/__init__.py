"""The pytest side of AgentGauge: options, collection, fixtures, workers, reporting.

Loaded by the top-level ``conftest.py``, or by ``-p agentgauge.pytest_plugin`` elsewhere. One process runs cases
(Worker), one plans and sums up (Controller); a serial run is both.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.core.redaction import redact_logs
from agentgauge.core.service_process import end_with
from agentgauge.core.task_registry import known_tasks
from agentgauge.pytest_plugin import fixtures
from agentgauge.pytest_plugin.collection import Collection
from agentgauge.pytest_plugin.controller import Controller, is_distributed
from agentgauge.pytest_plugin.options import add_options, test_paths
from agentgauge.pytest_plugin.reporting import redact_terminal
from agentgauge.pytest_plugin.run_folder import claim_folder, continue_selection, select
from agentgauge.pytest_plugin.worker import WORKER, Worker
from agentgauge.pytest_plugin.xdist.worker_count import limit_restarts, limit_workers, worker_count_notice
from agentgauge.run.case_runner import WorkerInfo
from agentgauge.run.settings import Settings, read_settings
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
    limit_workers(config, test_paths(config))
    limit_restarts(config)


def pytest_report_header(config: pytest.Config) -> str | None:
    notice = worker_count_notice(config)
    return notice and f"agentgauge: {notice}"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "benchmark_task(name): one case per sample of a benchmark's task")
    for name in known_tasks():
        config.addinivalue_line("markers", f"{name.replace('.', '_')}: the task {name}")
    config.add_cleanup(redact_logs())
    given: dict[str, Any] | None = getattr(config, "workerinput", None)
    try:
        settings = _worker_settings(config, given) if given else _controller_settings(config)
    except UsageProblem as problem:
        raise pytest.UsageError(str(problem)) from None
    if given is None:
        redact_terminal(config)
        if settings.spec and not settings.tool_server:
            config.add_cleanup(make_tool_token())
        controller = Controller(config, settings)
        config.pluginmanager.register(controller, "agentgauge-controller")
        config.pluginmanager.register(controller.reporting, "agentgauge-reporting")
    if given is not None or not is_distributed(config):
        _run_cases(config, settings, _worker_info(given) if given else WorkerInfo())


def _controller_settings(config: pytest.Config) -> Settings:
    """Raises UsageProblem."""
    continue_selection(config)
    return claim_folder(config, take_tool_token(read_settings(config.option, config.rootpath)))


def _worker_settings(config: pytest.Config, given: dict[str, Any]) -> Settings:
    """Raises UsageProblem."""
    select(config, given["agentgauge_selection"])
    end_with(given["agentgauge_controller"])
    return take_tool_token(read_settings(config.option, config.rootpath, Path(given["agentgauge_run_dir"])))


def _worker_info(given: dict[str, Any]) -> WorkerInfo:
    return WorkerInfo(
        name=given["workerid"],
        number=given["agentgauge_number"],
        count=given["workercount"],
        dist=given["agentgauge_dist"],
        is_replacement=int(given["workerid"].removeprefix("gw")) >= given["workercount"],
    )


def _run_cases(config: pytest.Config, settings: Settings, info: WorkerInfo) -> None:
    collection = Collection(config, settings, info)
    worker = config.stash[WORKER] = Worker(config, settings, info, collection)
    for name, plugin in (("collection", collection), ("fixtures", fixtures), ("worker", worker)):
        config.pluginmanager.register(plugin, f"agentgauge-{name}")
    if config.getoption("allure_report_dir", None):
        from agentgauge.pytest_plugin.allure import AllureFilter

        config.pluginmanager.register(AllureFilter(config), "agentgauge-allure")
    before = gc.get_threshold()
    if 0 < before[0] < GARBAGE:
        gc.set_threshold(GARBAGE, *before[1:])
        config.add_cleanup(lambda: gc.set_threshold(*before))
