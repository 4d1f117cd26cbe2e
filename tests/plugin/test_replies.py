"""Replies that were cut, refused, empty or wrong: what records and explanations say."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from glob import escape
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from agentgauge_reports.results import read_run

from agentgauge.core.registry import Registry
from bench_wild.data import resolve
from tests.model.fault_server import Act, FaultServer, Seen, completion, data
from tests.plugin.project import GTA, ROOT, Result, pytest_here, python, records, summary

# -- Replies that were cut at a token limit, refused or empty: in records, explanations, labels and notices.


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


@pytest.mark.uses("page")
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


@pytest.mark.uses("recording")
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
        (("--max-tokens=0",), "--max-tokens 0 is too small; give an integer from 1"),
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


# -- Every benchmark's explanations name the true reason, whatever the reply is and whatever the dialect.


TASKS = {
    "gta_atomic.step": "bench_gta/test_step.py::test_step_by_step",
    "gta_atomic.e2e": "bench_gta/test_e2e.py::test_end_to_end",
    "gta_workflow": "bench_gta/test_workflow.py::test_workflow",
    "wild": "bench_wild/test_wild.py::test_task",
}
"""Task → its test."""
BROKEN_CALL = {  # in each dialect, without the end of the arguments
    "native": {"tool_calls": [{"name": "NAME", "arguments": '{"image": "im'}]},
    "react": {"text": 'Thought: I look.\nAction: NAME\nAction Input: {"image": "im'},
    "qwen": {"text": '<tool_call>\n{"name": "NAME", "arguments": {"image": "im'},
}
UNKNOWN_CALL = {
    "native": {"tool_calls": [{"name": "Nosuch", "arguments": "{}"}]},
    "react": {"text": "Thought: I look.\nAction: Nosuch\nAction Input: {}"},
    "qwen": {"text": '<tool_call>\n{"name": "Nosuch", "arguments": {}}\n</tool_call>'},
}
CUT = {"finish_reason": "length"}


def replies(dialect: str, name: str) -> dict[str, Any]:
    """Kind of reply → the reply. ``name``: of a tool on offer."""
    call = json.loads(json.dumps(BROKEN_CALL[dialect]).replace("NAME", name))
    return {
        "cut text": {"text": "I think that", **CUT},
        "cut call": {**call, **CUT},
        "cut empty": {"text": "", **CUT},
        "empty": "",
        "unreadable": call,
        "no call": "I do not know.",
        "unknown tool": UNKNOWN_CALL[dialect],
        "refusal": {"refusal": "I cannot help with this."},
        "filtered": {"text": "", "finish_reason": "content_filter"},
    }


KINDS = tuple(replies("native", "x"))


def tool_of(task: str, sample: Any) -> str:
    """A tool that the sample offers."""
    if task == "wild":
        return str(resolve(sample)[0].tools[0]["function"]["name"])
    return "OCR"


@pytest.fixture(scope="module", params=list(BROKEN_CALL))
def reasons_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    dialect, folder = request.param, tmp_path_factory.mktemp("reasons")
    script: dict[str, list[Any]] = {}
    nodes = []
    known = Registry.installed()
    for name, test in TASKS.items():
        task = known[name]
        index = task.data.index(task.data.bundled)
        rows = [row for row in index.rows if name != "wild" or row.id.endswith("-t1")]
        for row, kind in zip(rows, KINDS, strict=False):
            tool = tool_of(name, task.data.load(index, row, name))
            script[f"{name}/{escape(row.id)}"] = [replies(dialect, tool)[kind]]
            nodes.append(f"{ROOT / test}[{row.id}]")
    (folder / "script.json").write_text(json.dumps({"replies": script}))
    words = (f"--dialect={dialect}", "--model=scripted:script.json", "--data=mini", "--run-dir=run")
    done = pytest_here(*GTA[:-1], *nodes, *words, cwd=folder)
    assert done.status == 0, done.output
    return dialect, folder / "run"


def told(folder: Path, kind: str) -> Mapping[str, tuple[list[str], str]]:
    """Task → labels and explanation of its wrong case with replies of this kind."""
    script = json.loads((folder.parent / "script.json").read_text())["replies"]
    place = KINDS.index(kind)
    samples = {name: [key for key in script if key.startswith(f"{name}/")][place] for name in TASKS}
    return {
        one["task"]: (one["score"]["labels"], one["score"]["explanation"])
        for one in records(folder)
        if samples[one["task"]] == f"{one['task']}/{escape(one['sample'])}" and one["status"] == "wrong"
    }


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("cut")])
def test_a_reply_that_was_cut_is_the_first_reason(reasons_run: tuple[str, Path], kind: str) -> None:
    found = told(reasons_run[1], kind)
    assert {"gta_atomic.step", "gta_atomic.e2e", "gta_workflow"} <= found.keys()
    for task, (labels, text) in found.items():
        first = text.splitlines()[0]
        assert labels[0] == "reply_cut" and " cut at " in first, (task, labels, text)
        assert (", before any text or call" in first) == (kind == "cut empty"), (task, text)
    limit = "max_tokens 4096" if "gta_workflow" in found else ""
    assert limit in found["gta_workflow"][1]
    assert "the endpoint's limit" in found["gta_atomic.e2e"][1]


def test_an_empty_reply_is_called_empty(reasons_run: tuple[str, Path]) -> None:
    for task, (labels, text) in told(reasons_run[1], "empty").items():
        assert "without any text or call" in text or "neither content nor calls" in text, (task, labels, text)
        assert "wrong tool" not in text and "reply_cut" not in labels


def test_a_call_that_cannot_be_read_is_not_a_wrong_tool_or_a_refused_argument(
    reasons_run: tuple[str, Path],
) -> None:
    for task, (labels, text) in told(reasons_run[1], "unreadable").items():
        if task == "gta_workflow":
            assert "unreadable_calls" in labels and "replies held no call that could be read" in text
            continue
        readable = {"unreadable_call", "invalid_json", "needless_call", "no_question", "wrong_tool"}
        assert readable & {*labels}, (task, labels, text)
        assert "argument_error" not in labels and "refused its arguments" not in text
        if reasons_run[0] == "qwen":
            assert labels[0] == "unreadable_call", (task, labels, text)
            assert "although it looks like one" in text


def test_a_tool_that_is_not_on_offer_is_called_so(reasons_run: tuple[str, Path]) -> None:
    for task, (labels, text) in told(reasons_run[1], "unknown tool").items():
        assert {"invalid_action", "unknown_tool"} & {*labels}, (task, labels, text)
        assert "not on offer" in text or "not offered" in text, (task, text)
        assert "could be read" not in text and "can be read" not in text, (task, text)


def test_a_text_without_a_call_is_no_tool_call(reasons_run: tuple[str, Path]) -> None:
    for task, (labels, text) in told(reasons_run[1], "no call").items():
        assert "tool call" not in text.replace("neither a call", "") or "NoAction" in text, (task, text)
        assert not {"reply_cut", "refused", "unreadable_call", "invalid_json"} & {*labels}


@pytest.mark.parametrize(("kind", "words"), [("refusal", "refusal"), ("filtered", "ended by a content filter")])
def test_a_refusal_is_called_one(reasons_run: tuple[str, Path], kind: str, words: str) -> None:
    found = told(reasons_run[1], kind)
    assert len(found) >= 3
    for task, (labels, text) in found.items():
        assert labels[0] == "refused" and words in text.splitlines()[0], (task, labels, text)


def test_replies_without_a_call_are_not_counted_as_tool_calls(reasons_run: tuple[str, Path]) -> None:
    text = told(reasons_run[1], "empty")["gta_atomic.e2e"][1]
    assert "after 10 replies without a usable call" in text and "NoAction" not in text


@pytest.mark.uses("formats")
def test_frames_and_exported_formats_hold_how_replies_ended(reasons_run: tuple[str, Path], tmp_path: Path) -> None:
    found = read_run(reasons_run[1])
    cut = [one for one in found.samples if one.cut_replies]
    assert {one.kind for one in cut if one.status == "wrong"} == {"reply_cut"}
    for form, place in (("eval", "run.eval"), ("atif", "atif"), ("every-eval-ever", "shared")):
        words = ("report", str(reasons_run[1]), "--format", form, "--output", place)
        done = python("-m", "agentgauge.cli.main", *words, cwd=tmp_path)
        assert done.status == 0, done.output
    with ZipFile(tmp_path / "run.eval") as archive:
        samples = [json.loads(archive.read(name)) for name in archive.namelist() if name.startswith("samples/")]
    reasons = {choice["stop_reason"] for one in samples for choice in one["output"]["choices"]}
    assert {"max_tokens", "content_filter", "stop"} <= reasons
    steps = [step for file in (tmp_path / "atif").rglob("*.json") for step in json.loads(file.read_text())["steps"]]
    assert {"finish_reason": "length"} in [step.get("extra") for step in steps]
    lines = [line for file in (tmp_path / "shared").rglob("*.jsonl") for line in file.read_text().splitlines()]
    assert any("length" in json.loads(line)["metadata"]["finish_reasons"] for line in lines)
