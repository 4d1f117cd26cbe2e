"""What ``--lf``, ``--ff`` and ``--sw`` know of earlier runs, for each model by itself.

pytest's cache has one list of failed tests. A case that failed with one model has not failed with another, so the list
holds, while a run goes on, the cases that failed with its model, beside the failed tests that are no cases.
"""

from __future__ import annotations

from typing import Any

import pytest

from agentgauge.run.settings import Settings
from agentgauge.store import RunFolder

_FAILED, _STEPWISE = "cache/lastfailed", "cache/stepwise"
_OURS = "agentgauge/lastfailed"
"""Model → ``failed``, its failed cases, and ``stepwise``, what pytest keeps for that option."""


class LastFailed:
    """Sets pytest's lists when it is made. Registered in pytest's first process, it keeps those of this run's model."""

    def __init__(self, config: pytest.Config, cache: pytest.Cache, settings: Settings) -> None:
        self._config = config
        self._cache = cache
        self._stepwise = bool(config.getoption("stepwise", False))
        self._settings = settings
        known = self._known()
        mine = known.get(settings.tested, {})
        self._failed: set[str] = {*mine.get("failed", ())}
        others = {node for one in known.values() for node in one.get("failed", ())}
        of_no_model = {node: value for node, value in cache.get(_FAILED, {}).items() if node not in others}
        self._put(_FAILED, of_no_model | dict.fromkeys(sorted(self._failed), True), "lfplugin")
        if self._stepwise:
            self._put(_STEPWISE, mine.get("stepwise"), "stepwiseplugin")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)
        elif report.when == "call" and report.passed:
            self._failed.discard(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """After pytest has written its own lists. Runs of other models may have written theirs meanwhile."""
        folder = RunFolder(self._settings.run_dir)
        if not folder.has_plan:
            return
        known = self._known()
        mine = known.setdefault(self._settings.tested, {})
        mine["failed"] = sorted(self._failed & {*mine.get("failed", ()), *folder.plan().values()})
        if self._stepwise:
            mine["stepwise"] = self._cache.get(_STEPWISE, None)
        self._cache.set(_OURS, known)

    def _known(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = self._cache.get(_OURS, {})
        return found

    def _put(self, key: str, value: Any, plugin: str) -> None:
        """Write a list of pytest's, and let pytest's plugin, which has read it, read it again."""
        manager = self._config.pluginmanager
        if self._cache.get(key, None) == value:
            return
        self._cache.set(key, value)
        if (reader := manager.get_plugin(plugin)) is not None:
            for name in (plugin, f"{plugin}-collwrapper"):
                if manager.get_plugin(name):
                    manager.unregister(name=name)
            manager.register(type(reader)(self._config), plugin)
