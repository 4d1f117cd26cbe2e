"""The number of worker processes: for benchmarks with ``-n`` at most one for each processor.

A worker sends many concurrent requests, so that processes beyond the processors add start-up, collection and memory,
and no speed (docs/performance.md has the measurement). ``--in-flight`` is a total and stays as it is.
"""

from __future__ import annotations

import pytest

from agentgauge.core.task_registry import known_tasks
from agentgauge.pytest_plugin.options import test_paths
from agentgauge.run.preflight import package_of
from agentgauge.run.thread_pools import processors

ASKED = pytest.StashKey[int]()
"""The number of workers in ``-n``, if fewer are started."""


def limit_workers(config: pytest.Config) -> None:
    """Start no more workers for ``-n N`` than there are processors, where only benchmarks are run: every path of tests
    lies in the package of an announced benchmark. ``--tx`` is taken as it is."""
    option, most = config.option, processors()
    asked = getattr(option, "numprocesses", None)
    if not isinstance(asked, int) or asked <= most:
        return
    paths = test_paths(config)
    packages = {package_of(task) for task in known_tasks().values()} - {None}
    if paths and all(any(path.is_relative_to(package) for package in packages if package) for path in paths):
        config.stash[ASKED] = asked
        option.numprocesses = most
        del option.tx[most:]  # xdist has filled it


def limit_restarts(config: pytest.Config) -> None:
    """Replace no more workers with ``--tx`` than xdist does with ``-n``: four times as many as are started. Otherwise
    workers whose Python cannot start them would be replaced for ever."""
    option = config.option
    distributed = getattr(option, "dist", "no") != "no" and option.tx
    if distributed and not option.numprocesses and option.maxworkerrestart is None:
        from xdist.workermanage import parse_tx_spec_config

        option.maxworkerrestart = str(4 * len(parse_tx_spec_config(config)))


def worker_count_notice(config: pytest.Config) -> str | None:
    """A line for the header where fewer workers are started than ``-n`` asked for."""
    asked = config.stash.get(ASKED, None)
    if asked is None:
        return None
    started = config.option.numprocesses
    return (
        f"{started} worker{'' if started == 1 else 's'} instead of {asked}: more workers than processors would cost"
        f" time and memory and gain nothing, because each sends many concurrent requests; --tx '{asked}*popen' --dist"
        " load starts them all"
    )
