"""``--cache``: makes its folder, puts it around models and tools, and says what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentgauge.run.part import Part, Process
    from agentgauge.run.run import Run
    from agentgauge.run.settings import Draft


def pytest_agentgauge_options() -> type:
    from agentgauge.plugins.cache.options import CacheOptions

    return CacheOptions


def pytest_agentgauge_configure(draft: Draft) -> None:
    from agentgauge.plugins.cache.options import CacheOptions

    if folder := draft.facts[CacheOptions].cache:
        draft.hidden[folder] = "the folder of --cache"


def pytest_agentgauge_check(run: Run) -> None:
    from agentgauge.plugins.cache.cache import PROBLEM, check_cache
    from agentgauge.plugins.cache.options import CacheOptions

    (run.folder / PROBLEM).unlink(missing_ok=True)
    folder = run.settings.of(CacheOptions).cache
    if folder and not run.settings.launch:  # on a node it may be another folder
        check_cache(folder)


def pytest_agentgauge_header(run: Run) -> Iterable[str]:
    from agentgauge.plugins.cache.options import CacheOptions

    folder = run.settings.of(CacheOptions).cache
    return [f"cache {folder}: what it answers costs nothing"] if folder else []


def pytest_agentgauge_process(process: Process) -> Part | None:
    from agentgauge.plugins.cache.options import CacheOptions

    if (folder := process.settings.of(CacheOptions).cache) is None:
        return None
    from agentgauge.plugins.cache.cache import CachePart

    return CachePart(process, folder)


def pytest_agentgauge_ended(run: Run) -> None:
    from agentgauge.plugins.cache.cache import PROBLEM, cache_notes

    run.notes += cache_notes(run.folder)
    (run.folder / PROBLEM).unlink(missing_ok=True)
