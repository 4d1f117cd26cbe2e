"""Replies that were cut at a token limit, refused or empty: in records, explanations, labels and notices."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.model.fault_server import Act, FaultServer, Seen, completion, data
from tests.plugin.project import PYTEST, ROOT, Result, python, records, summary


def reply(text: str = "I think", finish: str | None = "length", **message: Any) -> Act:
    made = completion(text, **message)
    made["choices"][0]["finish_reason"] = finish
    return data(made)


def by_word(**acts: Act) -> Callable[[Seen], Act]:
    """Acts by the word that the model is to say; other cases are answered right."""

    def choose(seen: Seen) -> Act:
        word = seen.body["messages"][-1]["content"].removeprefix("say ")
        return acts.get(word, reply(word, "stop"))

    return choose


HALF = by_word(word1=reply(), word2=reply(""), word3=reply(refusal="I must not", text="", finish="stop"),
               word4=reply("", "content_filter"))  # fmt: skip


def run(project: Any, url: str, *arguments: str) -> Result:
    return project.run("--model=m", f"--model-url={url}", "--run-dir=run", *arguments)


@pytest.fixture
def half(project: Any) -> Result:
    with FaultServer(choose=HALF) as server:
        done = run(project, server.url, "--max-tokens=48")
        assert {one.body["max_tokens"] for one in server.requests} == {48}
    assert done.status == 0, done.output
    return done


def scores(folder: Path) -> dict[str, tuple[list[str], str]]:
    """Sample → labels, and the first line of the explanation."""
    return {
        one["sample"]: (one["score"]["labels"], one["score"]["explanation"].partition("\n")[0])
        for one in records(folder)
    }


TOLD = {
    "s0": ([], "expected 'word0', got 'word0'"),
    "s1": (["reply_cut"], "the reply was cut at max_tokens 48"),
    "s2": (["reply_cut"], "the reply was cut at max_tokens 48, before any text or call"),
    "s3": (["refused"], "the reply is a refusal"),
    "s4": (["refused"], "the reply was ended by a content filter"),
    "s5": ([], "expected 'word5', got 'word5'"),
}


def test_records_say_how_replies_ended(half: Result) -> None:
    folder = half.path / "run"
    assert scores(folder) == TOLD
    details = {one["sample"]: one["transcript"]["events"][0]["detail"] for one in records(folder)}
    ends = {sample: (one["finish_reason"], one.get("max_tokens")) for sample, one in details.items()}
    assert ends == {
        "s0": ("stop", None), "s1": ("length", 48), "s2": ("length", 48), "s3": ("stop", None),
        "s4": ("content_filter", None), "s5": ("stop", None),
    }  # fmt: skip


def test_every_view_of_the_run_counts_what_was_cut(half: Result) -> None:
    sentence, folder = "2 of 6 replies were cut at max_tokens 48", half.path / "run"
    assert sentence in half.output
    assert summary(folder)["tasks"]["toy.say"]["replies"] == {"--model": {"replies": 6, "cut": {"48": 2}}}
    for file in ("leaderboard.md", "report.html"):
        assert sentence in (folder / file).read_text(encoding="utf-8")
    assert "Reply was cut" in (folder / "report.html").read_text(encoding="utf-8")


def test_a_run_that_is_scored_again_says_the_same(half: Result, project: Any) -> None:
    again = project.run("--rescore=run", "--run-dir=again")
    assert "2 of 6 replies were cut at max_tokens 48" in again.output
    assert scores(project.path / "again") == TOLD


def test_records_of_earlier_versions_are_in_no_count(half: Result, project: Any) -> None:
    """They do not know how their replies ended."""
    file = project.path / "run" / "records.jsonl"
    lines = []
    for one in records(project.path / "run"):
        del one["transcript"]["replies"]
        for event in one["transcript"]["events"]:
            del event["detail"]["finish_reason"]
            event["detail"].pop("max_tokens", None)
        lines.append(json.dumps(one))
    file.write_text("\n".join(lines) + "\n")
    for left in (project.path / "run" / "records").glob("*.jsonl"):
        left.unlink()
    again = project.run("--rescore=run", "--run-dir=again")
    assert again.status == 0 and "were cut" not in again.output, again.output
    assert "replies" not in summary(project.path / "again")["tasks"]["toy.say"]
    assert not any("cut" in text for _, text in scores(project.path / "again").values())


def test_a_cassette_keeps_how_replies_ended(project: Any) -> None:
    with FaultServer(choose=HALF) as server:
        assert run(project, server.url, "--max-tokens=48", "--record=tape.jsonl").status == 0
    played = project.run("--replay=tape.jsonl", "--run-dir=played")
    assert "2 of 6 replies were cut at max_tokens 48" in played.output
    assert scores(project.path / "played") == TOLD


@pytest.mark.parametrize("finish", ["length", "MAX_TOKENS", "max_tokens"])
def test_a_limit_that_was_not_set_is_the_endpoints(project: Any, finish: str) -> None:
    with FaultServer(choose=by_word(word1=reply(finish=finish))) as server:
        done = run(project, server.url)
        assert "max_tokens" not in server.requests[0].body
    assert "1 of 6 replies was cut at the endpoint's limit; --max-tokens=N sets a limit" in done.output
    assert scores(project.path / "run")["s1"] == (["reply_cut"], "the reply was cut at the endpoint's limit")


def test_the_responses_api_says_it_in_its_own_words(project: Any) -> None:
    """Its status is ``incomplete``, and the limit has another name."""
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I think"}]}
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [message]}
    toml = '[models.m]\nmodel = "m"\nurl = "{}"\napi = "responses"\nmax_tokens = 48\n'
    with FaultServer([data(cut)]) as server:
        (project.path / "agentgauge.toml").write_text(toml.format(server.url))
        done = project.run("--model=m", "--run-dir=run", "--limit=2")
    assert "2 of 2 replies were cut at max_tokens 48" in done.output, done.output
    assert records(project.path / "run")[0]["transcript"]["events"][0]["detail"]["finish_reason"] == "length"


def test_a_context_that_is_full_is_the_endpoints_limit(project: Any) -> None:
    with FaultServer(choose=by_word(word1=reply(finish="model_length"))) as server:
        done = run(project, server.url, "--max-tokens=48")
    assert "1 of 6 replies was cut at the endpoint's limit" in done.output


def test_a_token_limit_is_the_models_and_stays_with_the_run(project: Any) -> None:
    toml = '[models.m]\nmodel = "m"\nurl = "{}"\nmax_tokens = 9\n'
    with FaultServer(choose=HALF) as server:
        (project.path / "agentgauge.toml").write_text(toml.format(server.url))
        assert project.run("--model=m", "--max-tokens=48", "--run-dir=run", "--limit=2").status == 0
        assert {one.body["max_tokens"] for one in server.requests} == {48}
        assert project.run("--resume=run").status == 0
        refused = project.run("--resume=run", "--max-tokens=47")
    settings = json.loads((project.path / "run" / "run.json").read_text())["settings"]
    assert (settings["max_tokens"], settings["model"]["max_tokens"]) == (48, 48)
    assert refused.status == 4 and "that run has model settings" in refused.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--max-tokens=0",), "--max-tokens 0 is too small; give a whole number from 1"),
        (("--max-tokens=many",), "--max-tokens: invalid int value: 'many'"),
        (("--max-tokens=9",), "--max-tokens 9 has no effect, because extra_body of the model m sets max_tokens"),
    ],
)
def test_a_limit_that_cannot_be_is_refused_in_one_sentence(
    project: Any, arguments: tuple[str, ...], words: str
) -> None:
    body = '[models.m]\nmodel = "m"\nurl = "http://127.0.0.1:9/v1"\nextra_body = {max_tokens = 5}\n'
    (project.path / "agentgauge.toml").write_text(body)
    done = project.run("--model=m", *arguments)
    assert done.status == 4 and words in done.output, done.output


def test_the_replies_of_another_role_are_counted_by_its_option(project: Any) -> None:
    (project.path / "test_plan.py").write_text(PLANNED)
    (project.path / "plans.jsonl").write_text('{"id": "p1"}\n{"id": "p2"}\n')
    toml = '[models.other]\nmodel = "other"\nurl = "{0}"\nmax_tokens = 7\n[models.m]\nmodel = "m"\nurl = "{0}"\n'
    with FaultServer(choose=lambda seen: reply("a", "length" if seen.body["model"] == "other" else "stop")) as server:
        (project.path / "agentgauge.toml").write_text(toml.format(server.url))
        done = project.run("test_plan.py", "--model=m", "--planner-model=other", "--run-dir=run", data="auto")
    assert "2 of 2 replies of --planner-model were cut at max_tokens 7" in done.output, done.output
    assert scores(project.path / "run")["p1"] == ([], "the reply of --planner-model was cut at max_tokens 7")


PLANNED = """
from agentgauge import benchmark

@benchmark("plans", data="plans.jsonl")
class Plans:
    roles = ["planner"]

    async def run(self, case):
        await case.ask("plan", role="--planner-model")
        return await case.ask("answer")

    def score(self, sample, answer):
        return answer.text == "b"
"""


def test_the_remedy_names_what_sets_the_limit_of_a_solver(tmp_path: Path) -> None:
    test = f"{ROOT / 'bench_mmau/test_mathematics.py'}::test_planner"
    with FaultServer(choose=lambda seen: reply()) as server:
        (tmp_path / "agentgauge.toml").write_text(f'[models.other]\nmodel = "other"\nurl = "{server.url}"\n')
        words = (test, "--model=m", f"--model-url={server.url}", "--max-tokens=48", "--limit=1", "--data=mini")
        same = python(*PYTEST, *words, cwd=tmp_path).output.replace("\n", " ")
        words = (*words[:1], "--rootdir=.", *words[1:])
        other = python(*PYTEST, *words, "--mmau-solver=other", cwd=tmp_path).output.replace("\n", " ")
    told = "1 of 1 reply of --mmau-solver was cut at max_tokens"
    assert f"{told} 48; --max-tokens=N sets another limit" in same
    assert "max_tokens in the table" not in same
    assert f"{told} 1024; max_tokens in the table of that model in agentgauge.toml sets the limit" in other
