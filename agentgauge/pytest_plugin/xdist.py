"""Assigns cases to xdist workers so that each knows its whole queue from the start.

A worker computes its own shard from its number (``queues``), which makes look-ahead possible without messages
between controller and worker. Nothing is stolen afterwards: an idle worker gives up its slots instead
(``agentgauge.run.coordination.slots``), so no request is paid twice.
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
    ) -> None:
        """``groups``: for ``queues``, once the workers have collected. ``suspects``: tests, one of which has killed
        a worker; a replacement runs them first."""
        super().__init__(config, log)
        self.groups = groups
        self.slots = slots
        self.suspects = suspects

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

    def _assign(self, collection: Sequence[str]) -> None:
        mode = self.config.getoption("dist")
        shards = dict(enumerate(queues(collection, self.numnodes, mode, self.groups(), self.slots)))
        own = {node: shards.pop(int(node.gateway.id.removeprefix("gw")), None) for node in self.nodes}
        for node, shard in own.items():  # one that replaced a worker before collection takes the shard that is left
            self.node2pending[node] = shard if shard is not None else shards.popitem()[1]
        # thousands of numbers take a while, and each worker knows its own already
        for part in (slice(FIRST), slice(FIRST, None)):
            for node, shard in self.node2pending.items():
                if shard[part]:
                    node.send_runtest_some(shard[part])

    def check_schedule(self, node: WorkerController, duration: float = 0) -> None:
        """Give a replacement all cases that wait for one."""
        if not self.node2pending[node] and not node.shutting_down and node in self.node2collection:
            if self.pending:
                names, suspects = self.node2collection[node], self.suspects()
                order = sorted(self.pending, key=lambda place: (names[place] not in suspects, place))
                self.node2pending[node], self.pending = order, []
                node.send_runtest_some(order)
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

    def schedule(self) -> None:
        sharding = self._chosen
        if isinstance(sharding, ShardScheduling) and sharding.collection is None and not self._has_cases():
            self._chosen = self._xdists_own()
            for node in sharding.nodes:
                self._chosen.add_node(node)
            for node, collection in sharding.node2collection.items():
                self._chosen.add_node_collection(node, collection)
        self._chosen.schedule()


# -- The queue of a replacement worker, which holds what a dead worker has left.
#
# This uses internals of another package: xdist offers a worker no public view of its queue. If
# the queue has another form than expected, the worker runs its cases one by one.


def queued_items(session: pytest.Session) -> tuple[Sequence[pytest.Item], bool]:
    """The items in the queue, and whether these are all that will come."""
    for plugin in session.config.pluginmanager.get_plugins():
        queue: Any = getattr(plugin, "torun", None)
        if type(plugin).__name__ == "WorkerInteractor" and hasattr(queue, "lock"):
            with queue.lock() as entries:
                numbers = [entry for entry in entries if isinstance(entry, int)]
                is_complete = len(numbers) < len(entries)  # the last entry is xdist's mark for the end
            return [session.items[number] for number in numbers], is_complete
    return [], False
