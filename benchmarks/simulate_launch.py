"""How long launches on many nodes take, and where their driver is at its limit: a simulation from measured figures.

    python -m benchmarks.simulate_launch --case-ms 0.78 --latency-s 20

What is assumed: all cases take the same time; the endpoint answers as many requests as come; a shard has its share of
``--in-flight``, but its processors solve no more than ``--node-speed`` cases a second; the nodes have the data; the
driver does one thing at a time. Shards start when the driver has read the plan, and what they send waits for the driver
in line. Time goes on in steps of TICK, in each of which a shard sends one message at most.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, fields

from agentgauge.run.launch.node import LOOK_SECONDS as TICK
from agentgauge.run.launch.remote_cases import SHARDS_A_WORKER


@dataclass(frozen=True)
class Costs:
    """As measured by ``benchmarks/test_launch.py``, in the units of their names; of processor time where not said."""

    fixed_s: float = 2.9  # of the driver's start and of the run's end
    shard_s: float = 0.9  # of a shard on its node, before its first request and after its last
    plan_us: float = 80.0  # of each planned case, in each process that collects the plan
    message_us: float = 138.0  # of the driver, for each message
    case_ms: float = 0.78  # of the driver, for each case: its record is stored, and its test reported
    node_speed: float = 400.0  # cases a second that the processors of a shard solve
    latency_s: float = 2.0  # of all requests of a case
    in_flight: float = 32.0  # of each shard


@dataclass(frozen=True)
class Launched:
    """What became of a launch."""

    seconds: float
    wanted: float  # cases a second that its nodes would solve while all of them work
    cases: float  # a second that the driver took while it had work
    messages: float  # a second, in the same time
    busy: float  # share of that time in which the driver worked

    @property
    def is_saturated(self) -> bool:
        return self.busy > 0.95


def simulated(costs: Costs, nodes: int, cases: int, drivers: int = 1) -> Launched:
    """One shard at a time on each node. ``drivers``: so many launches share nodes and cases, with ``--shard``; each
    still collects the whole plan."""
    nodes, planned, cases = nodes // drivers, cases, cases // drivers
    speed = min(costs.in_flight / costs.latency_s, costs.node_speed)
    collecting = planned * costs.plan_us / 1e6
    size = cases / (SHARDS_A_WORKER * nodes)
    idle = costs.shard_s + collecting
    phase = [idle * (1 + node / nodes) for node in range(nodes)]  # seconds until each worker's first case of its shard
    left = [size] * nodes
    shards = [SHARDS_A_WORKER] * nodes
    backlog = now = work = sent = 0.0
    first = None
    while any(shards) or backlog > 0:
        for node in range(nodes):
            if not shards[node]:
                continue
            if phase[node] > 0:
                phase[node] -= TICK
                continue
            done = min(left[node], speed * TICK)
            messages = min(1.0, done)
            backlog += done * costs.case_ms / 1e3 + messages * costs.message_us / 1e6
            sent += messages
            first = now if first is None else first
            left[node] -= done
            if left[node] <= 1e-9:
                shards[node] -= 1
                phase[node], left[node] = idle, size
        work += min(backlog, TICK)
        backlog = max(0.0, backlog - TICK)
        now += TICK
    span = now - (first or 0.0)
    total = costs.fixed_s + collecting + now
    return Launched(total, nodes * drivers * speed, drivers * cases / span, drivers * sent / span, work / span)


def table(costs: Costs, cases: int, sizes: tuple[int, ...] = (10, 100, 1000)) -> str:
    """In Markdown."""
    lines = [
        "| nodes | drivers | run time | nodes offer | driver takes | messages a second | driver busy |",
        "|---|---|---|---|---|---|---|",
    ]
    for nodes in sizes:
        drivers = 1
        while True:
            found = simulated(costs, nodes, cases, drivers)
            lines.append(
                f"| {nodes:,} | {drivers} | {_time(found.seconds)} | {found.wanted:,.0f} cases/s |"
                f" {found.cases:,.0f} cases/s | {found.messages:,.0f} | {found.busy:.0%} |"
            )
            if not found.is_saturated or drivers * 4 > nodes:
                break
            drivers *= 4
    return "\n".join(lines)


def _time(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{seconds / 60:.1f} min"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=1_000_000)
    for field in fields(Costs):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=float, default=field.default)
    given = vars(parser.parse_args())
    cases = given.pop("cases")
    print(table(Costs(**given), cases))


if __name__ == "__main__":
    main()
