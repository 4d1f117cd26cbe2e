"""Judge models as a user meets them: whose verdicts are kept, and what is said of a judge that cannot judge."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentgauge.model.vision_probe import IN_TEXT, NUMBER, QUESTION
from tests.model.fault_server import Act, FaultServer, Seen, answer, completion, data, status
from tests.plugin.project import GTA, pytest_here, records, run_mmau, summary

pytest.importorskip("av")

CASES = str(Path(GTA[-1]) / "test_workflow.py")
SETTINGS = """
[tools]
basic = true
missing = "disable"

[models.seer]
url = "{url}"
model = "seer"
max_retries = 0
"""
LEAVES = 3  # of task 13, which is about two pictures
CUT = '{"score": 7, "analysis": "The'


def is_probe(seen: Seen) -> bool:
    return QUESTION in json.dumps(seen.body["messages"])


def says(text: str, model: str = "seer-1", end: str = "stop") -> Act:
    told = completion(text)
    told["choices"][0]["finish_reason"] = end
    return data({**told, "model": model})


def seeing(judge: Callable[[Seen], Act], model: str = "seer-1") -> Callable[[Seen], Act]:
    """A judge that passes the first look."""
    return lambda seen: says(NUMBER, model) if is_probe(seen) else judge(seen)


def scoring(score: float, model: str = "seer-1") -> Callable[[Seen], Act]:
    return seeing(lambda seen: says(json.dumps({"score": score, "analysis": "seen"}), model), model)


def run(url: str, *arguments: str, cwd: Path, end: int = 0) -> str:
    (cwd / "agentgauge.toml").write_text(SETTINGS.format(url=url))
    words = (*GTA[:2], "--rootdir", str(cwd), f"{CASES}::test_workflow[13]", *arguments)
    if not {"--resume", "--rescore"} & set(arguments):
        words += ("--model", "oracle", "--judge-model", "seer")
    result = pytest_here(*words, cwd=cwd, seconds=300)
    assert result.status == end, result.output
    return " ".join(result.output.split())  # lines are as wide as the terminal


def root_score(folder: Path) -> float:
    value = summary(folder)["tasks"]["gta_workflow"]["metrics"]["Root Score"]["value"]
    assert isinstance(value, float)
    return value


def test_kept_verdicts_are_of_the_same_server_and_the_model_that_it_reports(tmp_path: Path) -> None:
    cached = ("--judge-cache", "kept")
    with FaultServer(choose=scoring(9)) as server:
        told = run(server.url, *cached, "--run-dir", "first", cwd=tmp_path)
        assert len(server.requests) == 1 + LEAVES
        assert "stored" not in told
        server.requests.clear()
        told = run(server.url, *cached, "--run-dir", "again", cwd=tmp_path)
        assert len(server.requests) == 1
        assert "3 of 3 verdicts of the judge were stored ones" in told
        assert summary(tmp_path / "again")["tasks"]["gta_workflow"]["metrics"]["Root SR"]["stored_votes"] == 3
        server.choose = scoring(3, "seer-2")
        told = run(server.url, *cached, "--run-dir", "other-model", cwd=tmp_path)
        assert root_score(tmp_path / "other-model") == 3.0
        assert "stored" not in told
    with FaultServer(choose=scoring(0)) as server:
        run(server.url, *cached, "--run-dir", "other-server", cwd=tmp_path)
        assert len(server.requests) == 1 + LEAVES
    assert [root_score(tmp_path / name) for name in ("first", "again", "other-server")] == [9.0, 9.0, 0.0]


@pytest.mark.uses("page")
def test_the_board_says_whether_a_judge_gets_what_the_agent_wrote_in_a_frame(tmp_path: Path) -> None:
    cached = ("--judge-cache", "kept")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "workflow_judge.txt").write_text("{task}|{answer}|{requirement}")
    with FaultServer(choose=scoring(9)) as server:
        run(server.url, *cached, "--run-dir", "framed", cwd=tmp_path)
        asked = [json.dumps(seen.body["messages"]) for seen in server.requests if not is_probe(seen)]
        server.requests.clear()
        run(server.url, *cached, "--run-dir", "published", "--prompts", "texts", cwd=tmp_path)
        published = [json.dumps(seen.body["messages"]) for seen in server.requests if not is_probe(seen)]
    run("http://127.0.0.1:9/v1", "--rescore", "published", "--run-dir", "again", cwd=tmp_path)
    assert all("[begin " in text and "\\n> " in text for text in asked) and len(asked) == LEAVES
    assert not any("[begin " in text for text in published) and len(published) == LEAVES  # none was a stored verdict
    for name, says in (("framed", "frames what"), ("published", "has no frame"), ("again", "has no frame")):
        for page in ("leaderboard.md", "report.html"):
            assert says in (tmp_path / name / page).read_text(), name


@pytest.mark.uses("recording")
def test_a_replay_asks_a_judge_the_same_in_the_same_frames(tmp_path: Path) -> None:
    with FaultServer(choose=scoring(9)) as server:
        run(server.url, "--judge-cache=none", "--run-dir", "first", "--record", "tape.jsonl", cwd=tmp_path)
    run("http://127.0.0.1:9/v1", "--judge-cache=none", "--run-dir", "again", "--replay", "tape.jsonl", cwd=tmp_path)
    assert root_score(tmp_path / "again") == 9.0


@pytest.mark.uses("page")
def test_a_judge_whose_replies_cannot_be_read_is_told_of_before_all_figures(tmp_path: Path) -> None:
    replies = iter(["I cannot judge this.", '{"analysis": "no score"}', CUT])

    def judge(seen: Seen) -> Act:
        text = next(replies)
        return says(text, end="length" if text == CUT else "stop")

    with FaultServer(choose=seeing(judge)) as server:
        told = run(server.url, "--run-dir", "run", "--in-flight=1", cwd=tmp_path)  # replies come in their order
        server.choose = scoring(9)
        server.requests.clear()
        run(server.url, "--run-dir", "good", cwd=tmp_path)
        assert len(server.requests) == 1 + LEAVES  # such replies are not kept
    sentence = "gta_workflow: 3 of 3 replies of the judge hold no score in the form asked for"
    shown = told[told.index("= agentgauge =") :]
    assert shown.index(sentence) < shown.index("1 planned")
    assert "no model can solve" not in told
    (record,) = records(tmp_path / "run")
    assert record["status"] == "wrong"
    assert record["score"]["labels"] == ["unreadable_judgement"]
    assert record["score"]["explanation"].splitlines()[:2] == [
        "reply 3 of 3 of --judge-model was cut at the endpoint's limit",
        "3 of 3 replies of the judge hold no score in the form asked for (1 × cut at the token limit, 2 × no JSON with"
        " a score): they count as 0 or by a number found in them, and say nothing about the agent",
    ]
    assert next(iter(summary(tmp_path / "run"))) == "doubts"
    assert sentence in (tmp_path / "run" / "report.html").read_text()
    assert sentence in (tmp_path / "run" / "leaderboard.md").read_text()
    assert sentence in run(server.url, "--rescore", "run", "--run-dir", "again", cwd=tmp_path)


def test_one_unreadable_reply_among_others_is_counted(tmp_path: Path) -> None:
    replies = iter(['{"score": 90}', '{"score": 9, "analysis": "x"}', '{"score": 9, "analysis": "y"}'])
    with FaultServer(choose=seeing(lambda seen: says(next(replies)))) as server:
        told = run(server.url, "--run-dir", "run", cwd=tmp_path)
    assert "gta_workflow: 1 of 3 replies of the judge hold no score in the form asked for" in told
    (record,) = records(tmp_path / "run")
    assert "1 × a score not a number from 0 to 10" in record["score"]["explanation"]


def test_a_score_that_the_published_rule_misses_is_no_judgement_of_the_agent(tmp_path: Path) -> None:
    sound = '{"score": 9, "analysis": "x"}'
    replies = iter([f'{{"result": {sound}}}', f"<think>3 points</think>{sound}", f"Verdict:\n```json\n{sound}\n```"])
    with FaultServer(choose=seeing(lambda seen: says(next(replies)))) as server:
        told = run(server.url, "--run-dir", "run", cwd=tmp_path)
    assert "gta_workflow: 2 of 3 replies of the judge hold no score in the form asked for" in told
    (record,) = records(tmp_path / "run")
    assert "2 × a score that the published rule misses" in record["score"]["explanation"]
    told = run(server.url, "--rescore", "run", "--run-dir", "strict", "--scoring=strict", cwd=tmp_path)
    assert "hold no score" not in told
    assert root_score(tmp_path / "strict") == 9.0


@pytest.mark.parametrize("reply", ["", "refused"])
def test_a_judge_without_words_breaks_the_case_or_counts_as_unreadable(tmp_path: Path, reply: str) -> None:
    filtered = status(400, "The response was filtered.", error_code="content_filter")
    act = filtered if reply else says("", end="length")
    with FaultServer(choose=seeing(lambda seen: act)) as server:
        told = run(server.url, "--run-dir", "run", cwd=tmp_path, end=0 if reply else 1)
    (record,) = records(tmp_path / "run")
    if reply:
        assert "3 of 3 replies of the judge hold no score in the form asked for" in told
        assert "3 × empty or refused" in record["score"]["explanation"]
    else:
        assert record["cause"] == "judge"
        assert "cut at the judge's token limit; give it a higher max_tokens" in record["error"]
        assert "gta_workflow: 1 of 1 case have no verdict" in told


def refuses_pictures(seen: Seen) -> Act:
    if "image_url" in json.dumps(seen.body):
        return status(400, "seer is not a multimodal model")
    return answer("I see no picture.")


def guesses(seen: Seen) -> Act:
    return answer("It shows 123." if "image_url" in json.dumps(seen.body) else IN_TEXT)


@pytest.mark.parametrize(
    ("judge", "why"),
    [
        (refuses_pictures, "seer is not a multimodal model"),
        (lambda seen: answer("I cannot see pictures."), "replied 'I cannot see pictures.'"),
        (guesses, "replied 'It shows 123.'"),
        (lambda seen: status(401, "who are you?"), "does not answer: model seer: the endpoint answered HTTP 401"),
    ],
    ids=["refuses", "says so", "guesses", "no answer"],
)
def test_a_judge_that_cannot_see_is_found_out_before_the_agent_works(tmp_path: Path, judge: Any, why: str) -> None:
    with FaultServer(choose=judge) as server:
        told = run(server.url, "--run-dir", "run", cwd=tmp_path, end=4)
        assert len(server.requests) <= 2
    assert why in told
    assert "--judge-model seer" in told
    assert not (tmp_path / "run").exists()


def test_a_judge_that_says_the_same_to_everything_cannot_be_read_whether_it_sees_or_not(tmp_path: Path) -> None:
    with FaultServer(choose=lambda seen: says("banana")) as server:
        told = run(server.url, "--run-dir", "run", cwd=tmp_path)
    assert "gta_workflow: 3 of 3 replies of the judge hold no score in the form asked for" in told
    assert "so it is not known whether it sees pictures" in told


def test_a_judge_in_a_form_of_its_own_judges_and_the_user_is_told(tmp_path: Path) -> None:
    with FaultServer(choose=lambda seen: says('{"score": 9, "analysis": "fine"}')) as server:
        told = run(server.url, "--run-dir", "run", cwd=tmp_path)
    assert root_score(tmp_path / "run") == 9.0
    assert "so it is not known whether it sees pictures" in told


def test_a_resumed_run_keeps_its_judge(tmp_path: Path) -> None:
    def judge(seen: Seen) -> Act:
        return status(500)

    with FaultServer(choose=seeing(judge)) as server:
        run(server.url, "--run-dir", "run", cwd=tmp_path, end=1)
        server.choose = scoring(9, "seer-2")
        told = run(server.url, "--resume", "run", cwd=tmp_path, end=4)
        assert "called its model 'seer-1' then and calls it 'seer-2' now" in told
        server.choose = scoring(9)
        run(server.url, "--resume", "run", cwd=tmp_path)
        server.requests.clear()
        run(server.url, "--resume", "run", cwd=tmp_path)
        assert not server.requests  # nothing is left to judge
    assert root_score(tmp_path / "run") == 9.0


def test_a_judge_of_mathematics_whose_replies_cannot_be_read_is_told_of_first(tmp_path: Path) -> None:
    with FaultServer(choose=lambda seen: says("It depends.")) as server:
        (tmp_path / "agentgauge.toml").write_text(SETTINGS.format(url=server.url))
        words = ("-k", "math_standard", "--model", "oracle", "--mmau-judge", "seer", "--run-dir", "run")
        told = " ".join(run_mmau("--rootdir", str(tmp_path), *words, cwd=tmp_path).output.split())
    judged = len(server.requests)
    sentence = f"mmau.math_standard: {judged} of {judged} replies of the judge are neither correct nor wrong"
    assert told.index(sentence) < told.index(f"{judged} planned")
    assert "oracle answers with the gold: what it misses depends on the model of --mmau-judge" in told
    assert summary(tmp_path / "run")["doubts"] == [f"{sentence}, and say nothing about the agent"]
