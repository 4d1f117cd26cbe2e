"""Activates the plugin: registers the parts of it that plan, run and sum up cases."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import refusal
from agentgauge.core.processes import end_with
from agentgauge.core.redaction import redact_logs
from agentgauge.core.task_registry import known_tasks
from agentgauge.core.tracebacks import with_mistake
from agentgauge.pytest_plugin.collection import Collection
from agentgauge.pytest_plugin.controller import Controller, is_distributed
from agentgauge.pytest_plugin.keys import COLLECTION, PROBLEM, WORKER
from agentgauge.pytest_plugin.last_failed import LastFailed
from agentgauge.pytest_plugin.options import given, only_looks
from agentgauge.pytest_plugin.own_tests import OwnTests
from agentgauge.pytest_plugin.run_folder import claim_folder, continue_selection, select
from agentgauge.pytest_plugin.worker import Worker
from agentgauge.run.case_runner import WorkerInfo
from agentgauge.run.crashes import Suspects
from agentgauge.run.settings import Settings, read_settings
from agentgauge.run.tool_token import make_tool_token, take_tool_token

GARBAGE = 10_000
"""New objects after which the garbage collector runs, in processes that run cases. Python's own threshold of 700 takes
5 % of a run."""


def activate(config: pytest.Config) -> None:
    """Read the settings, and register the parts of the plugin. Raises UsageError."""
    config.add_cleanup(redact_logs())
    sent: dict[str, Any] | None = getattr(config, "workerinput", None)
    try:
        for name in known_tasks():
            config.addinivalue_line("markers", f"{name.replace('.', '_')}: the task {name}")
        settings = _worker_settings(config, sent) if sent else _controller_settings(config)
    except UsageProblem as problem:
        raise pytest.UsageError(with_mistake(problem, config.getoption("tbstyle", "auto"))) from None
    except OSError as error:
        raise pytest.UsageError(refusal(error)) from None
    if (cache := getattr(config, "cache", None)) is not None:  # -p no:cacheprovider
        last_failed = LastFailed(config, cache, settings, sent and sent["agentgauge_last_failed"])
        if sent is None:
            config.pluginmanager.register(last_failed, "agentgauge-last-failed")
    if sent is None:
        if settings.spec and not settings.tool_server:
            config.add_cleanup(make_tool_token(settings.shared.token if settings.shared else None))
        controller = Controller(config, settings)
        config.pluginmanager.register(controller, "agentgauge-controller")
        config.pluginmanager.register(controller.reporting, "agentgauge-reporting")
    if sent is not None or not is_distributed(config):
        first = frozenset(Suspects.read(settings.run_dir).names)
        _run_cases(config, settings, _worker_info(sent) if sent else WorkerInfo(first=first))


def activate_late(config: pytest.Config) -> Collection | None:
    """Activate AgentGauge at the first benchmark case, in a run without any option of ours. Returns the collection, or
    None if it is too late: workers need a controller that knows of them. The error is then reported after collection.
    """
    if COLLECTION not in config.stash and PROBLEM not in config.stash and not hasattr(config, "workerinput"):
        try:
            activate(config)  # without prepare_terminal: pytest has begun to write by now
            for name in ("agentgauge-controller", "agentgauge-allure"):
                if plugin := config.pluginmanager.get_plugin(name):
                    plugin.pytest_sessionstart()
        except pytest.UsageError as problem:
            config.stash[PROBLEM] = problem
    return config.stash.get(COLLECTION, None)


def _controller_settings(config: pytest.Config) -> Settings:
    """Raises UsageProblem."""
    continue_selection(config)
    asks = not only_looks(config)
    return claim_folder(config, take_tool_token(read_settings(given(config.option), config.rootpath, asks=asks)))


def _worker_settings(config: pytest.Config, sent: dict[str, Any]) -> Settings:
    """Raises UsageProblem."""
    select(config, sent["agentgauge_selection"])
    end_with(sent["agentgauge_controller"])
    asks, run_dir = not only_looks(config), Path(sent["agentgauge_run_dir"])
    return take_tool_token(read_settings(given(config.option), config.rootpath, run_dir, asks=asks))


def _worker_info(sent: dict[str, Any]) -> WorkerInfo:
    return WorkerInfo(
        name=sent["workerid"],
        number=sent["agentgauge_number"],
        count=sent["workercount"],
        dist=sent["agentgauge_dist"],
        first=frozenset(sent["agentgauge_first"]),
        is_replacement=int(sent["workerid"].removeprefix("gw")) >= sent["workercount"],
    )


def _run_cases(config: pytest.Config, settings: Settings, info: WorkerInfo) -> None:
    collection = config.stash[COLLECTION] = Collection(config, settings, info)
    config.pluginmanager.register(collection, "agentgauge-collection")
    if only_looks(config):
        return
    worker = config.stash[WORKER] = Worker(config, settings, info, collection)
    for name, plugin in (("worker", worker), ("own-tests", OwnTests(worker))):
        config.pluginmanager.register(plugin, f"agentgauge-{name}")
    if config.getoption("allure_report_dir", None):
        from agentgauge.pytest_plugin.allure import AllureFilter

        config.pluginmanager.register(AllureFilter(config), "agentgauge-allure")
    before = gc.get_threshold()
    if 0 < before[0] < GARBAGE:
        gc.set_threshold(GARBAGE, *before[1:])
        config.add_cleanup(lambda: gc.set_threshold(*before))
