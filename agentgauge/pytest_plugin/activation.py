"""Activates the plugin: registers the parts of it that plan, run and sum up cases."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from agentgauge import sandbox
from agentgauge.core.errors import UsageProblem
from agentgauge.core.features import features
from agentgauge.core.files import refusal
from agentgauge.core.processes import TOOL_TOKEN, end_with, kept, make_tool_token
from agentgauge.core.redaction import redact_logs
from agentgauge.core.tracebacks import with_mistake
from agentgauge.model.shared_json import shared_json
from agentgauge.pytest_plugin.collection import Collection
from agentgauge.pytest_plugin.controller import Controller, is_distributed
from agentgauge.pytest_plugin.keys import COLLECTION, HOOKS, PROBLEM, WORKER
from agentgauge.pytest_plugin.options import add_task_markers, given, only_looks, registry_of
from agentgauge.pytest_plugin.run_state import continue_selection, select, selection
from agentgauge.pytest_plugin.worker import Worker
from agentgauge.run.crashes import Suspects
from agentgauge.run.hooks import Hooks, check_names, installed_plugins
from agentgauge.run.part import Place
from agentgauge.run.run import Run
from agentgauge.run.run_folder import check_run
from agentgauge.run.settings import Settings, read_settings
from agentgauge.store import RunFolder

# -- What ``--lf``, ``--ff`` and ``--sw`` know of earlier runs, for each model by itself.
#
# pytest's cache has one list of failed tests. A case that failed with one model has not failed with another, so
# pytest is given the cases that failed with the run's model, beside the failed tests that are no cases.


_FAILED, _STEPWISE = "cache/lastfailed", "cache/stepwise"
_OURS = "agentgauge/lastfailed"
"""Model → ``failed``, its failed cases, and ``stepwise``, what pytest keeps for that option."""


class LastFailed:
    """Gives pytest its lists when it is made. Registered in pytest's first process, it keeps those of this run's model.

    ``sent``: the lists that the first process gives to xdist's workers, which must all select the same tests.
    """

    def __init__(
        self, config: pytest.Config, cache: pytest.Cache, settings: Settings, sent: Mapping[str, Any] | None = None
    ) -> None:
        self._cache = cache
        self._runs_tests = not only_looks(config)
        self._stepwise = bool(config.getoption("stepwise", False))
        self._settings = settings
        known = _entries(cache.get(_OURS, {}))
        mine = known.get(settings.tested, {})
        self._failed = _failed(mine)
        self._lists = dict(sent or {})
        if sent is None:
            others = set[str]().union(*map(_failed, known.values()))
            of_no_model = {node: value for node, value in cache.get(_FAILED, {}).items() if node not in others}
            self._lists[_FAILED] = of_no_model | dict.fromkeys(sorted(self._failed), True)
            if self._stepwise:
                self._lists[_STEPWISE] = mine.get("stepwise")
        self._give(config)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["agentgauge_last_failed"] = self._lists

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)
        elif (report.when == "call" and report.passed) or (report.skipped and not _is_missing(report)):
            self._failed.discard(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """After pytest has written its own lists. Runs of other models may write theirs meanwhile."""
        folder = RunFolder(self._settings.run_dir)
        if not (self._runs_tests and folder.has_plan):
            return
        path = self._cache._getvaluepath(_OURS)
        with suppress(OSError):  # pytest has warned of a cache that it cannot write
            path.parent.mkdir(parents=True, exist_ok=True)
            with shared_json(path) as content:
                mine = _entries(content).get(self._settings.tested, {})
                content[self._settings.tested] = mine
                mine["failed"] = sorted(
                    self._failed & _failed(mine) | self._failed.intersection(folder.plan().values())
                )
                if self._stepwise:
                    mine["stepwise"] = self._lists[_STEPWISE]

    def _give(self, config: pytest.Config) -> None:
        """Let pytest's plugins, which have read their lists, read these. The cache itself stays as it is until they
        write: other models may run at the same time."""
        get, put, lists = self._cache.get, self._cache.set, self._lists

        def get_given(key: str, default: Any) -> Any:
            return deepcopy(lists[key]) if key in lists else get(key, default)  # as of a file: the reader changes it

        def put_given(key: str, value: object) -> None:
            if key in lists:
                lists[key] = value
            if key not in lists or self._runs_tests:
                put(key, value)

        self._cache.get, self._cache.set = get_given, put_given  # type: ignore[method-assign]
        manager = config.pluginmanager
        for key, plugin in ((_FAILED, "lfplugin"), (_STEPWISE, "stepwiseplugin")):
            if key in lists and (reader := manager.get_plugin(plugin)) is not None:
                for name in (plugin, f"{plugin}-collwrapper"):
                    if manager.get_plugin(name):
                        manager.unregister(name=name)
                manager.register(type(reader)(config), plugin)


def _entries(content: Any) -> dict[str, dict[str, Any]]:
    """Those of the content that are not damaged."""
    whole = content if isinstance(content, dict) else {}
    return {model: entry for model, entry in whole.items() if isinstance(entry, dict)}


def _failed(entry: Mapping[str, Any]) -> set[str]:
    found = entry.get("failed")
    return {node for node in found if isinstance(node, str)} if isinstance(found, list) else set()


def _is_missing(report: pytest.TestReport) -> bool:
    """Whether it is a case that was not attempted, because the run was stopped."""
    return dict(report.user_properties).get("agentgauge.status") == "missing"


GARBAGE = 10_000
"""New objects after which the garbage collector runs, in processes that run cases. Python's own threshold of 700 takes
5 % of a run."""


def activate(config: pytest.Config) -> None:
    """Read the settings, and register the parts of the plugin. Raises UsageError."""
    for undo in (redact_logs(), sandbox.kept(), kept(TOOL_TOKEN)):
        config.add_cleanup(undo)
    sent: dict[str, Any] | None = getattr(config, "workerinput", None)
    try:
        add_task_markers(config)
        for name, plugin in installed_plugins():
            if not config.pluginmanager.is_registered(plugin):  # by -p
                config.pluginmanager.register(plugin, name)
        check_names(config.pluginmanager.list_name_plugin())
        config.stash[HOOKS] = Hooks(config.hook)
        run = None if sent else _claimed(config)
        settings = run.settings if run else _worker_settings(config, sent or {})
    except UsageProblem as problem:
        raise pytest.UsageError(with_mistake(problem, config.getoption("tbstyle", "auto"))) from None
    except OSError as error:
        raise pytest.UsageError(refusal(error)) from None
    if (cache := getattr(config, "cache", None)) is not None:  # -p no:cacheprovider
        last_failed = LastFailed(config, cache, settings, sent and sent["agentgauge_last_failed"])
        if sent is None:
            config.pluginmanager.register(last_failed, "agentgauge-last-failed")
    if run:
        if settings.earlier_tools is None and not settings.tool_server:
            config.add_cleanup(make_tool_token(settings.shared.token if settings.shared else None))
        controller = Controller(config, run)
        config.pluginmanager.register(controller, "agentgauge-controller")
        config.pluginmanager.register(controller.reporting, "agentgauge-reporting")
        if results := _allure_folder(config):
            from agentgauge.pytest_plugin.allure import AllureResults

            config.pluginmanager.register(AllureResults(Path(results)), "agentgauge-allure-results")
        if (file := config.getoption("benchmark_json", None)) and _has("formats"):
            from agentgauge.pytest_plugin.case_times import CaseTimes

            config.pluginmanager.register(CaseTimes(config, file), "agentgauge-case-times")
    if sent is not None or not is_distributed(config):
        first = frozenset(Suspects.read(settings.run_dir).names)
        _run_cases(config, settings, _worker_info(sent) if sent else Place(first=first))


def activate_late(config: pytest.Config) -> Collection | None:
    """Activate AgentGauge when the first of its cases is collected, in a run without any option of ours. Returns the
    collection, or None if it is too late: workers need a controller that knows of them. The error is then reported
    after collection.
    """
    if COLLECTION not in config.stash and PROBLEM not in config.stash and not hasattr(config, "workerinput"):
        try:
            activate(config)  # without prepare_terminal: pytest has begun to write by now
            for name in ("agentgauge-controller", "agentgauge-allure-own"):
                if plugin := config.pluginmanager.get_plugin(name):
                    plugin.pytest_sessionstart()
        except pytest.UsageError as problem:
            config.stash[PROBLEM] = problem
    return config.stash.get(COLLECTION, None)


def _allure_folder(config: pytest.Config) -> str:
    """Where ``--alluredir`` writes to; empty where AgentGauge has nothing of its own to write there."""
    return str((_has("allure") and config.getoption("allure_report_dir", None)) or "")


def _has(feature: str) -> bool:
    return any(plugin.name == feature for plugin in features())


def _claimed(config: pytest.Config) -> Run:
    """Of pytest's first process. Raises UsageProblem."""
    continue_selection(config)
    asks, options = not only_looks(config), given(config.option)
    settings = read_settings(options, config.rootpath, tasks=registry_of(config), asks=asks)
    run = Run.of(settings, config.rootpath, config.stash[HOOKS])
    if asks:
        config.add_cleanup(run.close)
        run.claim(selection(config), is_named=bool(options.run_dir))
    else:
        check_run(run.settings)
    return run


def _worker_settings(config: pytest.Config, sent: dict[str, Any]) -> Settings:
    """Raises UsageProblem."""
    select(config, sent["agentgauge_selection"])
    end_with(sent["agentgauge_controller"])
    asks, run_dir = not only_looks(config), Path(sent["agentgauge_run_dir"])
    return read_settings(given(config.option), config.rootpath, run_dir, tasks=registry_of(config), asks=asks)


def _worker_info(sent: dict[str, Any]) -> Place:
    return Place(
        name=sent["workerid"],
        number=sent["agentgauge_number"],
        count=sent["workercount"],
        dist=sent["agentgauge_dist"],
        first=frozenset(sent["agentgauge_first"]),
        left=sent["agentgauge_queue"],
    )


def _run_cases(config: pytest.Config, settings: Settings, info: Place) -> None:
    collection = config.stash[COLLECTION] = Collection(config, settings, info)
    config.pluginmanager.register(collection, "agentgauge-collection")
    ids = config.getoption("allure_ids", None)  # None without allure-pytest
    if _has("allure") and (ids or (ids is not None and os.environ.get("ALLURE_TESTPLAN_PATH"))):
        from agentgauge.pytest_plugin.allure import AllureIds

        config.pluginmanager.register(AllureIds(), "agentgauge-allure-ids")
    if only_looks(config):
        return
    worker = config.stash[WORKER] = Worker(config, settings, info, collection)
    config.pluginmanager.register(worker, "agentgauge-worker")
    if _allure_folder(config):
        from agentgauge.pytest_plugin.allure import AllureOwn

        config.pluginmanager.register(AllureOwn(config, settings), "agentgauge-allure-own")
    before = gc.get_threshold()
    if 0 < before[0] < GARBAGE:
        gc.set_threshold(GARBAGE, *before[1:])
        config.add_cleanup(lambda: gc.set_threshold(*before))
