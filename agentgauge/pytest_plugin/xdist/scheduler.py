"""Assigns cases to xdist workers so that each knows its whole queue from the start.

A worker computes its own shard from its number (``partition``), which makes look-ahead possible without messages
between controller and worker. Nothing is stolen afterwards: an idle worker gives up its slots instead
(``agentgauge.run.slots``), so no request is paid twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.report import report_collection_diff
from xdist.scheduler import (
    LoadFileScheduling,
    LoadGroupScheduling,
    LoadScheduling,
    LoadScopeScheduling,
    WorkStealingScheduling,
)
from xdist.workermanage import WorkerController, parse_tx_spec_config

from agentgauge.run.partition import partition

XDISTS_OWN = {
    "load": LoadScheduling,
    "worksteal": WorkStealingScheduling,
    "loadgroup": LoadGroupScheduling,
    "loadfile": LoadFileScheduling,
    "loadscope": LoadScopeScheduling,
}
"""``--dist`` → what ordinary tests are scheduled by."""

FIRST = 4
"""Cases that are sent to each worker before the rest is sent to any."""


def worker_number(worker: str) -> int:
    """``gw3`` → 3. Replacements for dead workers are numbered on."""
    return int(worker.removeprefix("gw"))


class ShardScheduling:
    """Implements xdist's ``Scheduling`` protocol.

    ``collection``: node ids in order, once all initial workers agree.
    ``pending``: worker → indices it has been given and not yet finished, in order.
    ``orphans``: indices of dead workers, waiting for a replacement.
    """

    def __init__(self, config: pytest.Config, groups: Callable[[], Mapping[int, str]], in_flight: int) -> None:
        """``groups``: for ``partition``, once the workers have collected."""
        self.config = config
        self.groups = groups
        self.in_flight = in_flight
        self.mode: str = config.getoption("dist")
        self.numnodes = len(parse_tx_spec_config(config))
        self.collection: list[str] | None = None
        self.collections: dict[WorkerController, list[str]] = {}
        self.pending: dict[WorkerController, list[int]] = {}
        self.orphans: list[int] = []

    @property
    def nodes(self) -> list[WorkerController]:
        return list(self.pending)

    @property
    def collection_is_completed(self) -> bool:
        return self.collection is not None or len(self.collections) >= self.numnodes

    @property
    def tests_finished(self) -> bool:
        return self.collection is not None and not self.orphans and not any(self.pending.values())

    @property
    def has_pending(self) -> bool:
        return bool(self.orphans) or any(self.pending.values())

    def add_node(self, node: WorkerController) -> None:
        self.pending[node] = []

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        same = [known for known in self.collections.values() if known == collection]
        self.collections[node] = same[0] if same else list(collection)  # one list for all: 10 MB with 100,000 cases

    def schedule(self) -> None:
        """Assign every case on the first call; afterwards hand orphans to the replacement that has just arrived."""
        if self.collection is not None:
            self._adopt()
            return
        first, *others = self.collections.items()
        for node, collection in others:
            if difference := report_collection_diff(first[1], collection, first[0].gateway.id, node.gateway.id):
                report = pytest.CollectReport(nodeid=node.gateway.id, outcome="failed", longrepr=difference, result=[])
                self.config.hook.pytest_collectreport(report=report)
                self.collection = []
                self._shut_down()
                return
        self.collection = first[1]
        shards = dict(enumerate(partition(self.collection, self.numnodes, self.mode, self.groups(), self.in_flight)))
        own = {node: shards.pop(worker_number(node.gateway.id), None) for node in self.nodes}
        for node, shard in own.items():  # one that replaced a worker before collection takes the shard that is left
            self.pending[node] = shard if shard is not None else shards.popitem()[1]
        for part in (
            slice(FIRST),
            slice(FIRST, None),
        ):  # thousands of numbers take a while, and each worker knows its own already
            for node, shard in self.pending.items():
                if shard[part]:
                    node.send_runtest_some(shard[part])
        self._shut_down()

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        self.pending[node].remove(item_index)

    def mark_test_pending(self, item: str) -> None:
        """Run a case again: the one on which a worker died."""
        assert self.collection is not None
        self.orphans.insert(0, self.collection.index(item))

    def remove_pending_tests_from_node(self, node: WorkerController, indices: Sequence[int]) -> None:
        raise RuntimeError("cases are assigned once and never stolen")

    def remove_node(self, node: WorkerController) -> str | None:
        """Take the cases of a worker that is gone. Returns the one it was on, if it died on one."""
        pending = self.pending.pop(node)
        self.collections.pop(node, None)
        if not pending or self.collection is None:
            return None
        self.orphans.extend(pending[1:])
        return self.collection[pending[0]]

    def _adopt(self) -> None:
        for node in self.nodes:
            if not self.pending[node] and not node.shutting_down and node in self.collections:
                if self.orphans:
                    self.pending[node], self.orphans = sorted(self.orphans), []
                    node.send_runtest_some(self.pending[node])
                node.shutdown()

    def _shut_down(self) -> None:
        """Notify the workers that no more will come: each ends when its queue is done."""
        for node in self.nodes:
            node.shutdown()


class Scheduling:
    """Assigns shards where benchmark cases are in the collection, and leaves ordinary tests to xdist's own scheduler.

    Which it is turns out when the workers have collected; until then the shard scheduler keeps the book.
    """

    def __init__(
        self,
        config: pytest.Config,
        log: Producer,
        *,
        has_cases: Callable[[], bool],
        groups: Callable[[], Mapping[int, str]],
        in_flight: int,
    ) -> None:
        self._config = config
        self._log = log
        self._has_cases = has_cases
        self._decided = False
        self._chosen: Any = ShardScheduling(config, groups, in_flight)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chosen, name)

    def schedule(self) -> None:
        if not self._decided:
            self._decided = True
            if not self._has_cases():
                sharding, self._chosen = (
                    self._chosen,
                    XDISTS_OWN[self._config.getoption("dist")](self._config, self._log),
                )
                for node in sharding.nodes:
                    self._chosen.add_node(node)
                for node, collection in sharding.collections.items():
                    self._chosen.add_node_collection(node, collection)
        self._chosen.schedule()
