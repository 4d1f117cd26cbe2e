"""The export to inspect_ai's log: the archive itself, and where the package is installed that it can be read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from zipfile import ZipFile

import pytest
from agentgauge_reports.formats.evallog import write
from agentgauge_reports.load import Omitted

from agentgauge.core.errors import UsageProblem
from agentgauge.core.types import Event
from tests.reports.runs import TASKS, made

EARLIER = Path(__file__).parents[2] / "run_folders" / "2026-11"
ASKED = {
    "role": "user",
    "content": [{"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": "x"}}],
}
CALL = {"id": "c1", "type": "function", "function": {"name": "OCR", "arguments": '{"image": "{ROOT}/a.png"}'}}
ANSWERED = [
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "text"},
]
TALK = (
    Event(
        "model",
        "m",
        1.0,
        0.5,
        {"messages": [ASKED], "reply": "", "tool_calls": [{"name": "OCR", "arguments": '{"image":"{ROOT}/a.png"}'}]},
    ),
    Event("tool", "OCR", 1.5, 0.1, {"arguments": {}, "result": []}),
    Event("model", "m", 2.0, 0.5, {"messages": ANSWERED, "reply": "It is a \ud800 cat."}),
    Event("model", "judge", 3.0, 0.5, {"messages": [{"role": "user", "content": "right?"}], "reply": "yes"}),
)
ENDS = {"a": "pw", "b/c": "w", "d": "b", "e": "-"}


def write_eval(run, target, omitted=None):
    (log,) = write(run, target, omitted or Omitted(), TASKS)
    return log


@pytest.fixture
def log(tmp_path):
    run = made(tmp_path / "run", ENDS, events=TALK, labels={"a": ["wrong_tool"]}, tags={"a": ["odd"]})
    return write_eval(run, tmp_path / "run.eval")


def member(log, name):
    with ZipFile(log) as archive:
        return json.loads(archive.read(name))


def test_every_attempted_case_is_a_sample_and_every_task_a_scorer(log):
    with ZipFile(log) as archive:
        names = archive.namelist()
    assert sorted(names) == [
        "_journal/start.json",
        "header.json",
        *(f"samples/t/{name}.json" for name in ("a_epoch_1", "a_epoch_2", "b/c_epoch_1", "d_epoch_1")),
        "summaries.json",
    ]
    header = member(log, "header.json")
    assert (header["version"], header["status"], header["eval"]["model"], header["eval"]["config"]) == (
        2,
        "success",
        "m",
        {"epochs": 2},
    )
    [score] = header["results"]["scores"]
    assert (score["name"], score["scored_samples"], score["unscored_samples"]) == ("t", 3, 2)
    assert score["metrics"] == {"Acc": {"name": "Acc", "value": 50.0, "metadata": {"low": 40.0, "high": 60.0, "n": 2}}}
    assert [(one["id"], one["epoch"]) for one in member(log, "summaries.json")] == [
        ("t/a", 1),
        ("t/a", 2),
        ("t/b/c", 1),
        ("t/d", 1),
    ]


def test_a_conversation_is_told_once_with_calls_and_a_judge_after_it(log):
    messages = member(log, "samples/t/a_epoch_2.json")["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    assert messages[0]["content"] == "what is it?\n[image_url]"
    assert messages[1]["tool_calls"] == [
        {"id": "c1", "function": "OCR", "type": "function", "arguments": {"image": "{ROOT}/a.png"}}
    ]
    assert (messages[2]["function"], messages[2]["tool_call_id"]) == ("OCR", "c1")
    assert messages[-1] == {"role": "assistant", "content": "yes", "model": "judge"}


@pytest.mark.parametrize(
    ("arguments", "flaw"), [("[1]", "the arguments are not an object"), ("{", "Expecting property name")]
)
def test_unreadable_arguments_are_kept_as_text(tmp_path, arguments, flaw):
    talk = [
        Event(
            "model",
            "m",
            1.0,
            0.5,
            {"messages": [ASKED], "reply": "", "tool_calls": [{"name": "OCR", "arguments": arguments}]},
        )
    ]
    log = write_eval(made(tmp_path / "run", {"a": "w"}, events=talk), tmp_path / "run.eval")
    [call] = member(log, "samples/t/a_epoch_1.json")["messages"][-1]["tool_calls"]
    assert call["arguments"] == {"raw": arguments} and call["parse_error"].startswith(flaw)


def test_target_is_the_gold_and_answer_the_last_reply(tmp_path):
    """GTA and WildToolBench keep the gold in the record; the oracle answers from the data set for Apple MMAU."""
    found = {}
    for name in ("gta", "wild-mmau"):
        log = write_eval(EARLIER / name, tmp_path / f"{name}.eval")
        with ZipFile(log) as archive:
            samples = [json.loads(archive.read(one)) for one in archive.namelist() if one.startswith("samples/")]
        found |= {task: sample for sample in samples for task in sample["scores"]}
    assert {"gta_atomic.e2e", "gta_atomic.step", "wild"} <= found.keys()
    assert all(sample["target"] for sample in found.values())
    assert found["wild"]["target"].startswith("searchCatalogue({")
    assert found["wild"]["scores"]["wild"]["answer"] == found["wild"]["messages"][-1]["content"]


def test_without_the_data_set_the_gold_of_records_stays(tmp_path):
    run = shutil.copytree(EARLIER / "wild-mmau", tmp_path / "run")
    about = json.loads((run / "run.json").read_text())
    about["data"]["mmau.tool_single"] |= {"folder": str(tmp_path / "gone"), "official": True}
    (run / "run.json").write_text(json.dumps(about))
    omitted = Omitted()
    with ZipFile(write_eval(run, tmp_path / "run.eval", omitted=omitted)) as archive:
        samples = [json.loads(archive.read(one)) for one in archive.namelist() if one.startswith("samples/")]
    known = {(one["metadata"]["task"], bool(one["target"])) for one in samples if one["scores"]}  # broken: no output
    assert ("wild", True) in known and ("wild", False) not in known and ("mmau.tool_single", True) not in known
    assert [note.partition(": ")[0] for note in omitted.notes] == ["the gold of the data set is left out"]


def test_the_gold_of_earlier_steps_is_no_reply_of_the_model(tmp_path):
    given = [{"role": "assistant", "content": "the gold"}, {"role": "user", "content": "go on"}]
    talk = [
        Event("model", "m", 1.0, 0.5, {"messages": [ASKED], "reply": "wrong"}),
        Event("model", "m", 2.0, 0.5, {"messages": given, "reply": "done"}),
    ]
    log = write_eval(made(tmp_path / "run", {"a": "w"}, events=talk), tmp_path / "run.eval")
    messages = member(log, "samples/t/a_epoch_1.json")["messages"]
    assert [(one["content"], one.get("model")) for one in messages[1:]] == [
        ("wrong", "m"),
        ("the gold", None),
        ("go on", None),
        ("done", "m"),
    ]


def test_input_and_output_are_the_tested_models_own(tmp_path):
    def asked(role, question, reply):
        said = {"messages": [{"role": "user", "content": question}], "reply": reply}
        return Event("model", role or "m", 1.0, 0.5, said | ({"role": role} if role else {}))

    talk = (asked("planner", "plan it", "a plan"), asked("", "what is it?", "a cat"), asked("--judge", "right?", "yes"))
    log = write_eval(made(tmp_path / "run", {"a": "p"}, events=talk), tmp_path / "run.eval")
    sample = member(log, "samples/t/a_epoch_1.json")
    assert (sample["input"], len(sample["messages"])) == ("what is it?", 6)
    assert [one["message"]["content"] for one in sample["output"]["choices"]] == ["a cat"]


def test_scores_say_why_and_broken_cases_have_an_error_and_no_score(log):
    assert member(log, "samples/t/a_epoch_1.json")["scores"]["t"]["value"] == "C"
    wrong = member(log, "samples/t/a_epoch_2.json")["scores"]["t"]
    assert (wrong["value"], wrong["metadata"]["kind"]) == ("I", "wrong_tool")
    broken = member(log, "samples/t/d_epoch_1.json")
    assert broken["scores"] == {} and broken["error"]["message"] == "model m: HTTP 500"


def test_equal_runs_give_equal_archives(log, tmp_path):
    assert write_eval(tmp_path / "run", tmp_path / "again.eval").read_bytes() == log.read_bytes()


def test_other_names_and_places_are_refused(tmp_path):
    run = made(tmp_path / "run", {"a": "p"})
    for target, told in (
        (tmp_path / "run.json", r"name it run\.eval"),
        (tmp_path / "no" / "run.eval", "is not a folder"),
    ):
        with pytest.raises(UsageProblem, match=told):
            write_eval(run, target)


def test_inspect_ai_reads_it(log):
    inspect_log = pytest.importorskip("inspect_ai.log", reason="inspect_ai is not installed; pip install inspect-ai")
    found = inspect_log.read_eval_log(str(log))
    assert (found.status, found.eval.model, len(found.samples)) == ("success", "m", 4)
    assert found.results.scores[0].metrics["Acc"].value == 50
    sample = inspect_log.read_eval_log_sample(str(log), id="t/b/c", epoch=1)
    assert sample.messages[1].tool_calls[0].function == "OCR" and sample.scores["t"].value == "I"
    assert [one.error for one in inspect_log.read_eval_log_sample_summaries(str(log))][3] == "model m: HTTP 500"
