"""Many short requests to an endpoint that takes 200 ms: how close a run comes to samples × latency / in flight."""

from __future__ import annotations

import pytest

from benchmarks.measure import Cost, bare_project, endpoint, run, toy_project

SAMPLES = 1024
LATENCY = 0.2  # seconds
IN_FLIGHT = 128
IDEAL = SAMPLES * LATENCY / IN_FLIGHT  # 1.6 s
ROUNDS = 3


@pytest.mark.parametrize("workers", ["0", "2"])
def test_1024_requests_take_less_than_three_times_the_ideal_and_start_up(tmp_path, benchmark, figure, workers):
    """Start-up is the same command on one sample. Two workers are for the record: they start up three processes."""
    one, many = toy_project(tmp_path / "one", 1), toy_project(tmp_path / "many", SAMPLES)
    start_up: list[Cost] = []
    costs: list[Cost] = []
    with endpoint(LATENCY) as (url, served):
        options = ("--data", "toy", "--model", "m", "--model-url", url, "-n", workers, "--in-flight", str(IN_FLIGHT))
        benchmark.pedantic(
            lambda: costs.append(run(many, *options)),
            setup=lambda: start_up.append(run(one, *options)),
            rounds=ROUNDS,
            warmup_rounds=1,
        )
    wall = min(cost.wall for cost in costs) - min(cost.wall for cost in start_up)
    cpu = min(cost.cpu for cost in costs) - min(cost.cpu for cost in start_up)
    figure(f"-n {workers} --in-flight {IN_FLIGHT}: seconds without start-up / ideal", wall / IDEAL)
    figure(f"-n {workers}: CPU per case, ms", 1000 * cpu / (SAMPLES - 1))
    figure(f"-n {workers}: CPU per request of the endpoint, ms", 1000 * served["cpu_seconds"] / served["requests"])
    if workers == "0":
        assert wall <= 3 * IDEAL


def test_cpu_of_a_case_of_bare_pytest(tmp_path, benchmark, figure):
    """For comparison: what pytest itself takes to walk through a case that does nothing."""
    one, many = bare_project(tmp_path / "one", 1), bare_project(tmp_path / "many", SAMPLES)
    start_up: list[Cost] = []
    costs: list[Cost] = []
    benchmark.pedantic(lambda: costs.append(run(many, "-q")), setup=lambda: start_up.append(run(one, "-q")), rounds=ROUNDS, warmup_rounds=1)
    figure("bare pytest: CPU per case, ms", 1000 * (min(c.cpu for c in costs) - min(c.cpu for c in start_up)) / (SAMPLES - 1))
