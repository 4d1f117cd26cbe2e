"""A run as one object, without pytest."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import threading
import time
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

import agentgauge
from agentgauge import Run, UsageProblem
from agentgauge.core.processes import TOOL_TOKEN, make_tool_token
from agentgauge.core.registry import Registry
from agentgauge.core.task import RealTools
from agentgauge.store import RunFolder
from agentgauge.store.records import Appender
from tests.plugin.toy import ToyData, say, score, toy


class Other(ToyData):
    name = "other"
    files = ("other.jsonl",)


def run_of(model: str = "oracle", tasks=("toy.say",), **options) -> Run:
    return Run(tasks, model, registry=Registry([toy()]), data="toy", **options)


def test_a_script_solves_a_run_and_reads_its_figures(project: Path) -> None:
    run = run_of(run_dir="mine")
    summary = asyncio.run(run.solve())
    assert str(summary["toy.say"].headline) == "100.0 (61.0 to 100.0), n 6"
    assert (summary["toy.say"].passed, summary["toy.say"].planned) == (6, 6)
    assert run.folder == project / "mine"
    assert [(record.sample, record.status) for record in run.records] == [(f"s{n}", "passed") for n in range(6)]
    assert (run.problems, run.notes) == ([], [])
    assert {"run.json", "summary.json", "records.jsonl", "leaderboard.md"} <= {
        path.name for path in run.folder.iterdir()
    }
    assert agentgauge.read_run(run.folder, Registry([toy()])).metrics["toy.say.Acc"].value == 100


def test_records_come_as_their_cases_end(project: Path) -> None:
    async def seen() -> list[str]:
        return [record.sample async for record in run_of(limit=3).stream()]

    assert len(asyncio.run(seen())) == 3


def test_what_was_left_is_missing_and_a_resumed_run_goes_on(project: Path) -> None:
    async def first() -> None:
        stream = run_of(run_dir="mine", in_flight=1).stream()
        async for _ in stream:
            break
        await stream.aclose()

    asyncio.run(first())
    before = json.loads((project / "mine" / "summary.json").read_text())["tasks"]["toy.say"]
    assert before["passed"] >= 1
    assert before["passed"] + before["missing"] == 6
    again = run_of(model=None, resume="mine")
    assert asyncio.run(again.solve())["toy.say"].passed == 6


def test_a_run_of_a_script_is_scored_again(project: Path) -> None:
    asyncio.run(run_of(run_dir="mine").solve())
    again = Run(["toy.say"], registry=Registry([toy()]), rescore="mine", run_dir="again")
    assert asyncio.run(again.solve())["toy.say"].passed == 6


def test_many_runs_fit_into_one_process_one_after_the_other_and_side_by_side(project: Path) -> None:
    async def together() -> list[float | None]:
        runs = [run_of(model, run_dir=f"{model}-{number}") for number in range(8) for model in ("oracle", "baseline")]
        summaries = await asyncio.gather(*(run.solve() for run in runs))
        return [summary["toy.say"].headline.value for summary in summaries]

    assert asyncio.run(together()) == [100.0, 0.0] * 8


def test_tasks_with_other_options_do_not_see_each_other(project: Path) -> None:
    """Two registries hold a task of one name, which scores otherwise."""

    def generous(sample, output, scoring, similarity):
        return agentgauge.Score(True, {"right": 1.0, "all": 1.0})

    strict = run_of("baseline", run_dir="strict")
    kind = Run(["toy.say"], "baseline", registry=Registry([toy(score=generous)]), data="toy", run_dir="kind")

    async def both() -> list[int]:
        return [found["toy.say"].passed for found in await asyncio.gather(strict.solve(), kind.solve())]

    assert asyncio.run(both()) == [0, 6]


def test_a_task_itself_can_be_named(project: Path) -> None:
    run = Run([toy()], "oracle", registry=Registry(), data="toy")
    assert asyncio.run(run.solve())["toy.say"].passed == 6


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"tasks": ["toy.sya"]}, "there is no task 'toy.sya' (did you mean toy.say?)"),
        ({"limits": 3}, "Run has no option 'limits' (did you mean limit?)"),
        ({"limit": 0}, "--limit 0 is too small; give an integer from 1"),
        ({"data": "nowhere"}, "--data 'nowhere' is not a folder"),
        ({"tasks": ["toy.say", "toy.other"]}, "there is no data of toy.other in 'toy'"),
        ({"tasks": [toy(), toy()]}, "two of the tasks have the name toy.say; rename one"),
        ({"model": ["oracle", "baseline"]}, "model=['oracle', 'baseline'] does not fit: it takes a text"),
        pytest.param({"budget": 5}, "budget=5 does not fit: it takes a text", marks=pytest.mark.uses("budget")),
        ({"limit": "3"}, "limit='3' does not fit: it takes an integer"),
        ({"limit": 2.5}, "limit=2.5 does not fit: it takes an integer"),
        ({"limit": True}, "limit=True does not fit: it takes an integer"),
        ({"temperature": "0.5"}, "temperature='0.5' does not fit: it takes a number"),
        ({"allow_unsafe_code": 1}, "allow_unsafe_code=1 does not fit: it takes True or False"),
        pytest.param(
            {"gate": [3]}, "gate=[3] does not fit: it takes a text, or a list", marks=pytest.mark.uses("gates")
        ),
    ],
)
def test_a_mistake_gets_one_sentence(project: Path, options, sentence: str) -> None:
    known = Registry([toy(), toy(name="toy.other", data=Other())])
    with pytest.raises(UsageProblem, match=re.escape(sentence)):
        Run(**{"tasks": ["toy.say"], "registry": known, "data": "toy", **options})
    assert not (project / "runs").exists()


def test_there_is_no_summary_before_the_end(project: Path) -> None:
    with pytest.raises(UsageProblem, match="has not ended"):
        _ = run_of().summary


@pytest.mark.uses("gates")
def test_one_text_is_a_task_and_a_gate(project: Path) -> None:
    run = run_of(tasks="toy.say", gate="toy.say.Acc>=40", limit=2)
    assert asyncio.run(run.solve())["toy.say"].planned == 2
    assert run.about["gates"] == [{"text": "toy.say.Acc>=40", "problem": None}]


def test_a_task_that_is_named_twice_runs_once(project: Path) -> None:
    asked: list[str] = []

    async def noted(case):
        asked.append(case.sample.id)
        return await say(case)

    task = toy(run=noted)
    asyncio.run(Run(["toy.say", task, task], "oracle", registry=Registry([toy()]), data="toy").solve())
    assert sorted(asked) == [f"s{number}" for number in range(6)]


def test_an_id_that_occurs_twice_is_refused(project: Path) -> None:
    class Doubled(ToyData):
        def index(self, root):
            index = super().index(root)
            return replace(index, rows=(*index.rows, index.rows[0]))

    run = Run([toy(data=Doubled())], "oracle", registry=Registry(), data="toy")
    with pytest.raises(UsageProblem, match="the id 's0' occurs twice"):
        asyncio.run(run.solve())
    assert not run.folder.exists()


def test_a_limit_holds_for_a_run_that_is_scored_again(project: Path) -> None:
    asyncio.run(run_of(run_dir="mine").solve())
    again = Run(["toy.say"], registry=Registry([toy()]), rescore="mine", run_dir="again", limit=2)
    assert asyncio.run(again.solve())["toy.say"].planned == 2


def test_a_run_without_a_case_says_so_and_leaves_nothing(project: Path) -> None:
    (project / "empty").mkdir()
    (project / "empty" / "toy.jsonl").write_text("")
    run = Run(["toy.say"], "oracle", registry=Registry([toy()]), data="empty", run_dir="mine")
    with pytest.raises(UsageProblem, match=r"there is no case to run: the data of toy.say has no sample"):
        asyncio.run(run.solve())
    assert not run.folder.exists()


@pytest.mark.uses("shards")
def test_a_shard_without_a_case_ends_well_and_leaves_nothing(project: Path) -> None:
    shard = run_of(limit=1, shard="2/2", run_dir="mine")
    assert asyncio.run(shard.solve()) == {}
    assert shard.notes == ["shard 2 of 2 has none of the 1 case; it has nothing to do and leaves no folder"]
    assert not shard.folder.exists()


def test_it_started_when_it_began(project: Path) -> None:
    run = run_of(run_dir="mine")
    before = time.time()
    asyncio.run(run.solve())
    assert json.loads((project / "mine" / "run.json").read_text())["started"] >= before


# -- How a run ends.


def test_a_run_is_started_once(project: Path) -> None:
    run = run_of(run_dir="mine")
    asyncio.run(run.solve())
    before = (run.folder / "summary.json").stat().st_mtime_ns
    with pytest.raises(UsageProblem, match="this Run was started before; make another one"):
        asyncio.run(run.solve())
    assert (run.folder / "summary.json").stat().st_mtime_ns == before
    assert run.summary["toy.say"].passed == 6


def test_a_run_that_could_not_begin_leaves_its_folder_free(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(settings, plan):
        raise UsageProblem("a tool is not ready")

    with monkeypatch.context() as patch:
        patch.setattr("agentgauge.run.run.check", refuse)
        run = run_of(run_dir="mine")
        with pytest.raises(UsageProblem, match="a tool is not ready"):
            asyncio.run(run.solve())
    assert (run.folder.exists(), run.problems, run.summary_json) == (False, [], None)
    assert asyncio.run(run_of(run_dir="mine").solve())["toy.say"].passed == 6


def test_a_folder_that_cannot_be_made_gets_one_sentence(project: Path) -> None:
    (project / "runs").write_text("")
    with pytest.raises(UsageProblem, match=r"the run folder .* cannot be made \(Not a directory\)"):
        asyncio.run(run_of().solve())


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_full_disk_is_why_cases_are_missing(project: Path, monkeypatch: pytest.MonkeyPatch, is_stored: bool) -> None:
    """``is_stored``: the record that is written then had room."""
    append, records = Appender.append, []

    def full(self, record):
        records.append(record)
        if len(records) == 3 and not is_stored:
            raise OSError(errno.ENOSPC, "No space left on device", "records")
        line = append(self, record)
        if len(records) == 3:
            self.problem = OSError(errno.ENOSPC, "No space left on device", "records")
        return line

    monkeypatch.setattr(Appender, "append", full)
    run = run_of(run_dir="mine", in_flight=1)
    sentence = "records cannot be written (No space left on device): free disk space; finished cases are kept"
    if is_stored:
        asyncio.run(run.solve())
    else:
        with pytest.raises(UsageProblem, match=re.escape(sentence)):
            asyncio.run(run.solve())
    assert run.summary["toy.say"].passed == 2 + is_stored
    assert run.problems == [f"{4 - is_stored} cases are missing: {sentence}"]


def test_a_run_that_is_cancelled_while_it_is_prepared_is_awaited(project: Path) -> None:
    reading = threading.Event()

    class Slow(ToyData):
        def index(self, root):
            if threading.current_thread() is not threading.main_thread():
                reading.set()
                time.sleep(0.3)
            return super().index(root)

    run = Run([toy(data=Slow())], "oracle", registry=Registry(), data="toy", run_dir="mine")

    async def cancelled():
        work = asyncio.create_task(run.solve())
        await asyncio.to_thread(reading.wait, 20)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        return {path.name for path in run.folder.iterdir()}, run.summary["toy.say"].missing

    names, missing = asyncio.run(cancelled())
    assert missing == 6
    assert "lock" not in names
    again = Run(["toy.say"], registry=Registry([toy()]), resume="mine")
    assert asyncio.run(again.solve())["toy.say"].passed == 6


@pytest.mark.parametrize("waits", [True, False])
def test_a_loop_that_is_left_by_a_break_ends_the_run(project: Path, waits: bool) -> None:
    """``waits``: the program goes on after it."""
    run = run_of(run_dir="mine", in_flight=1)

    async def left():
        async for _ in run.stream():
            break
        while waits and run.summary_json is None:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)

    asyncio.run(left())
    summary = run.summary["toy.say"]
    assert summary.passed >= 1
    assert summary.passed + summary.missing == 6
    assert not (run.folder / "lock").exists()
    assert len(RunFolder(run.folder).lines()) == summary.passed


def test_a_loop_that_is_closed_has_ended_the_run(project: Path) -> None:
    run = run_of(run_dir="mine", in_flight=1)

    async def left() -> int:
        async with aclosing(run.stream()) as records:
            async for _ in records:
                break
        return run.summary["toy.say"].planned

    assert asyncio.run(left()) == 6


# -- Several runs in one process.


def test_runs_side_by_side_share_the_token_of_their_tool_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOOL_TOKEN, "of the user")  # pytest itself may have made one
    monkeypatch.setattr("agentgauge.core.processes._holders", 0)
    end_first = make_tool_token()
    token = os.environ[TOOL_TOKEN]
    end_second = make_tool_token()
    assert os.environ[TOOL_TOKEN] == token != "of the user"
    end_first()
    assert os.environ[TOOL_TOKEN] == token
    end_second()
    assert os.environ[TOOL_TOKEN] == "of the user"


class Reached(RealTools):
    """Tools at an address, which is noted."""

    def __init__(self) -> None:
        self.addresses: list[str] = []

    def tools_of(self, index, row):
        return ("Echo",)

    def check_tools(self, names, config, *, scoring, allow_unsafe, server):
        self.addresses.append(server)
        return {}

    def tool_server(self, config, *, scoring, allow_unsafe):
        raise AssertionError("the run has the address of one")

    def toolbox(self, url):
        self.addresses.append(url)
        return Box()


class Box:
    async def close(self) -> None:
        pass


def test_the_password_of_a_tool_server_stays_with_its_run(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOOL_TOKEN, raising=False)
    address, tools = "http://:secret-of-a-server@127.0.0.1:9", Reached()
    run = Run(["toy.say"], "oracle", registry=Registry([toy(tools=tools)]), data="toy", tool_server=address)
    asyncio.run(run.solve())
    assert set(tools.addresses) == {address}
    assert TOOL_TOKEN not in os.environ
    assert not [path for path in run.folder.rglob("*") if path.is_file() and b"secret-of-a" in path.read_bytes()]


def test_the_end_of_a_run_leaves_the_scoring_of_the_others_alone(project: Path) -> None:
    """Many slow scores wait for threads when a short run ends."""
    has_ended = threading.Event()
    answered: list[str] = []

    def slow(*given):
        if threading.current_thread().name.startswith("agentgauge-score"):  # the preflight scores, too
            assert has_ended.wait(20)
        return score(*given)

    async def noted(case):
        answered.append(case.sample.id)
        return await say(case)

    async def late(case):
        while len(answered) < 40:  # noqa: ASYNC110 - a list tells nobody
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)  # all wait for their scores by now
        return await say(case)

    lines = [json.dumps({"id": f"s{number}", "say": f"word{number}"}) for number in range(40)]
    (project / "toy" / "toy.jsonl").write_text("\n".join(lines))
    slow_task, short_task = toy(run=noted, score=slow, scores_in_thread=True), toy(run=late)
    long = Run([slow_task], "oracle", registry=Registry(), data="toy", run_dir="long", in_flight=40)
    short = Run([short_task], "oracle", registry=Registry(), data="toy", run_dir="short", limit=1)

    async def first_the_short_one():
        try:
            return await short.solve()
        finally:
            has_ended.set()

    async def both():
        return await asyncio.gather(long.solve(), first_the_short_one())

    assert [found["toy.say"].passed for found in asyncio.run(both())] == [40, 1]
