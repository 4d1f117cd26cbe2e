"""A run as one object, without pytest."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from pathlib import Path

import pytest

import agentgauge
from agentgauge import Run, UsageProblem
from agentgauge.core.processes import TOOL_TOKEN, make_tool_token
from agentgauge.core.registry import Registry
from agentgauge.core.task import RealTools
from tests.plugin.toy import say, score, toy


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with six samples."""
    (tmp_path / "toy").mkdir()
    lines = [json.dumps({"id": f"s{number}", "say": f"word{number}"}) for number in range(6)]
    (tmp_path / "toy" / "toy.jsonl").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
    assert {"run.json", "summary.json", "records.jsonl", "report.html", "leaderboard.md"} <= {
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
    ],
)
def test_a_mistake_gets_one_sentence(project: Path, options, sentence: str) -> None:
    with pytest.raises(UsageProblem, match=re.escape(sentence)):
        Run(**{"tasks": ["toy.say"], "registry": Registry([toy()]), "data": "toy", **options})
    assert not (project / "runs").exists()


def test_there_is_no_summary_before_the_end(project: Path) -> None:
    with pytest.raises(UsageProblem, match="has not ended"):
        _ = run_of().summary


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
