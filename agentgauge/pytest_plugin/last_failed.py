"""What ``--lf``, ``--ff`` and ``--sw`` know of earlier runs, for each model by itself.

pytest's cache has one list of failed tests. A case that failed with one model has not failed with another, so pytest is
given the cases that failed with the run's model, beside the failed tests that are no cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest

from agentgauge.model.shared_json import shared_json
from agentgauge.pytest_plugin.options import only_looks
from agentgauge.run.settings import Settings
from agentgauge.store import RunFolder

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
            return deepcopy(lists[key]) if key in lists else get(key, default)  # as of a file: whoever reads changes it

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
