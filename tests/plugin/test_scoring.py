"""Where and when cases are scored, again without the model, and figures over groups."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from agentgauge_reports.comparison import compare, comparison
from agentgauge_reports.results import read_run

from agentgauge.core.case import CaseSettings
from agentgauge.core.chat import ChatReply
from agentgauge.core.errors import Fault
from agentgauge.core.registry import Registry
from agentgauge.core.task import Task
from agentgauge.core.types import Score
from agentgauge.replies.stages import Stages
from agentgauge.run.planned import Planned
from agentgauge.run.solve import Solver
from agentgauge.run.thread_pools import drop_waiting
from agentgauge.store import RunFolder
from bench_wild.data import load_sessions
from tests.model.fault_server import FaultServer, answer, silence, status
from tests.plugin.conftest import say, undisturbed
from tests.plugin.project import ROOT, Project, records, run_wild, summary, without_times
from tests.plugin.toy import ToyData, score, toy

# -- Where cases are scored: cheap scores in the loop, long ones in threads of their own, texts by one server for
# all workers.


class CountedData(ToyData):
    loads = 0

    def load(self, index, row, task):
        self.loads += 1
        return super().load(index, row, task)


async def say_right(case):
    return {"answer": case.sample.payload["say"]}


class Counted:
    """Notes where its task is scored and how often a sample is loaded; scores of ``slow`` ones wait until they are let
    go."""

    def __init__(self, name: str = "toy.say", slow: bool = False) -> None:
        self.slow = slow
        self.data = CountedData()
        self.task = toy(name=name, data=self.data, run=say_right, score=self.score, scores_in_thread=slow)
        self.scored_in: list[str] = []
        self.begun, self.go = threading.Event(), threading.Event()

    def score(self, sample, output, scoring, similarity):
        self.scored_in.append(threading.current_thread().name)
        self.begun.set()
        if self.slow:
            assert self.go.wait(30)
        return score(sample, output, scoring, similarity)


class Silent:
    async def complete(self, request):
        return ChatReply("")


@pytest.fixture
def solve(tmp_path: Path):
    project = Project.make(tmp_path, 64)
    folder = RunFolder(tmp_path / "run")
    folder.create()

    def planned(task: Task, number: int) -> Planned:
        index = task.data.index(project.path / "toy")
        return Planned(task, index, index.rows[number], 1)

    def start(task: Task, count: int):
        solver = Solver(
            CaseSettings("native", "parity"),
            folder,
            Stages(folder),
            "main",
            {task.name: ""},
            {task.name: "c"},
            SimpleNamespace(
                model=lambda role="": Silent(), tested=lambda given: Silent(), tools=lambda given, task: None
            ),
            hooks_of=lambda _: None,
            parts=(),
            stored={},
            asks=True,
            earlier=True,
        )
        return [solver.solve(planned(task, number)) for number in range(count)]

    yield start
    drop_waiting()


def test_a_cheap_score_is_worked_out_in_the_loop_from_the_sample_that_is_there(solve) -> None:
    counted = Counted()
    (record,) = asyncio.run(_all(solve(counted.task, 1)))
    assert (record.status, counted.data.loads, counted.scored_in) == ("passed", 1, [threading.current_thread().name])


async def _all(solves):
    return await asyncio.gather(*solves)


def test_long_scores_keep_neither_cheap_ones_nor_the_loop_nor_other_benchmarks_waiting(solve) -> None:
    blocked, other, cheap = Counted("toy.blocked", slow=True), Counted("toy.other", slow=True), Counted("toy.cheap")

    async def scene():
        waiting = [asyncio.ensure_future(one) for one in solve(blocked.task, 60)]  # more than there are threads
        await asyncio.to_thread(blocked.begun.wait, 20)
        assert [record.status for record in await asyncio.wait_for(_all(solve(cheap.task, 60)), 20)] == ["passed"] * 60
        other.go.set()
        assert [record.status for record in await asyncio.wait_for(_all(solve(other.task, 4)), 20)] == ["passed"] * 4
        assert await asyncio.wait_for(asyncio.to_thread(lambda: "a file"), 20) == "a file"
        assert not any(one.done() for one in waiting)
        blocked.go.set()
        assert [record.status for record in await asyncio.wait_for(_all(waiting), 20)] == ["passed"] * 60

    asyncio.run(scene())
    assert threading.current_thread().name not in blocked.scored_in
    assert set(cheap.scored_in) == {threading.current_thread().name}


@pytest.mark.parametrize("slow", [False, True])
def test_a_fault_while_scoring_breaks_the_case_and_keeps_what_was_said(solve, slow: bool) -> None:
    def fails(sample, output, scoring, similarity) -> Score:
        raise Fault("the server is gone", cause="similarity server")

    (record,) = asyncio.run(_all(solve(toy(run=say_right, score=fails, scores_in_thread=slow), 1)))
    assert (record.status, record.error, record.cause) == ("broken", "the server is gone", "similarity server")
    assert record.transcript and record.transcript.output == {"answer": "word0"}


def test_what_scores_slowly_is_what_runs_programs_or_asks_a_model() -> None:
    """Everything else is a matter of a few milliseconds and runs in the loop."""
    programs = {f"mmau.contest_{name}" for name in ("standard", "planner", "solver", "retry")}
    expected = {"": programs, "trigram": programs, "minilm": programs | {"gta_atomic.step", "gta_atomic.e2e"}}
    tasks = Registry.installed()
    assert {task.name for task in tasks if task.scores_in_thread} == programs
    for backend, slow in expected.items():
        comparing = [task for task in tasks if task.similarity and task.similarity.server(backend)]
        assert {task.name for task in comparing} == slow - programs


SERVED = """
import sys
from agentgauge.core.task import Similarity
from tests.plugin.toy import toy

class Compared(Similarity):
    def default(self, *, official):
        return "trigram"

    def check(self, similarity):
        pass

    def comparable(self, similarity):
        return True

    def server(self, similarity):
        return [sys.executable, "-m", "bench_gta.similarity_server", "--backend", similarity]

def score(sample, output, scoring, similarity):
    from bench_gta.similarity import similarity as measure
    from agentgauge.core.types import Score

    if output is None:
        return Score(False, {"right": 0.0, "all": 1.0}, (), "")
    backend, _, url = similarity.partition("@")
    right = float(measure(similarity)(output["answer"], sample.payload["say"]) > 0.999)
    return Score(bool(right), {"right": right, "all": 1.0}, (url,), "")

COMPARED = toy(score=score, similarity=Compared())
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


# -- A fault in scoring costs no answer that is paid for: what was said is kept, and scored again without the model.


FAULTS = {
    "s0": "raise KeyError('no such field')",
    "s1": "raise Fault('the similarity server is gone', cause='similarity server')",
    "s3": "raise SandboxFault('no process could be started')",
    "s4": "raise DataProblem('the gold is damaged')",
}
"""What scoring a sample raises, in words of the toy's module: a defect, servers that are gone, data that is damaged."""
FULL = dict.fromkeys(("s1", "s3", "s4"), "raise OSError(28, 'No space left on device')")

BREAKING = """
import pathlib
from agentgauge.core.errors import DataProblem, Fault, SandboxFault
from tests.plugin.toy import score as right, toy

FAULTS = {faults!r}

def score(sample, output, scoring, similarity):
    if output and pathlib.Path("broken").exists():
        exec(FAULTS.get(sample.id, ""))
    return right(sample, output, scoring, similarity)

BREAKING = toy(score=score)
pytest_plugins = ["agentgauge.pytest_plugin"]
"""


def breaking(project: Project, faults: Mapping[str, str]) -> None:
    (project.path / "conftest.py").write_text(BREAKING.format(faults=faults))
    (project.path / "broken").write_text("")


@pytest.mark.parametrize(
    ("faults", "workers"), [(FAULTS, ()), (FAULTS, ("-n", "2")), (FULL, ())], ids=["serial", "n2", "full disk"]
)
def test_answers_whose_scoring_failed_are_scored_again_without_the_model(project, model, endpoint, faults, workers):
    breaking(project, faults)
    result = project.run(*model, *workers, "--run-dir", "run")
    assert result.status == 1, result.output
    before = len(endpoint.requests)
    broken = [record for record in records(project.path / "run") if record["status"] == "broken"]
    # where the disk is full nothing more is begun, but what had been asked is kept
    assert {record["sample"] for record in broken} == set(faults) or faults == FULL
    assert all(record["transcript"]["output"]["answer"] for record in broken)
    kept = len(records(project.path / "run"))
    (project.path / "broken").unlink()
    again = project.run("--rescore", "run", "--run-dir", "again")
    resumed = project.run("--resume", "run", *model[2:], *workers)
    assert resumed.status == 0, resumed.output
    assert len(endpoint.requests) == before + 6 - kept
    assert without_times(summary(project.path / "run")) == undisturbed(6)
    if kept == 6:
        assert again.status == 0, again.output
        assert without_times(summary(project.path / "again")) == undisturbed(6)


def test_scoring_that_fails_again_asks_no_model_either(project, model, endpoint):
    breaking(project, {"s1": FAULTS["s0"]})
    assert project.run(*model, "--run-dir", "run").status == 1
    before = len(endpoint.requests)
    assert project.run("--resume", "run", *model[2:]).status == 1
    assert len(endpoint.requests) == before
    (record,) = [record for record in records(project.path / "run") if record["status"] == "broken"]
    assert record["transcript"]["output"] == {"answer": "word1"}


def test_a_case_that_the_model_broke_is_asked_again(project, model, endpoint):
    def refuses(request):
        return status(401) if "word4" in request.body["messages"][-1]["content"] else say(request)

    endpoint.choose = refuses
    assert project.run(*model, "--run-dir", "run").status == 1
    endpoint.choose = say
    again = project.run("--rescore", "run", "--run-dir", "again")
    assert again.status == 1 and summary(project.path / "again")["tasks"]["toy.say"]["broken"] == 1
    assert project.run("--resume", "run", *model[2:]).status == 0


def test_broken_cases_that_cannot_be_counted_as_the_original_does_end_no_run(project, model, endpoint):
    breaking(project, {"s1": FAULTS["s0"]})
    with (project.path / "conftest.py").open("a") as stream:
        stream.write(NO_SCORE)
    result = project.run(*model, "--run-dir", "run")
    assert result.status == 1, result.output
    assert "INTERNALERROR" not in result.output
    why = "counting them as the original does failed (ZeroDivisionError: of nothing)"
    said = f"toy.say: 1 broken case is in no figure: {why}"
    assert said in result.output.replace("\n      ", " ")
    assert said in (project.path / "run" / "leaderboard.md").read_text()
    part = json.loads((project.path / "run" / "summary.json").read_text())["tasks"]["toy.say"]
    assert part["uncounted"] == {"cases": 1, "why": "ZeroDivisionError: of nothing"}
    assert part["metrics"]["Acc"]["n"] == 5


NO_SCORE = """
whole = score

def score(sample, output, scoring, similarity):
    if output is None and sample.id == "s1":
        raise ZeroDivisionError("of nothing")
    return whole(sample, output, scoring, similarity)

BREAKING = toy(score=score)
"""


# -- Figures over groups, such as WildToolBench's Session, count whole groups alone, wherever they are shown.


WHY = "Session has no value: none of the 13 sessions that ran is whole"
FEW = "wild_tool_bench_0 or wild_tool_bench_1- or wild_tool_bench_2"
"""Three sessions, as a word of ``-k``."""


def wild(run: Path) -> dict[str, Any]:
    return summary(run)["tasks"]["wild"]


def session(run: Path) -> tuple[float | None, int]:
    figure = wild(run)["metrics"]["Session"]
    assert ("why" in figure) == (figure["value"] is None)
    return figure["value"], figure["n"]


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the run ``part``, of which no session is whole, and ``all``."""
    there = tmp_path_factory.mktemp("groups")
    printed = run_wild("--model=oracle", "-k", "clarify", "--run-dir=part", cwd=there).output
    (there / "printed.txt").write_text(printed)
    run_wild("--model=oracle", "--run-dir=all", cwd=there)
    return there


@pytest.mark.uses("page")
def test_without_a_whole_session_there_is_no_value_and_every_report_says_why(folder: Path) -> None:
    run = folder / "part"
    figure = wild(run)["metrics"]["Session"]
    assert (figure["value"], figure["low"], figure["high"], figure["n"]) == (None, None, None, 0)
    assert figure["why"].startswith(WHY)
    groups = wild(run)["groups"]
    assert (groups["name"], groups["figures"], groups["whole"], len(groups["incomplete"])) == (
        "session", ["Session"], 0, 13,
    )  # fmt: skip
    assert WHY in flat((folder / "printed.txt").read_text())
    assert WHY in (run / "leaderboard.md").read_text()
    page = (run / "report.html").read_text()
    assert page.count(WHY) >= 2  # at the headline, and among the notes
    assert read_run(run).metrics["wild.Session"].value is None


@pytest.mark.uses("gates")
def test_a_gate_on_it_fails_and_says_why(tmp_path: Path) -> None:
    words = ("--model=oracle", "-k", "clarify", "--gate=wild.Session>=0", "--run-dir=run")
    assert f"gate wild.Session>=0: {WHY}" in flat(run_wild(*words, cwd=tmp_path, status=1).output)


def test_all_sessions_of_a_whole_run_count(folder: Path) -> None:
    assert session(folder / "all") == (100, 16)
    assert wild(folder / "all")["groups"]["incomplete"] == []
    assert "is of" not in (folder / "all" / "leaderboard.md").read_text()


def test_whole_sessions_count_beside_others(tmp_path: Path) -> None:
    result = run_wild("--model=oracle", "-k", "wild_tool_bench_0 or clarify", "--run-dir=run", cwd=tmp_path)
    assert session(tmp_path / "run") == (100, 1)
    others = len(wild(tmp_path / "run")["groups"]["incomplete"])
    assert f"Session is of 1 of the {1 + others} sessions that ran: the other {others} are not whole" in flat(
        result.output
    )


@pytest.mark.parametrize("scoring", ["parity", "strict"])
def test_without_context_a_session_is_whole_without_its_first_task(tmp_path: Path, scoring: str) -> None:
    words = ("--model=oracle", "--wild-no-context", f"--scoring={scoring}")
    run_wild(*words, "--limit=6", "--run-dir=whole", cwd=tmp_path)
    run_wild(*words, "-k", "fourth", "--run-dir=part", cwd=tmp_path)
    assert (session(tmp_path / "whole")[1], session(tmp_path / "part")) == (2, (None, 0))


def test_missing_cases_make_a_session_incomplete_until_the_run_is_resumed(tmp_path: Path) -> None:
    first = []

    def choose(seen):
        first.append(seen)
        return answer("no") if len(first) == 1 else silence()

    with FaultServer(choose=choose) as server:
        words = ("--model=m", f"--model-url={server.url}", "--in-flight=1", "-k", FEW)
        run_wild(*words, "-x", "--run-dir=run", cwd=tmp_path, status=1)
        part = wild(tmp_path / "run")
        assert part["missing"] == part["planned"] - 1
        assert session(tmp_path / "run") == (None, 0)
        server.choose = lambda seen: answer("no")
        run_wild("--resume=run", f"--model-url={server.url}", cwd=tmp_path)
    assert (wild(tmp_path / "run")["missing"], session(tmp_path / "run")[1]) == (0, len(FEW.split(" or ")))


def test_broken_cases_count_as_the_original_counts_them_and_not_in_the_clean_figure(tmp_path: Path) -> None:
    text = load_sessions(ROOT / "bench_wild" / "mini" / "Wild-Tool-Bench.jsonl")[0].tasks[3].text

    def choose(seen):
        last = seen.body["messages"][-1]["content"]
        return status(400) if text in str(last) else answer("no")

    with FaultServer(choose=choose) as server:
        words = ("--model=m", f"--model-url={server.url}", "-k", FEW, "--run-dir=run")
        run_wild(*words, cwd=tmp_path, status=1)
    figure = wild(tmp_path / "run")["metrics"]["Session"]
    assert wild(tmp_path / "run")["broken"] == 1
    assert (figure["n"], figure["n_clean"]) == (3, 2)


def test_scoring_again_says_the_same(tmp_path: Path, folder: Path) -> None:
    run_wild(f"--rescore={folder / 'part'}", "--run-dir=again", cwd=tmp_path)
    assert wild(tmp_path / "again")["metrics"] == wild(folder / "part")["metrics"]
    run_wild(f"--rescore={folder / 'all'}", "-k", "clarify", "--run-dir=less", cwd=tmp_path)
    assert session(tmp_path / "less") == (None, 0)


def test_a_comparison_counts_sessions_that_are_whole_in_both_runs(tmp_path: Path, folder: Path) -> None:
    run_wild("--model=baseline", "-k", "wild_tool_bench_0 or clarify", "--run-dir=one", cwd=tmp_path)
    for other, whole, value in ((folder / "part", 0, None), (folder / "all", 1, 100)):
        part = compare([tmp_path / "one", other], tmp_path, Registry.installed())["comparisons"][0]["tasks"]["wild"]
        assert (part["whole"], part["figures"]["Session"]["b"]) == (whole, value)
        assert part["figures"]["Task"]["b"] == 100
    told = comparison([tmp_path / "one", folder / "part"], "text", tmp_path, Registry.installed())
    assert re.search(r"groups, of which none are whole", flat(told))


def test_attempts_of_a_session_are_put_together_and_a_part_of_it_has_none(tmp_path: Path) -> None:
    run_wild("--model=oracle", "--attempts=2", "--limit=2", "--run-dir=run", cwd=tmp_path)
    assert session(tmp_path / "run") == (None, 0)
    assert json.loads(json.dumps(wild(tmp_path / "run")["pass"]))["pass^k"]["2"]["n"] == 2
