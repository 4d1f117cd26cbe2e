"""Packs scored, resumed and compared."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.config import Config
from agentgauge.core.errors import DataProblem, ModelFault, UsageProblem
from agentgauge.core.types import Usage
from agentgauge.model.budget import parse_budget
from bench_gta.pack.format import Pack, PackTask, SetIdentity, read_pack, write_pack
from bench_gta.pack.results import ScoringSettings, StoredResults, summary, summary_block
from bench_gta.pack.score import (
    ScoringLimits,
    ScoringProgress,
    base_url,
    config_for,
    delivery_of,
    score_pack,
)
from bench_gta.workflow.judge import Delivery
from bench_gta.workflow.prompts import Unreadable
from tests.gta.pack_data import pack, stored, write_outputs, write_tasks
from tests.model.fault_server import FaultServer, Seen, answer

pytestmark = pytest.mark.slow

TREE = [{"id": "1", "weight": 1, "requirements": "a"}, {"id": "2", "weight": 3, "requirements": "b"}]
FAKE = ScoringSettings("fake")


class Judge:
    """Gives 4 and 8 on the two leaves; each task costs a dollar. ``bad`` tasks raise."""

    def __init__(self, **bad: BaseException) -> None:
        self.bad, self.seen, self.usd = bad, [], 0.0

    async def judge(self, delivery: Delivery, *, scratch: Path) -> list[Any]:
        self.seen.append(delivery)
        self.usd += 1
        if error := self.bad.get(f"t{delivery.origin_prompt[0]}"):
            raise error
        return [
            {"id": leaf["id"], "replies": [json.dumps({"score": score, "analysis": "."})], "cached": 0}
            for leaf, score in zip(TREE, (4, 8), strict=True)
        ]

    def spent(self) -> Usage:
        return Usage(usd=self.usd)


def a_pack(folder: Path, *numbers: int, **fields: Any) -> Pack:
    given = {
        "assistant_outputs": [[{"role": "assistant", "content": "done"}]],
        "attached_files": (),
        "meta": {},
    } | fields
    tasks = tuple(
        PackTask(number, place, [str(number)], full_tree=TREE, **given) for place, number in enumerate(numbers, 1)
    )
    write_pack(folder / "pack.json", Pack(tasks, folder.resolve()))
    return read_pack(folder / "pack.json")


def score(packed: Pack, judge: Any, folder: Path, settings: ScoringSettings = FAKE, **limits: Any) -> ScoringProgress:
    spent = judge.spent if isinstance(judge, Judge) else Usage
    return asyncio.run(
        score_pack(
            packed,
            judge,
            settings,
            out=folder / "s.json",
            summary_out=folder / "m.json",
            limits=ScoringLimits(**limits),
            spent=spent,
        )
    )


def test_it_stops_half_way_and_resumes_without_paying_again(tmp_path: Path) -> None:
    packed = a_pack(tmp_path, 1, 2, 3, 4)
    first, second, third = Judge(), Judge(), Judge()
    assert score(packed, first, tmp_path, budget=parse_budget("2usd")).stopped == "the budget of 2usd is used up"
    assert [seen.origin_prompt for seen in first.seen] == [["1"], ["2"]]
    assert score(packed, second, tmp_path).judged == (3, 4)
    assert score(packed, third, tmp_path).judged == ()
    assert third.usd == 0
    assert stored(tmp_path / "m.json")["summary"]["n_ok"] == 4
    assert stored(tmp_path / "m.json")["judge_usd"] == 4


def test_a_failed_task_is_told_and_tried_again(tmp_path: Path) -> None:
    packed = a_pack(tmp_path, 1, 2)
    score(packed, Judge(t1=ModelFault("HTTP 500 from the endpoint", cause="http 500")), tmp_path)
    record = stored(tmp_path / "s.json")["task_results"]["1"]
    assert (record["status"], record["score"], record["error"]) == (
        "error",
        None,
        "ModelFault: HTTP 500 from the endpoint",
    )
    figures = stored(tmp_path / "m.json")["figures"]
    assert (figures["Root Score"], figures["Root Score (scored)"], figures["Leaves"], figures["Leaf SR"]) == (
        3.5,
        7,
        4,
        25,
    )
    assert score(packed, Judge(), tmp_path).judged == (1,)
    record = stored(tmp_path / "s.json")["task_results"]["1"]
    assert (record["status"], record["attempt"], record["judge_usd"]) == ("ok", 2, 2)
    assert "error" not in record


@pytest.mark.parametrize(
    ("error", "ends"),
    [
        (UsageProblem("a key is missing"), True),
        (DataProblem("the weight of node '1' must be a number"), False),
        (Unreadable("no score"), False),
        (KeyError("x"), False),
    ],
)
def test_what_ends_the_run_and_what_only_the_task(error: Exception, ends: bool, tmp_path: Path) -> None:
    packed = a_pack(tmp_path, 1, 2)
    judge = Judge(t1=error)
    if ends:
        with pytest.raises(UsageProblem, match="a key is missing"):
            score(packed, judge, tmp_path)
        assert stored(tmp_path / "s.json")["task_results"] == {}
    else:
        assert score(packed, judge, tmp_path).judged == (1, 2)
        assert stored(tmp_path / "s.json")["task_results"]["1"]["error"].startswith(f"{type(error).__name__}: ")


@pytest.mark.parametrize(
    ("now", "says"),
    [
        (ScoringSettings("other"), "with the judge 'fake', not 'other'"),
        (ScoringSettings("fake", fingerprint="hot"), "with the fingerprint '', not 'hot'"),
        (ScoringSettings("fake", prompt="new"), "with the prompt '', not 'new'"),
        (ScoringSettings("fake", votes=3), "with the votes 1, not 3"),
        (ScoringSettings("fake", scoring="strict"), "with the scoring 'parity', not 'strict'"),
    ],
)
def test_scores_of_different_kinds_are_not_mixed(now: ScoringSettings, says: str, tmp_path: Path) -> None:
    packed = a_pack(tmp_path, 1)
    score(packed, Judge(), tmp_path)
    before = (tmp_path / "s.json").read_bytes()
    with pytest.raises(UsageProblem, match=says):
        score(packed, Judge(), tmp_path, now)
    assert (tmp_path / "s.json").read_bytes() == before
    assert score(packed, Judge(), tmp_path, now, force_resume=True).judged == ()
    assert score(packed, Judge(), tmp_path, now, overwrite=True).judged == (1,)


def a_set(folder: Path, *numbers: int, change: dict[str, Any] | None = None, name: str = "set") -> Pack:
    """A pack of a task set, with a file for each task; ``change`` is of the first one."""
    (folder / "f").mkdir(exist_ok=True)
    tasks = []
    for place, number in enumerate(numbers, 1):
        (folder / f"f/{number}.txt").write_text("delivered")
        task = PackTask(
            number,
            place,
            [str(number)],
            [[{"role": "assistant", "content": "done"}]],
            (f"f/{number}.txt",),
            TREE,
            {"usd": 1},
        )
        tasks.append(replace(task, **(change or {})) if place == 1 else task)
    write_pack(folder / "pack.json", Pack(tuple(tasks), folder.resolve(), SetIdentity(name, name)))
    return read_pack(folder / "pack.json")


@pytest.mark.parametrize(
    ("change", "again"),
    [
        ({}, ()),
        ({"assistant_outputs": [[{"role": "assistant", "content": "better"}]]}, (1,)),
        ({"origin_prompt": ["1", "more"]}, (1,)),
        ({"full_tree": [{**TREE[0], "requirements": "c"}, TREE[1]]}, (1,)),
        ({"attached_files": ()}, (1,)),
        ({"meta": {"usd": 2}}, ()),
        ({"sample_idx": 9}, ()),
    ],
)
def test_a_score_counts_as_long_as_what_was_judged_is_the_same(
    change: dict[str, Any], again: tuple[int, ...], tmp_path: Path
) -> None:
    score(a_set(tmp_path, 1, 2), Judge(), tmp_path)
    assert score(a_set(tmp_path, 1, 2, change=change), Judge(), tmp_path).judged == again
    summary = stored(tmp_path / "m.json")
    assert summary["agent"]["usd"] == 1 + change.get("meta", {"usd": 1})["usd"]
    assert summary["judge_usd"] == 2 + len(again)
    assert stored(tmp_path / "s.json")["task_results"]["1"]["attempt"] == 1 + len(again)


def test_a_pack_that_grows_goes_on_and_one_that_shrinks_counts_only_its_own(tmp_path: Path) -> None:
    score(a_set(tmp_path, 1), Judge(), tmp_path)
    assert score(a_set(tmp_path, 1, 2, 3), Judge(), tmp_path).judged == (2, 3)
    scored = score(a_set(tmp_path, 2), Judge(), tmp_path)
    assert (scored.judged, scored.summary["summary"]["n_ok"]) == ((), 1)
    assert (scored.summary["judge_usd"], scored.summary["agent"]["usd"]) == (1, 1)
    assert list(stored(tmp_path / "s.json")["task_results"]) == ["1", "2", "3"], "nothing that was paid is lost"


def test_another_pack_is_refused(tmp_path: Path) -> None:
    score(a_pack(tmp_path, 1), Judge(), tmp_path)
    with pytest.raises(UsageProblem, match="the scores of another pack"):
        score(a_pack(tmp_path, 1, 2), Judge(), tmp_path)


@pytest.mark.parametrize("name", ["/etc/passwd", "../secret", "link"])
def test_files_that_must_not_be_shown_stop_it_before_anything_is_paid(name: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/link").symlink_to("/etc/passwd")
    judge = Judge()
    with pytest.raises(UsageProblem, match="it is not shown to a judge"):
        score(a_pack(tmp_path / "in", 1, attached_files=(name,)), judge, tmp_path)
    assert judge.usd == 0 and not (tmp_path / "s.json").exists()


def test_parity_judges_the_first_turn_and_strict_all(tmp_path: Path) -> None:
    turns = [[{"role": "assistant", "content": "first"}], [{"role": "assistant", "content": "last"}]]
    packed = a_pack(tmp_path, 1, assistant_outputs=turns)
    task = packed.tasks[0]
    assert delivery_of(packed, task, ScoringSettings("fake")).trace == turns[0]
    assert delivery_of(packed, task, ScoringSettings("fake", scoring="strict")).trace == turns


@pytest.mark.parametrize(
    ("votes", "url", "says"),
    [
        (0, None, "--judge-votes must be 1 or more"),
        (2, None, "leave --judge-votes"),
        (1, "http://h/v1", "leave --judge-votes"),
        (1, "/chat/completions", "--judge-url '/chat/completions' names no host"),
        (1, "  ", "--judge-url '  ' names no host"),
    ],
)
def test_what_the_rules_cannot_do(votes: int, url: str | None, says: str) -> None:
    with pytest.raises(UsageProblem, match=says):
        config_for("rules", votes, url, Config())


# -- the command, with a judge behind an endpoint


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A pack of tasks 7, 8 and 12, and its data; nothing of the user's own cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    data = write_tasks(tmp_path / "set A")
    results = write_outputs(tmp_path / "mine", {7: "It is 12.", 8: "Hello!", 12: "Here."}, {"7/files/report.md": "12"})
    for number, usd in ((7, 0.5), (8, 0.25), (12, 0.25)):
        (results / f"{number}/run.json").write_text(json.dumps({"elapsed_sec": 60, "usd": usd}))
    assert pack("create", "--result-dir", results, "--data", data) == 0
    return results / "pack.json", data


CONFIG = (
    '[models.judge]\nmodel = "judge"\nurl = "URL"\nprices = {prompt = 1000.0, completion = 1000.0}\nmax_retries = 0\n'
)


def words(made: tuple[Path, Path], folder: Path, url: str) -> list[str]:
    (folder / "agentgauge.toml").write_text(CONFIG.replace("URL", url))
    path, data = made
    return [
        "score",
        "--in-pack",
        str(path),
        "--data",
        str(data),
        "--judge-model",
        "judge",
        "--config",
        str(folder / "agentgauge.toml"),
    ]


def reply(seen: Seen) -> Any:
    text = json.dumps(seen.body["messages"])
    return answer('{"score": 9, "analysis": "good"}' if "greets" in text else '{"score": 4, "analysis": "poor"}')


def test_the_command_scores_resumes_and_compares(
    made: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FaultServer(choose=reply) as endpoint:
        command = words(made, tmp_path, endpoint.url)
        assert pack(*command, "--max-tasks", "2") == 0
        assert len(endpoint.requests) == 3
        assert "stopped: --max-tasks 2: 1 remain" in capsys.readouterr().out
        assert pack(*command) == 0
        assert len(endpoint.requests) == 4
        said = capsys.readouterr().out
        assert "task 12: 4.00" in said and "task 7" not in said
        assert pack(*command, "--overwrite") == 0
        assert len(endpoint.requests) == 5, "replies are kept, and the endpoint is asked whose they are"
        assert "4 of 4 verdicts were stored ones" in capsys.readouterr().out
    scores = made[0].with_name("pack_judge_scores.json")
    assert {number: record["score"] for number, record in stored(scores)["task_results"].items()} == {
        "7": 4,
        "8": 9,
        "12": 4,
    }
    summary = stored(made[0].with_name("pack_judge_scores_summary.json"))
    figures = {name: summary["figures"][name] for name in ("Root Score", "Leaf SR", "Root SR")}
    assert (summary["name"], figures) == (
        "mine",
        {"Root Score": pytest.approx(17 / 3), "Leaf SR": 25, "Root SR": pytest.approx(100 / 3)},
    )
    assert summary["agent"] == {"elapsed_sec": 180, "usd": 1}


def test_a_model_has_to_be_named_where_the_data_has_no_rules(
    made: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert pack("score", "--in-pack", made[0], "--data", made[1]) == 4
    assert "name one with --judge-model" in capsys.readouterr().out


def test_the_bundled_sample_is_scored_by_its_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from bench_gta.pack.format import read_tasks

    first = next(iter(read_tasks().tasks))
    results = write_outputs(tmp_path / "nothing", {first: "I do not know."})
    assert pack("create", "--result-dir", results) == 0
    assert pack("score", "--in-pack", results / "pack.json") == 0
    summary = stored(results / "pack_rules_scores_summary.json")
    assert summary["data"]["name"] == "the bundled sample"
    assert summary["summary"]["n_ok"] == 1 and summary["figures"]["Root SR"] == 0
    assert summary["name"] == "nothing"


@pytest.mark.parametrize("verb", ["create", "check", "score"])
def test_every_verb_explains_itself_with_an_example(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        pack(verb, "--help")
    assert ended.value.code == 0
    assert f"example: agentgauge pack {verb}" in capsys.readouterr().out


RESULT_TREE = [{"id": "1", "requirements": "a"}, {"id": "2", "requirements": "b"}]
SETTINGS = ScoringSettings("fake")


def small_pack(folder: Path) -> Pack:
    return Pack((PackTask(1, 1, ["q"], [], (), RESULT_TREE),), folder, sha1="0" * 40)


@pytest.mark.parametrize(
    ("score", "mean"),
    [
        (7.5, 7.5),
        ("7.5", 7.5),
        (" 7 ", 7.0),
        ("-2", -2.0),
        (True, 1.0),
        ("good", None),
        ("", None),
        ("nan", None),
        ("inf", None),
        ("9" * 5000, None),
        (None, None),
        ([], None),
        ({"score": 3}, None),
    ],
)
def test_a_score_may_be_a_text(score: Any, mean: float | None, tmp_path: Path) -> None:
    record = {"status": "ok", "score": score}
    found = summary_block([1], {"1": record})
    assert found["summary"] == {"n_total": 1, "n_done": 1, "n_ok": 1, "n_error": 0, "mean_ok_score": mean}
    assert found["per_task"] == [{"task_id": 1, "status": "ok", "score": score}]
    assert summary(small_pack(tmp_path), SETTINGS, StoredResults({"1": record}))["figures"]["Root Score"] == (
        mean or 0.0
    )


@pytest.mark.parametrize("status", ["", None])
def test_a_record_without_a_status_is_unknown(status: Any) -> None:
    assert summary_block([1], {"1": {"status": status}})["per_task"][0]["status"] == "unknown"


@pytest.mark.parametrize(
    ("address", "base"),
    [
        (None, None),
        ("", None),
        ("/chat/completions", ""),
        ("/chat/completions/", ""),
        ("  ", ""),
        ("/", ""),
        ("/v1/chat/completions", "/v1"),
        ("http://b//chat/completions", "http://b/"),
        ("http://b/chat/completions/v1", "http://b/chat/completions/v1"),
    ],
)
def test_addresses(address: str | None, base: str | None) -> None:
    assert base_url(address) == base
