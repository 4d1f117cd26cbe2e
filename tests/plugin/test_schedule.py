"""What the scheduler sends to workers, without workers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from xdist.remote import Producer

from agentgauge.pytest_plugin.xdist import FIRST, ShardScheduling


class Node:
    """A worker that notes what it is sent."""

    def __init__(self, number: int, log: list[tuple[int, list[int] | str]]) -> None:
        self.number, self.log = number, log
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        self.log.append((self.number, indices))

    def shutdown(self) -> None:
        self.log.append((self.number, "no more"))


@pytest.mark.parametrize("cases", [0, 1, 2 * FIRST, 30])
def test_all_workers_are_told_of_a_few_cases_before_any_is_told_of_the_rest(cases):
    options = {"dist": "load", "tx": ["2*popen"], "numprocesses": 2}
    config = SimpleNamespace(getoption=options.get, getvalue=options.get, option=SimpleNamespace(**options))
    scheduling = ShardScheduling(config, Producer("sched"), dict, 8, suspects=set)
    log = []
    nodes = [Node(number, log) for number in range(2)]
    for node in nodes:
        scheduling.add_node(node)
        scheduling.add_node_collection(node, [f"t[{number}]" for number in range(cases)])
    scheduling.schedule()
    shares = [list(range(number, cases, 2)) for number in range(2)]
    assert [scheduling.node2pending[node] for node in nodes] == shares
    told = [(number, share[:FIRST]) for number, share in enumerate(shares)] + [
        (number, share[FIRST:]) for number, share in enumerate(shares)
    ]
    assert log == [one for one in told if one[1]] + [(0, "no more"), (1, "no more")]
