"""Launches that are disturbed: nodes and drivers die at random moments, and what is finished is neither lost nor asked
for again."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.launch.ray_nodes import Nodes, below, having
from tests.model import fault_server as faults
from tests.plugin.conftest import slow, undisturbed
from tests.plugin.project import Project, Result, records, summary, without_times

pytestmark = pytest.mark.long
pytest.importorskip("ray", reason="the extra ray is not installed")

SAMPLES = 24
LATENCY = 0.3
DELIVERY = 1.0
"""Seconds in which the driver has a record that was finished on a node; longer than it takes on a busy machine."""
SHARD = "--agentgauge-run-dir="
"""In the command line of a shard's pytest."""
QUIET = 10.0
"""Seconds after which nothing of a launch that was killed asks the model any more."""


class Asked:
    """An endpoint that notes when it was asked what."""

    def __init__(self) -> None:
        self.times: list[tuple[str, float]] = []
        self._server = faults.FaultServer(choose=self._choose)

    def __enter__(self) -> Asked:
        self._server.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.stop()

    @property
    def url(self) -> str:
        return self._server.url

    def again(self) -> dict[str, float]:
        """What was asked more than once, and when it was asked first."""
        first: dict[str, float] = {}
        again = {}
        for text, at in self.times:
            if text in first:
                again[text] = first[text]
            first.setdefault(text, at)
        return again

    def _choose(self, seen: faults.Seen) -> faults.Act:
        self.times.append((seen.body["messages"][-1]["content"], time.monotonic()))
        return slow(LATENCY)(seen)


@pytest.fixture
def asked() -> Iterator[Asked]:
    with Asked() as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with Nodes() as cluster:
        yield cluster


class Launch:
    """A launch of the toy benchmark that runs."""

    def __init__(self, project: Project, nodes: Nodes, *arguments: str, address: str = "", cpus: str = "0.5") -> None:
        self._project = project
        words = ("--ray", address or nodes.address, "--workers", "2", "--cpus", cpus, "--", *arguments)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "agentgauge.cli.main", "launch", *words],
            cwd=project.path,
            env=project.environment(nodes.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def ended(self) -> Result:
        output, _ = self.process.communicate(timeout=120)
        return Result(self.process.returncode, output, self._project.path)


def first(asked: Asked, samples: str = "toy") -> tuple[str, ...]:
    """The arguments of a run that begins."""
    return ("--model", "m", "--model-url", asked.url, "--data", samples, "--in-flight", "4", "--run-dir", "run")


def none_left(token: str, word: str = "", *, other_than: tuple[str, ...] = ()) -> None:
    """Wait for the end of processes, QUIET seconds at most."""
    deadline = time.monotonic() + QUIET
    while left := {line for line in having(token, word).values() if not line.startswith(other_than)}:
        assert time.monotonic() < deadline, left
        time.sleep(0.02)


def wait_for(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="module")
def seconds(tmp_path_factory, nodes) -> float:
    """That a launch takes to which nothing happens."""
    project = Project.make(tmp_path_factory.mktemp("undisturbed") / "project", SAMPLES)
    with Asked() as asked:
        begin = time.monotonic()
        result = Launch(project, nodes, *first(asked)).ended()
    assert result.status == 0, result.output
    assert not asked.again()
    assert without_times(result.summary("run")) == undisturbed(SAMPLES)
    return time.monotonic() - begin


@pytest.mark.parametrize("seed", range(4))
def test_a_node_that_is_killed(tmp_path, nodes, asked, seconds, seed):
    """Every second time only the process that makes it a node, so that its shards have to notice that."""
    project = Project.make(tmp_path / "project", SAMPLES)
    node = nodes.add()
    launch = Launch(project, nodes, *first(asked), cpus="1")  # one shard on each node
    time.sleep(random.Random(f"node {seed}").uniform(0.2, 1) * seconds)
    killed = time.monotonic()
    (nodes.kill if seed % 2 else nodes.kill_raylet)(node)
    result = launch.ended()
    nodes.kill(node)
    assert result.status == 0, result.output
    assert without_times(result.summary("run")) == undisturbed(SAMPLES)
    in_the_air = asked.again()
    assert all(at > killed - LATENCY - DELIVERY for at in in_the_air.values()), (killed, in_the_air)
    assert len(in_the_air) <= 2 * (1 + (DELIVERY / LATENCY))  # of its shard's two places
    assert len(asked.times) == SAMPLES + len(in_the_air)  # nothing was asked three times


def test_a_node_that_falls_silent(tmp_path, nodes, asked):
    """Its machine has no power any more, say: no connection is closed."""
    project = Project.make(tmp_path / "project", SAMPLES)
    node = nodes.add()
    launch = Launch(project, nodes, *first(asked), cpus="1")
    wait_for(lambda: any(process in having(nodes.token, SHARD) for process in below(node.pid)) and len(asked.times) > 8)
    nodes.freeze(node)
    result = launch.ended()
    nodes.kill(node)
    assert result.status == 0, result.output
    assert without_times(result.summary("run")) == undisturbed(SAMPLES)
    assert len(asked.times) == SAMPLES + len(asked.again())


@pytest.mark.parametrize("way", ["launch", "pytest"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_driver_that_is_ended(tmp_path, nodes, asked, number, way):
    project = Project.make(tmp_path / "project", 100)
    run = project.path / "run"
    launch = Launch(project, nodes, *first(asked))
    wait_for(lambda: len(kept_in(run)) >= 6)
    launch.process.send_signal(number)
    if number != signal.SIGKILL:
        result = launch.ended()
        assert result.status == 2, result.output
    none_left(nodes.token, SHARD)
    launch.ended()
    kept, before = kept_in(run), len(asked.times)
    again = ("--resume", "run")
    result = Launch(project, nodes, *again).ended() if way == "launch" else project.run(*again)
    assert result.status == 0, result.output
    assert f"{len(kept)} cases are kept, {100 - len(kept)} run" in result.output
    assert len(asked.times) - before == 100 - len(kept)
    assert {record["sample"] for record in records(run)} == {f"s{sample}" for sample in range(100)}
    assert without_times(result.summary("run"))["tasks"] == undisturbed(100)["tasks"]


def kept_in(run: Path) -> set[str]:
    """Samples with a whole record."""
    files = (*run.glob("records/*.jsonl"), *run.glob("records.jsonl"))
    return {json.loads(line)["sample"] for file in files for line in file.read_bytes().split(b"\n")[:-1]}


def test_the_first_failure_stops_the_shards(tmp_path, nodes):
    """As soon as its record has come, wherever its case stands in the plan."""
    project = Project.make(tmp_path / "project", 100)
    times = []

    def choose(seen):
        times.append(time.monotonic())
        return faults.answer(None) if len(times) == 4 else slow(LATENCY)(seen)

    with faults.FaultServer(choose=choose) as endpoint:
        words = ("--model", "m", "--model-url", endpoint.url, "--data", "toy", "--in-flight", "4", "--run-dir", "run")
        result = Launch(project, nodes, "-x", *words).ended()
    assert result.status == 1, result.output
    assert times[-1] - times[3] < DELIVERY + 2 * LATENCY
    assert not having(nodes.token, SHARD)
    assert summary(project.path / "run")["tasks"]["toy.say"]["missing"] > 60


def test_a_cluster_of_its_own_ends_with_a_driver_that_is_killed(tmp_path, nodes, asked):
    """Ray's two agents send no requests to the model. They stay for a minute and try to report the loss."""
    project = Project.make(tmp_path / "project", 100)
    own = Nodes()  # which is not started: a token
    launch = Launch(project, own, *first(asked), address="local")
    wait_for(lambda: len(asked.times) >= 4)
    assert having(own.token)
    launch.process.kill()
    launch.ended()
    none_left(own.token, other_than=("ray::DashboardAgent", "ray::RuntimeEnvAgent"))
