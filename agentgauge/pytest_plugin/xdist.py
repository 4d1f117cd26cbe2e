"""Assigns cases to xdist workers so that each knows its whole queue from the start.

A worker computes its own queue from its number (``queues``), which makes look-ahead possible without messages between
controller and worker. The replacement of a dead worker is told, when it starts, what dead workers have left. Nothing is
stolen afterwards: an idle worker gives up its slots instead (``agentgauge.run.coordination.slots``), so no request is
paid twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.report import report_collection_diff
from xdist.scheduler import LoadScheduling
from xdist.workermanage import WorkerController

from agentgauge.run.partition import queues

FIRST = 4
"""Cases that are sent to each worker before the rest is sent to any."""


class ShardScheduling(LoadScheduling):  # type: ignore[misc]
    """Sends each worker its shard at once."""

    collection: list[str] | None  # node ids in order, once all initial workers agree
    pending: list[int]  # of dead workers, waiting for a replacement

    def __init__(
        self,
        config: pytest.Config,
        log: Producer,
        groups: Callable[[], Mapping[int, str]],
        slots: int,
        suspects: Callable[[], Collection[str]],
        numbers: Mapping[str, int],
    ) -> None:
        """``groups``: for ``queues``, once the workers have collected. ``suspects``: tests, one of which has killed
        a worker; a replacement runs them first. ``numbers``: of the workers, by their ids."""
        super().__init__(config, log)
        self.groups = groups
        self.slots = slots
        self.suspects = suspects
        self.numbers = numbers
        self._reserved: dict[str, list[int]] = {}  # replacement → its part of ``pending``

    @property
    def tests_finished(self) -> bool:
        return self.collection is not None and not self.has_pending

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        same = [known for known in self.node2collection.values() if known == collection]
        # one list for all: 10 MB with 100,000 cases
        self.node2collection[node] = same[0] if same else list(collection)

    def schedule(self) -> None:
        """Assign every case on the first call; later give the cases of a dead worker to its replacement."""
        if self.collection is not None:
            for node in self.nodes:
                self.check_schedule(node)
            return
        first, *others = self.node2collection.items()
        self.collection = first[1]
        for node, collection in others:
            if difference := report_collection_diff(first[1], collection, first[0].gateway.id, node.gateway.id):
                report = pytest.CollectReport(nodeid=node.gateway.id, outcome="failed", longrepr=difference, result=[])
                self.config.hook.pytest_collectreport(report=report)
                self.collection = []
                break
        if self.collection:
            self._assign(self.collection)
        for node in self.nodes:
            node.shutdown()  # no more will come: each ends when its queue is done

    def reserve(self, worker: str) -> list[int] | None:
        """The queue of a replacement that is about to start: all cases of dead workers that no other one gets. None
        before cases are assigned: then it computes the queue of its number, as the dead one would have."""
        if self.collection is None:
            return None
        names, suspects = self.collection, self.suspects()
        others = {place for queue in self._reserved.values() for place in queue}
        left = [place for place in self.pending if place not in others]
        self._reserved[worker] = sorted(left, key=lambda place: (names[place] not in suspects, place))
        return self._reserved[worker]

    def release(self, worker: str) -> None:
        """A worker has died, perhaps before it got its queue."""
        self._reserved.pop(worker, None)

    def _assign(self, collection: Sequence[str]) -> None:
        mode = self.config.getoption("dist")
        shards = queues(collection, self.numnodes, mode, self.groups(), self.slots)
        for node in self.nodes:
            self.node2pending[node] = shards[self.numbers[node.gateway.id]]
        # thousands of numbers take a while, and each worker knows its own already
        for part in (slice(FIRST), slice(FIRST, None)):
            for node, shard in self.node2pending.items():
                if shard[part]:
                    node.send_runtest_some(shard[part])

    def check_schedule(self, node: WorkerController, duration: float = 0) -> None:
        """Give a replacement its queue."""
        if not self.node2pending[node] and not node.shutting_down and node in self.node2collection:
            if queue := self._reserved.pop(node.gateway.id, []):
                taken = set(queue)
                self.node2pending[node] = queue
                self.pending = [place for place in self.pending if place not in taken]
                node.send_runtest_some(queue)
            node.shutdown()

    def remove_node(self, node: WorkerController) -> str | None:
        """Take back the cases of a dead worker. Returns the case that was running when it died, if any."""
        if self.collection is None:
            self.node2collection.pop(node, None)
        return super().remove_node(node)  # type: ignore[no-any-return]


class Scheduling:
    """Assigns shards where benchmark cases are in the collection, and leaves ordinary tests to xdist's own scheduler.

    The choice is made when the workers have collected; until then the shard scheduler keeps track of the workers.
    """

    def __init__(
        self,
        sharding: ShardScheduling,
        *,
        has_cases: Callable[[], bool],
        xdists_own: Callable[[], Any],
    ) -> None:
        self._has_cases = has_cases
        self._xdists_own = xdists_own
        self._chosen: Any = sharding

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chosen, name)

    @property
    def is_ours(self) -> bool:
        """Whether there are benchmark cases, so that a test can be put back into the queue."""
        return isinstance(self._chosen, ShardScheduling)

    def reserve(self, worker: str) -> list[int] | None:
        """See ``ShardScheduling``. None where xdist's own scheduler assigns."""
        return self._chosen.reserve(worker) if isinstance(self._chosen, ShardScheduling) else None

    def release(self, worker: str) -> None:
        """See ``ShardScheduling``."""
        if isinstance(self._chosen, ShardScheduling):
            self._chosen.release(worker)

    def schedule(self) -> None:
        sharding = self._chosen
        if isinstance(sharding, ShardScheduling) and sharding.collection is None and not self._has_cases():
            self._chosen = self._xdists_own()
            for node in sharding.nodes:
                self._chosen.add_node(node)
            for node, collection in sharding.node2collection.items():
                self._chosen.add_node_collection(node, collection)
        self._chosen.schedule()
