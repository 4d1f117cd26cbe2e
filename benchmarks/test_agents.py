"""Agent loops: 256 samples of five model turns, each with four calls of a tool that answers at once."""

from __future__ import annotations

from benchmarks.measure import alternate, cpu, endpoint, run, toy, wall
from benchmarks.projects import toy_project
from benchmarks.toys import CALLS, TURNS
from tests.plugin.project import summary

SAMPLES = 256
LATENCY = 0.2  # seconds
IN_FLIGHT = 128
IDEAL = SAMPLES * TURNS * LATENCY / IN_FLIGHT  # 2 s
ROUNDS = 3


def test_agent_loops(tmp_path, benchmark, figure):
    """Start-up is the same on one sample, without the latency of its turns."""
    one, many = toy_project(tmp_path / "one", 1, "AgentToy"), toy_project(tmp_path / "many", SAMPLES, "AgentToy")
    costs = {}
    with endpoint(LATENCY, calls=CALLS) as (url, served):
        options = toy(url, "-n", "0", "--in-flight", str(IN_FLIGHT))
        contestants = {"start-up": lambda: run(one, *options), "run": lambda: run(many, *options)}
        contestants["start-up"]()
        run(many, *options, "--run-dir", "checked")
        assert summary(many.path / "checked")["tasks"]["toy.say"]["passed"] == SAMPLES
        benchmark.pedantic(lambda: costs.update(alternate(contestants, ROUNDS)), rounds=1)
    assert served["paid"] == TURNS * ((ROUNDS + 1) * SAMPLES + ROUNDS + 1)
    start_up = wall(costs["start-up"]) - TURNS * LATENCY
    figure("agent loops: wall", wall(costs["run"]), "s")
    figure(f"agent loops: wall without start-up / limit of {IDEAL:g} s", (wall(costs["run"]) - start_up) / IDEAL)
    figure("agent loops: wall, start-up included / limit", wall(costs["run"]) / IDEAL, most=1.5)
    turns = TURNS * (SAMPLES - 1)
    figure("agent loops: CPU a turn with four calls", 1000 * (cpu(costs["run"]) - cpu(costs["start-up"])) / turns, "ms")
