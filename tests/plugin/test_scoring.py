"""Where cases are scored: cheap scores in the loop, long ones in threads of their own, texts by one server for all
workers."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from agentgauge.core.capabilities import Similarity
from agentgauge.core.case import CaseSettings
from agentgauge.core.chat import ChatReply
from agentgauge.core.errors import Fault
from agentgauge.core.task_registry import known_tasks
from agentgauge.core.types import Score
from agentgauge.run.solve import Planned, Solver
from agentgauge.run.thread_pools import drop_waiting
from agentgauge.store import RunFolder
from tests.plugin.project import Project, records
from tests.plugin.toy import Toy, ToyData


class CountedData(ToyData):
    loads = 0

    def load(self, index, row, task):
        self.loads += 1
        return super().load(index, row, task)


class Counted(Toy):
    """Notes where it is scored and how often a sample is loaded; scores of ``slow`` ones wait until they are let go."""

    def __init__(self, name: str = "toy.say", slow: bool = False) -> None:
        self.name = name
        self.slow = self.scores_in_thread = slow
        self.data = CountedData()
        self.scored_in: list[str] = []
        self.begun, self.go = threading.Event(), threading.Event()

    async def run(self, case):
        return {"answer": case.sample.payload["say"]}

    def score(self, sample, output, scoring, similarity):
        self.scored_in.append(threading.current_thread().name)
        self.begun.set()
        if self.slow:
            assert self.go.wait(30)
        return super().score(sample, output, scoring, similarity)


class Silent:
    async def complete(self, request):
        return ChatReply("")


@pytest.fixture
def solve(tmp_path: Path):
    project = Project.make(tmp_path, 64)
    folder = RunFolder(tmp_path / "run")
    folder.create()

    def planned(task: Toy, number: int) -> Planned:
        index = task.data.index(project.path / "toy")
        return Planned(task, index, index.rows[number], 1)

    def start(task: Toy, count: int):
        solver = Solver(
            CaseSettings("native", "parity"),
            folder,
            "main",
            {task.name: ""},
            {task.name: "c"},
            lambda role="": Silent(),
            lambda task: None,
            agent=None,
            stored={},
            asks=True,
            earlier=True,
        )
        return [solver.solve(planned(task, number)) for number in range(count)]

    yield start
    drop_waiting()


def test_a_cheap_score_is_worked_out_in_the_loop_from_the_sample_that_is_there(solve) -> None:
    task = Counted()
    (record,) = asyncio.run(_all(solve(task, 1)))
    assert (record.status, task.data.loads, task.scored_in) == ("passed", 1, [threading.current_thread().name])


async def _all(solves):
    return await asyncio.gather(*solves)


def test_long_scores_keep_neither_cheap_ones_nor_the_loop_nor_other_benchmarks_waiting(solve) -> None:
    blocked, other, cheap = Counted("toy.blocked", slow=True), Counted("toy.other", slow=True), Counted("toy.cheap")

    async def scene():
        waiting = [asyncio.ensure_future(one) for one in solve(blocked, 60)]  # more than there are threads
        await asyncio.to_thread(blocked.begun.wait, 20)
        assert [record.status for record in await asyncio.wait_for(_all(solve(cheap, 60)), 20)] == ["passed"] * 60
        other.go.set()
        assert [record.status for record in await asyncio.wait_for(_all(solve(other, 4)), 20)] == ["passed"] * 4
        assert await asyncio.wait_for(asyncio.to_thread(lambda: "a file"), 20) == "a file"
        assert not any(one.done() for one in waiting)
        blocked.go.set()
        assert [record.status for record in await asyncio.wait_for(_all(waiting), 20)] == ["passed"] * 60

    asyncio.run(scene())
    assert threading.current_thread().name not in blocked.scored_in
    assert set(cheap.scored_in) == {threading.current_thread().name}


@pytest.mark.parametrize("slow", [False, True])
def test_a_fault_while_scoring_breaks_the_case_and_keeps_what_was_said(solve, slow: bool) -> None:
    class Fails(Counted):
        def score(self, sample, output, scoring, similarity) -> Score:
            raise Fault("the server is gone", cause="similarity server")

    (record,) = asyncio.run(_all(solve(Fails(slow=slow), 1)))
    assert (record.status, record.error, record.cause) == ("broken", "the server is gone", "similarity server")
    assert record.transcript and record.transcript.output == {"answer": "word0"}


def test_what_scores_slowly_is_what_runs_programs_or_asks_a_model() -> None:
    """Everything else is a matter of a few milliseconds and runs in the loop."""
    programs = {f"mmau.contest_{name}" for name in ("standard", "planner", "solver", "retry")}
    expected = {"": programs, "trigram": programs, "minilm": programs | {"gta_atomic.step", "gta_atomic.e2e"}}
    tasks = [task for task in known_tasks().values() if not task.name.startswith("toy.")]
    assert {task.name for task in tasks if task.scores_in_thread} == programs
    for backend, slow in expected.items():
        comparing = [task for task in tasks if isinstance(task, Similarity) and task.similarity_server(backend)]
        assert {task.name for task in comparing} == slow - programs


SERVED = """
import sys
from agentgauge.core.capabilities import Similarity
from agentgauge.core.task_registry import announce
from tests.plugin.toy import Toy

class Compared(Toy, Similarity):
    def default_similarity(self, *, official):
        return "trigram"

    def check_similarity(self, similarity):
        pass

    def comparable(self, similarity):
        return True

    def similarity_server(self, similarity):
        return [sys.executable, "-m", "bench_gta.similarity_server", "--backend", similarity]

    def score(self, sample, output, scoring, similarity):
        from bench_gta.similarity import similarity as measure
        from agentgauge.core.types import Score

        if output is None:
            return Score(False, {"right": 0.0, "all": 1.0}, (), "")
        backend, _, url = similarity.partition("@")
        right = float(measure(similarity)(output["answer"], sample.payload["say"]) > 0.999)
        return Score(bool(right), {"right": right, "all": 1.0}, (url,), "")

announce(Compared())
pytest_plugins = ["agentgauge.pytest_plugin"]
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_one_server_compares_texts_for_all_workers_and_ends_with_the_run(
    workers: str, tmp_path: Path, endpoint
) -> None:
    project = Project.make(tmp_path, 8)
    (tmp_path / "conftest.py").write_text(SERVED)
    result = project.run("-n", workers, "--model", "m", "--model-url", endpoint.url, "--run-dir", "run")
    assert result.status == 0, result.output
    found = records(tmp_path / "run")
    assert [record["status"] for record in found] == ["wrong" if number == 3 else "passed" for number in range(8)]
    (url,) = {label for record in found for label in record["score"]["labels"]}
    assert url.startswith("http://127.0.0.1:")
    assert not any(b"bench_gta.similarity_server" in line and str(tmp_path).encode() in line for line in _commands())
    again = project.run("--rescore", "run", "-n", workers, "--run-dir", "again")
    assert again.status == 0, again.output
    assert again.summary("again")["tasks"]["toy.say"]["metrics"] == result.summary("run")["tasks"]["toy.say"]["metrics"]


def _commands() -> list[bytes]:
    """The command lines and folders of all processes."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            found.append((entry / "cmdline").read_bytes() + bytes((entry / "cwd").readlink()))
        except OSError:
            continue  # it has ended, or is another user's
    return found
