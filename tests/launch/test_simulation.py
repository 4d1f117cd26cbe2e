"""The simulation of launches on many nodes gives what can be worked out by hand; and its figures can be measured."""

from __future__ import annotations

import json

import pytest

from benchmarks import launch_probe
from benchmarks.simulate_launch import Costs, simulated, table

COSTS = Costs(fixed_s=5, shard_s=1, plan_us=0, message_us=100, case_ms=1, node_speed=400, latency_s=1, in_flight=10)


def test_few_nodes_are_as_fast_as_their_requests():
    """2 nodes with 10 cases a second each: 4,000 cases take 200 s, and 4 shards start one after the other."""
    found = simulated(COSTS, 2, 4_000)
    assert found.seconds == pytest.approx(5 + 4 * 1 + 200, rel=0.02)
    assert found.wanted == 20
    assert found.messages <= 20
    assert not found.is_saturated


def test_many_nodes_are_as_fast_as_their_driver():
    """1,000 nodes would solve 10,000 cases a second; the driver takes 1.1 ms for each, which is a message."""
    found = simulated(COSTS, 1_000, 100_000)
    assert found.is_saturated
    assert found.cases == pytest.approx(1 / 0.0011, rel=0.03)


def test_more_drivers_share_the_cases():
    assert simulated(COSTS, 1_000, 100_000, drivers=4).seconds < 0.35 * simulated(COSTS, 1_000, 100_000).seconds


def test_the_table_adds_drivers_until_none_is_saturated():
    rows = [row.split(" | ")[:2] for row in table(COSTS, 20_000, (10, 1_000)).splitlines()[2:]]
    assert rows[:2] == [["| 10", "1"], ["| 1,000", "1"]]
    assert [row[1] for row in rows[1:]][:2] == ["1", "4"]


def test_the_driver_takes_all_records_that_are_ready(capsys):
    launch_probe.main("direct", 40, 3)
    assert json.loads(capsys.readouterr().out).keys() == {"seconds", "cpu"}
