"""Apple MMAU as its users run it: all twenty tasks, several models in one case, second tries, bad data."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from agentgauge.cli.main import main
from bench_mmau.task import TASKS
from tests.mmau import records as made
from tests.plugin.project import records, run_mmau, summary

NAMES = [task.name for task in TASKS]


def data(tmp_path: Path, **changed: list[Any]) -> str:
    made.write(tmp_path / "data", **changed)
    return "data"


def script(path: Path, **replies: list[Any]) -> str:
    """A scripted model: a part of a case's name → replies."""
    path.write_text(
        json.dumps({"replies": {f"*{part}*" if part != "rest" else "*": said for part, said in replies.items()}})
    )
    return f"scripted:{path}"


def values(folder: Path, task: str) -> dict[str, float | None]:
    return {name: metric["value"] for name, metric in summary(folder)["tasks"][task]["metrics"].items()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """Every task once, by the oracle in two workers, in the folder ``run``."""
    folder = tmp_path_factory.mktemp("whole")
    options = ("--model", "oracle", "--data", data(folder), "-n", "2", "--run-dir", "run")
    run_mmau(*options, cwd=folder)
    return folder


@pytest.mark.parametrize("scoring", ["parity", "strict"])
def test_the_oracle_reaches_100_in_every_task(scoring, whole, tmp_path):
    if scoring == "parity":
        run = whole / "run"
    else:
        run = tmp_path / "run"
        options = ("--data", data(tmp_path), "--scoring", scoring, "--run-dir", "run")
        run_mmau("--model", "oracle", *options, cwd=tmp_path)
    told = summary(run)
    assert sorted(told["tasks"]) == sorted(NAMES)
    for name, task in told["tasks"].items():
        assert task["passed"] == task["planned"] > 0, name
        if name != "mmau.contest_retry":  # nothing failed, so nothing was retried
            first = next(iter(task["metrics"].values()))
            assert first["value"] == 100, name
    combined = told["capabilities"]["Apple MMAU"]
    assert combined["combined"]["mmau"]["value"] == pytest.approx(100)
    assert combined["capabilities"]["understanding"]["value"] == pytest.approx(100)
    lacking = combined["capabilities"]["self_correction_with_tool_use"]
    assert (lacking["value"], lacking["low"], lacking["high"], lacking["missing"]) == (
        None,
        None,
        None,
        ["contest_retry"],
    )
    assert not list(run.glob("*.svg"))


def test_a_capability_with_missing_tasks_has_no_value(tmp_path):
    result = run_mmau(
        "--model", "oracle", "--data", data(tmp_path), "-m", "mmau_math_standard", "--run-dir", "run", cwd=tmp_path
    )
    combined = summary(tmp_path / "run")["capabilities"]["Apple MMAU"]
    assert combined["domains"]["math"]["value"] == 100
    assert combined["combined"]["mmau"]["value"] is None
    assert combined["capabilities"]["planning"]["missing"] == ["dag_planning", "contest_planner", "math_planner"]
    assert "incomplete" not in result.output  # the screen says what concerns the selection, and the file all
    assert "math                               100.00" in result.output
    assert "Apple MMAU: 12 combined scores need tasks that were not selected" in result.output
    listed = (tmp_path / "run" / "leaderboard.md").read_text()
    assert "| capabilities: planning | – | dag_planning, contest_planner, math_planner |" in listed


@pytest.mark.parametrize("keyword", ["planner-shift", "planner_shift"])
def test_what_the_tested_model_does_is_a_keyword(tmp_path, keyword):
    listed = run_mmau("--model", "oracle", "--data", data(tmp_path), "--co", "-q", "-k", keyword, cwd=tmp_path).output
    functions = {line.partition("[")[0].rpartition("/")[2] for line in listed.splitlines() if "[" in line}
    assert functions == {"test_contests.py::test_planner", "test_mathematics.py::test_planner"}


def test_who_plans_and_who_solves(tmp_path):
    """Two scripted models: the tested one's plan reaches the solver, and only the solver's programs are run."""
    tested = script(tmp_path / "tested.json", rest=["Plan of the tested model."])
    solver = script(tmp_path / "solver.json", contest=["print(int(input()) ** 2)"], rest=["#ANSWER#: 7"])
    result = run_mmau(
        "--model", tested, "--mmau-solver", solver, "--data", data(tmp_path), "--run-dir", "run",
        "-m", "mmau_contest_planner or mmau_math_planner", cwd=tmp_path,
    )  # fmt: skip
    assert f"agentgauge: --mmau-solver: {solver}\n" in result.output and "--mmau-planner" not in result.output
    assert values(tmp_path / "run", "mmau.contest_planner")["Pass Rate"] == 100
    assert values(tmp_path / "run", "mmau.math_planner")["Accuracy"] == pytest.approx(100 / 3)  # 7 is right once
    for record in records(tmp_path / "run"):
        asked = [event for event in record["transcript"]["events"] if event["kind"] == "model"]
        assert asked[0]["name"] == tested
        assert asked[0]["detail"]["reply"] == "Plan of the tested model."
        assert asked[1]["name"] == solver
        assert "Plan of the tested model." in json.dumps(asked[1]["detail"]["messages"])
        if record["task"] == "mmau.math_planner":
            assert asked[2]["name"] == "oracle"  # the judge
        else:
            assert len(asked) == 6  # five programs


def test_a_plan_of_another_model_is_solved_by_the_tested_one(tmp_path):
    planner = script(tmp_path / "planner.json", rest=["Plan of another."])
    tested = script(tmp_path / "tested.json", rest=["#ANSWER#: 14"])
    run_mmau(
        "--model",
        tested,
        "--mmau-planner",
        planner,
        "--data",
        data(tmp_path),
        "-m",
        "mmau_math_solver",
        "--run-dir",
        "run",
        cwd=tmp_path,
    )
    assert values(tmp_path / "run", "mmau.math_solver")["Accuracy"] == pytest.approx(100 / 3)
    asked = [event["name"] for event in records(tmp_path / "run")[0]["transcript"]["events"]]
    assert asked == [planner, tested, "oracle"]


def test_a_second_try_after_a_failure(tmp_path):
    """Five programs fail, the model is told why, and the next five are right for one of two problems."""
    wrong, right = "```python\nprint(int(input()) + 2)\n```", "print(int(input()) ** 2)"
    tested = script(tmp_path / "tested.json", cc_2=[right], cc_3=[*[wrong] * 5, right])
    run_mmau("--model", tested, "--data", data(tmp_path), "-m", "mmau_contest_retry", "--run-dir", "run", cwd=tmp_path)
    figures = values(tmp_path / "run", "mmau.contest_retry")
    assert figures == {"Pass Rate": 100, "Average Score": 100, "First Pass Rate": 50, "Retried": 1}
    retried = next(record for record in records(tmp_path / "run") if record["sample"] == "cc_3")
    told = retried["transcript"]["events"][5]["detail"]["messages"][-1]["content"]
    assert "wrong output" in told and "Expected output:\n9" in told and "Output of your program:\n5" in told


def test_notebooks_that_fail_and_are_written_again(tmp_path):
    broken, good = '[{"cell_type": "code", "metadata": {}, "source": ["1/0\\n"]}]', json.dumps(made.CELLS)
    tested = script(tmp_path / "tested.json", k1=[broken, good, '["B"]'], k2=[broken, broken])
    run_mmau(
        "--model",
        tested,
        "--data",
        data(tmp_path),
        "-m",
        "mmau_ds_retry or mmau_ds_e2e",
        "--run-dir",
        "run",
        cwd=tmp_path,
    )
    assert values(tmp_path / "run", "mmau.ds_e2e")["Executed"] == 0
    again = values(tmp_path / "run", "mmau.ds_retry")
    assert (again["Executed"], again["Accuracy"]) == (50, 50)
    told = [
        record for record in records(tmp_path / "run") if record["task"] == "mmau.ds_retry" and record["sample"] == "k1"
    ]
    assert "ZeroDivisionError" in json.dumps(told[0]["transcript"]["events"][1]["detail"]["messages"])


def test_the_qa_model_answers_for_the_tested_one(tmp_path):
    tested = script(tmp_path / "tested.json", rest=[json.dumps(made.CELLS)])
    qa = script(tmp_path / "qa.json", k1=['["B"]'], k2=['["A"]'])
    run_mmau(
        "--model",
        tested,
        "--mmau-qa",
        qa,
        "--data",
        data(tmp_path),
        "-m",
        "mmau_ds_codegen",
        "--run-dir",
        "run",
        cwd=tmp_path,
    )
    assert values(tmp_path / "run", "mmau.ds_codegen")["Accuracy"] == 50


def test_a_part_needs_a_model_that_is_known(tmp_path):
    output = run_mmau(
        "--model", "oracle", "--mmau-judge", "orcale", "--data", data(tmp_path), cwd=tmp_path, status=4
    ).output
    assert "--mmau-judge: " in output
    assert "oracle" in output


def test_replies_on_which_the_published_evaluator_stops(tmp_path):
    """A call where a text is expected: parity counts an invalid reply and a stop, strict reads an empty text."""
    call = {"tool_calls": [{"name": "book", "arguments": {}}]}
    tested = script(tmp_path / "tested.json", rest=[call])
    options = ("--model", tested, "--data", data(tmp_path))
    output = run_mmau(*options, "-v", "--run-dir", "parity", cwd=tmp_path).output
    assert "the published evaluator stops on replies of 3 cases" in " ".join(output.split())
    found = summary(tmp_path / "parity")["tasks"]
    assert {name for name, task in found.items() if task["broken"] or task["missing"]} == set()
    assert {name: task["stops"] for name, task in found.items()} == {
        name: 0 if name.startswith("mmau.tool_") else found[name]["planned"] for name in NAMES
    }
    assert values(tmp_path / "parity", "mmau.math_standard")["Accuracy"] == 0, "null stays in the denominator"
    assert (tmp_path / "parity" / "leaderboard.md").is_file()
    run_mmau(*options, "-m", "mmau_dag_planning", "--scoring", "strict", "--run-dir", "strict", cwd=tmp_path)
    assert values(tmp_path / "strict", "mmau.dag_planning")["Accuracy"] == 0
    assert summary(tmp_path / "strict")["tasks"]["mmau.dag_planning"]["stops"] == 0


def test_a_judge_that_sends_nothing_is_at_fault(tmp_path):
    """The case is broken and not wrong, so that a resumed run asks again."""
    tested = script(tmp_path / "tested.json", rest=["#ANSWER#: 7"])
    judge = script(tmp_path / "judge.json", rest=[{"message": {"role": "assistant", "content": None}}])
    options = ("--data", data(tmp_path), "-m", "mmau_math_comprehend", "--run-dir", "run")
    output = run_mmau("--model", tested, "--mmau-judge", judge, *options, cwd=tmp_path, status=1).output
    assert "broken: 1 × judge silent" in output
    assert "the judge sent no text" in output


BAD = [
    ("math_standard", ["{broken"], "damaged in line 1"),
    ("math_standard", [[1]], "line 1: must be a JSON object"),
    ("math_standard", [{**made.mathematics(1), "id": ""}], "id (or deliverable_id) must be a string, not ''"),
    ("math_standard", [made.mathematics(1), made.mathematics(1)], "the id 'm1' occurs twice"),
    (
        "math_standard",
        [{**made.mathematics(1), "gt_answer": None}],
        "gt_answer must be of type str or int or float, not null",
    ),
    ("math_standard", [{**made.mathematics(1), "async_index": 1}], "async_index is reserved"),
    ("math_understand", [{**made.mathematics(1), "messages": []}], "messages must be a list of chat messages"),
    ("tool_use_self_correct", [{**made.tools("x")[0], "target_message": None}], "target_message must be of type dict"),
    (
        "tool_use_plan_with_reasoning_all",
        [{**made.plans()[0], "target_plan_number": True}],
        "target_plan_number must be of type",
    ),
    ("code_contests_regular", [made.contest(2, id="cc:2")], "the id must not contain a colon"),
    ("code_contests_solve", [made.contest(2, public_tests={"input": ["1"], "output": []})], "1 inputs and 0 outputs"),
    ("code_contests_plan", [made.contest(2, description=None)], "description must be of type str"),
    ("code_kaggle", [made.turn(1, gt_answers=[])], "1 questions and 0 gt_answers"),
    ("code_kaggle", [made.turn(1, notebook=[])], "notebook must be of type dict"),
]


@pytest.mark.parametrize(("file", "lines", "message"), BAD, ids=[message for _, _, message in BAD])
def test_bad_data_is_refused(file, lines, message, tmp_path, capsys):
    made.write(tmp_path / "data", **{file: lines})
    tasks = [
        task
        for task in TASKS
        if (found := task.data.find(tmp_path / "data")) and task.data.kind.shown.startswith(file[:16]) and found
    ]
    told = []
    for task in tasks:
        assert main(["data", "check", task.name, "--data", str(tmp_path / "data")]) in (0, 4)
        told.append(capsys.readouterr().err)
    assert any(message in text and f"{file}_20240712.jsonl" in text for text in told), told


def test_files_of_two_names_for_one_task(tmp_path, capsys):
    made.write(tmp_path / "data")
    (tmp_path / "data" / "math_standard_20250101.jsonl").write_text("{}\n")
    assert main(["data", "check", "mmau.math_standard", "--data", str(tmp_path / "data")]) == 4
    assert "2 files for one task" in capsys.readouterr().err
    assert main(["data", "check", "mmau.math_standard", "--data", str(tmp_path)]) == 4
    assert "looked for math_standard_*.jsonl" in capsys.readouterr().err


@pytest.fixture(scope="module")
def exported(whole) -> list[Path]:
    """The files of all tasks, as the command names them."""
    command = ("report", whole / "run", "--format", "mmau", "--output", whole / "out", "--data", whole / "data")
    with redirect_stdout(StringIO()) as told:
        assert main(list(map(str, command))) == 0
    return [Path(line) for line in told.getvalue().splitlines()]


@pytest.mark.parametrize(
    "task",
    ["mmau.tool_single", "mmau.dag_planning", "mmau.contest_standard", "mmau.contest_parsing", "mmau.math_standard"],
)
def test_an_exported_run_scores_the_same(task, whole, exported, capsys):
    (file,) = (file for file in exported if file.name == f"oracle_{task.removeprefix('mmau.')}_response.jsonl")
    assert main(["score", task, "--predictions", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"] == values(whole / "run", task)


@pytest.mark.parametrize("task", ["mmau.ds_e2e", "mmau.contest_planner", "mmau.math_planner"])
def test_a_response_file_that_says_only_half(task, tmp_path, capsys):
    (tmp_path / "file.jsonl").write_text('{"id": "1", "response": "{}"}\n')
    assert main(["score", task, "--predictions", str(tmp_path / "file.jsonl")]) == 4
    assert "cannot be scored by itself" in capsys.readouterr().err


SAID = "#ANSWER#: 7"
SHAPES = {
    "openai": {"choices": [{"index": 0, "message": {"role": "assistant", "content": SAID}}]},
    "anthropic": {"role": "assistant", "type": "message", "content": [{"type": "text", "text": SAID}]},
    "gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": SAID, "thought": None}]}}]},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_response_files_of_every_client(shape, tmp_path, capsys):
    line = {**made.mathematics(1), "response": json.dumps(SHAPES[shape])}
    (tmp_path / "file.jsonl").write_text(json.dumps(line) + "\n")
    assert main(["score", "mmau.math_standard", "--predictions", str(tmp_path / "file.jsonl"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["Accuracy"] == 100
