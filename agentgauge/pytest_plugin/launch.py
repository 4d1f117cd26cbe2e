"""The driver of a launch: what it takes from pytest's own command line, and the order of its tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from agentgauge.pytest_plugin.keys import PLANNED

if TYPE_CHECKING:
    from agentgauge.run.launch.remote_cases import RemoteCases
    from agentgauge.store.jsonl import CaseId

PASSED_ON = ("ignore", "ignore_glob", "override_ini", "confcutdir", "import_mode", "pythonwarnings")
"""Options of pytest that change what a node collects, by their names with ``_``."""


def node_arguments(config: pytest.Config) -> list[str]:
    """Arguments of the pytest processes on nodes: pytest's own options that matter there, and the paths."""
    option = config.option
    given = {name: getattr(option, name.replace("import_mode", "importmode")) or () for name in PASSED_ON}
    listed = {name: [values] if isinstance(values, str) else values for name, values in given.items()}
    named = [f"--{name.replace('_', '-')}={value}" for name, values in listed.items() for value in values]
    named += ["--override-ini=addopts=", *(word for plugin in option.plugins or () for word in ("-p", plugin))]
    named += [f"--config-file={config.inipath}"] if option.inifilename else []
    return [*named, *["--noconftest"] * option.noconftest, *["--pyargs"] * option.pyargs, *config.args]


def as_they_end(items: Sequence[pytest.Item], cases: RemoteCases) -> Iterator[pytest.Item]:
    """First the tests that wait for no shard, then those of cases in the order in which the cases end: a shard has
    cases from all over the plan, so pytest's own order would wait for the last shard almost from the start."""
    waiting: dict[CaseId, list[pytest.Item]] = {}
    for item in items:
        planned = item.stash.get(PLANNED, None)
        if planned and cases.is_submitted(planned):
            waiting.setdefault(planned.id, []).append(item)
        else:
            yield item
    while waiting and (done := cases.next_done(waiting)):
        yield from waiting.pop(done)
    for left in waiting.values():
        yield from left


def run_as_they_end(session: pytest.Session, cases: RemoteCases) -> None:
    """Pytest's loop over the tests. A test is reported when it is known which one is next, because that says which
    fixtures stay. Raises what pytest's own loop raises when the run is to stop."""
    items = as_they_end(session.items, cases)
    item = next(items, None)
    while item:
        following = next(items, None)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        item = following
