"""A run as one object, without pytest."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

import agentgauge
from agentgauge import Run, UsageProblem
from agentgauge.core.registry import Registry
from tests.plugin.toy import toy


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
