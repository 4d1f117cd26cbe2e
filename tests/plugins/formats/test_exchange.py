"""The formats that other projects define: Every Eval Ever, and ATIF.

The published schemas are in ``schemas``. The packages' own checks need an environment with Python 3.12:

    python3.12 -m venv ENV && ENV/bin/pip install every-eval-ever==0.3.0 pydantic
    ENV/bin/pip install --no-deps harbor==0.25.0
    AGENTGAUGE_EXCHANGE=ENV pytest tests/plugins/formats/test_exchange.py
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agentgauge_reports.formats.known import writer
from agentgauge_reports.load import Omitted
from jsonschema import Draft7Validator, Draft202012Validator

from agentgauge.core.types import Event
from tests.reports.runs import TASKS, combined_run, record, write_run

HERE = Path(__file__).parent
EARLIER = HERE.parents[1] / "run_folders" / "2026-11"

ASKED = {"role": "user", "content": "What is on it? \u2028"}
GIVEN = {"role": "assistant", "content": "gold", "tool_calls": []}
TALK = (
    Event(
        "model", "m", 1.0, 0.5, {"messages": [ASKED], "reply": "", "tool_calls": [{"name": "OCR", "arguments": "[1]"}]}
    ),
    Event(
        "model",
        "m",
        2.0,
        0.5,
        {"messages": [GIVEN, {"role": "tool", "tool_call_id": "c9", "content": "text"}], "reply": "a \ud800 cat"},
    ),
    Event("model", "j", 3.0, 0.5, {"messages": [ASKED], "role": "--judge", "reply": "yes"}),
)


@pytest.fixture(params=["gta", "wild-mmau", "odd"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param != "odd":
        return EARLIER / request.param
    broken = replace(record(2), status="broken", score=None, error="model m: HTTP 500", cause="http 500")
    cases = [record(0, events=TALK), replace(record(0, events=TALK[:1]), attempt=2), record(1, passed=False), broken]
    return write_run(tmp_path / "run", cases, model="maker/odd:model", missing=[("toy.say", "s9")])


def schema(name: str) -> Any:
    return json.loads((HERE / "schemas" / f"{name}.json").read_text())


def written(run: Path, name: str, output: Path) -> list[Path]:
    omitted = Omitted()
    files = writer(name)(run, output, omitted, TASKS)
    assert [each for each in omitted.sentences("x") if not each.startswith("the gold")] == []
    return files


def lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_every_eval_ever_keeps_to_the_published_schemas(run: Path, tmp_path: Path) -> None:
    figures, instances = Draft7Validator(schema("every_eval_ever")), Draft7Validator(schema("every_eval_ever_instance"))
    files = written(run, "every-eval-ever", tmp_path / "out")
    attempted = (run / "records.jsonl").read_bytes().count(b"\n")
    counted = 0
    for main, samples in zip(files[::2], files[1::2], strict=True):
        told, rows = json.loads(main.read_bytes()), lines(samples)
        figures.validate(told)
        for row in rows:
            instances.validate(row)
        detailed = told["detailed_evaluation_results"]
        assert tmp_path / "out" / detailed["file_path"] == samples == main.with_name(f"{main.stem}_samples.jsonl")
        assert detailed["total_rows"] == len(rows)
        assert detailed["checksum"] == hashlib.sha256(samples.read_bytes()).hexdigest()
        results = {one["evaluation_result_id"] for one in told["evaluation_results"]}
        assert {row.get("evaluation_result_id") for row in rows} <= results | {None}
        assert {row["evaluation_id"] for row in rows} == {told["evaluation_id"]}
        counted += len(rows)
    assert counted == attempted


def test_every_eval_ever_has_intervals_gold_and_answers(tmp_path: Path) -> None:
    files = written(EARLIER / "wild-mmau", "every-eval-ever", tmp_path / "out")
    assert sorted({file.relative_to(tmp_path / "out").as_posix().rpartition("/")[0] for file in files}) == [
        "data/apple-mmau/unknown/m",
        "data/wildtoolbench/unknown/m",
    ]
    main, samples = (file for file in files if "wildtoolbench" in str(file))
    results = {one["evaluation_result_id"]: one for one in json.loads(main.read_bytes())["evaluation_results"]}
    details = results["wild.Task"]["score_details"]
    assert details["uncertainty"]["confidence_interval"]["lower"] < details["score"]
    assert "bundled samples" in details["details"]["not_comparable"]
    row = lines(samples)[0]
    assert (row["interaction_type"], row["evaluation_result_id"]) == ("agentic", "wild.Task")
    assert row["input"]["reference"][0].startswith("searchCatalogue(")
    assert row["answer_attribution"][0]["extracted_value"] == row["messages"][-1]["content"]


def test_every_eval_ever_has_scores_of_several_tasks(tmp_path: Path) -> None:
    main, _ = written(combined_run(tmp_path / "run"), "every-eval-ever", tmp_path / "out")
    told = json.loads(main.read_bytes())
    Draft7Validator(schema("every_eval_ever")).validate(told)
    results = {one["evaluation_result_id"]: one for one in told["evaluation_results"]}
    math = results["Apple MMAU.domains.math"]
    assert (math["evaluation_name"], math["score_details"]["score"]) == ("Apple MMAU.domains.math", 40.0)
    assert math["score_details"]["uncertainty"] == {
        "confidence_interval": {"lower": 30.0, "upper": 50.0, "confidence_level": 0.95}
    }
    assert results["Apple MMAU.capabilities.reasoning"]["score_details"]["uncertainty"] == {}
    assert "Apple MMAU.capabilities.planning" not in results  # incomplete


def test_an_odd_case_keeps_its_shape(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [record(0, events=TALK), record(1)], model="maker/odd:model")
    main, samples = written(run, "every-eval-ever", tmp_path / "out")
    assert main.parent == tmp_path / "out" / "data" / "toy" / "maker" / "odd_model"
    first, second = lines(samples)
    assert [(each["role"], each["content"]) for each in first["messages"]] == [
        ("user", "What is on it? \u2028"),
        ("assistant", ""),
        ("assistant", "gold"),
        ("tool", "text"),
        ("assistant", "a ? cat"),
    ]
    assert first["messages"][1]["tool_calls"] == [{"id": "call_0", "name": "OCR", "arguments": {"raw": "[1]"}}]
    assert first["evaluation"]["num_turns"] == 2
    assert (second["interaction_type"], second["output"], second["messages"]) == ("single_turn", {"raw": []}, None)


def test_atif_keeps_to_the_published_schema(run: Path, tmp_path: Path) -> None:
    check = Draft202012Validator(schema("atif"))
    for file in written(run, "atif", tmp_path / "out"):
        told = json.loads(file.read_bytes())
        check.validate(told)
        assert [step["step_id"] for step in told["steps"]] == [*range(1, len(told["steps"]) + 1)]
        for step in told["steps"]:
            calls = {call["tool_call_id"] for call in step.get("tool_calls", ())}
            named = {one.get("source_call_id") for one in step.get("observation", {"results": []})["results"]}
            assert named <= calls | {None}
            assert step["source"] == "agent" or not {"tool_calls", "reasoning_content", "metrics"} & step.keys()


def test_a_trajectory_has_the_models_steps_alone(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [record(0, events=TALK), record(1)])
    (file,) = written(run, "atif", tmp_path / "out")  # in the other case no model was asked
    assert file == tmp_path / "out" / "toy.say" / "s0-a1.json"
    told = json.loads(file.read_bytes())
    assert [(step["source"], step["message"], step.get("is_copied_context")) for step in told["steps"]] == [
        ("user", "What is on it? \u2028", None),
        ("agent", "", None),
        ("agent", "gold", True),
        ("agent", "a ? cat", None),
    ]
    assert told["steps"][1]["tool_calls"][0]["extra"] == {"parse_error": "the arguments are not an object"}
    assert told["steps"][2]["observation"] == {"results": [{"content": "text"}]}
    assert told["extra"]["figure"]["key"] == "toy.say.Acc" and told["extra"]["figure"]["low"] is not None
    assert (told["extra"]["status"], told["final_metrics"]["total_steps"]) == ("passed", 4)


def test_any_id_and_any_number_make_a_trajectory(tmp_path: Path) -> None:
    """Two ids whose files have too long a name, and a number that JSON has not."""
    ask = {"messages": [ASKED], "reply": "", "tool_calls": [{"name": "OCR", "arguments": '{"a": NaN}'}]}
    odd = [Event("model", "m", 1.0, 0.5, ask)]
    names = ["s/" * 100 + "1", "s/" * 100 + "2"]
    run = write_run(tmp_path / "run", [record(0, events=odd, sample=name) for name in names])
    files = written(run, "atif", tmp_path / "out")
    assert len({file.name for file in files}) == 2 and max(len(file.name) for file in files) < 255
    (call,) = json.loads(files[0].read_bytes())["steps"][1]["tool_calls"]
    assert call["arguments"] == {"raw": '{"a": NaN}'}
    assert call["extra"]["parse_error"].startswith("Out of range float values are not JSON compliant")
    (samples,) = written(run, "every-eval-ever", tmp_path / "shared")[1:]
    assert len(lines(samples)) == 2


def test_a_call_and_its_result_are_one_step(tmp_path: Path) -> None:
    files = written(EARLIER / "gta", "atif", tmp_path / "out")
    told = json.loads(next(file for file in files if "e2e" in str(file)).read_bytes())
    called = [step for step in told["steps"] if step.get("tool_calls")]
    assert called
    for step in called:
        assert [one["source_call_id"] for one in step["observation"]["results"]] == [
            call["tool_call_id"] for call in step["tool_calls"]
        ]


def test_equal_runs_give_equal_files(tmp_path: Path) -> None:
    runs = [shutil.copytree(EARLIER / "wild-mmau", tmp_path / n) for n in ("one", "two")]
    for name in ("every-eval-ever", "atif"):
        one, two = (
            {file.relative_to(run / name): file.read_bytes() for file in written(run, name, run / name)} for run in runs
        )
        assert one == two and one
