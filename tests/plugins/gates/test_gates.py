"""Gates: what they may say, and what they make of a run."""

from __future__ import annotations

import json
import re

import pytest
from agentgauge_reports.gates.gates import Regression, Threshold, parse_gate
from agentgauge_reports.gates.verdict import check_gate

from agentgauge.core.errors import UsageProblem
from agentgauge.core.estimate import MetricFormula
from agentgauge.core.registry import Registry
from tests.model.fault_server import FaultServer, answer
from tests.plugin.conftest import say
from tests.plugin.project import Project
from tests.plugin.toy import toy
from tests.reports.runs import PLANS, written

pytestmark = pytest.mark.slow


def with_column(name, column):
    def metrics(scoring):
        return MetricFormula(lambda sums: {column: None}, {})

    return toy(name=name, metrics=metrics, shown={"columns": (column,)})


TASKS = Registry([*Registry.installed(), with_column("gta_atomic", "Acc"), with_column("wild", "Task")])
SUMMARY = {"tasks": {PLANS: {"metrics": {"Accuracy": {"value": 40.0}, "Format Errors": {"value": None}}}}}
BEFORE = {f"s{number}": [True] for number in range(12)}
AFTER = {sample: [number > 6] for number, sample in enumerate(BEFORE)}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "before", {PLANS: BEFORE})
    return tmp_path


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "AnsAcc is nice",
            "--gate 'AnsAcc is nice' cannot be read; write TASK.METRIC, one of >= <= == > <, and a number, such as ",
        ),
        ("no regression against before", "or 'no significant regression against RUN'"),
        ("toy.sing.Acc>=1", "names no known task; known are gta_atomic, "),
        ("wild.F1>=1", "wild has no metric 'F1'; it has Task"),
        (
            "no significant regression against",
            "names no run; end it with the folder of the run to compare with, such as runs/before",
        ),
        ("no significant regression against none", "none is not a run folder"),
        ("sing no significant regression against before", "names no known task; known are"),
        ("wild.F1 no significant regression against before", "wild has no metric 'F1'; it has Task"),
        (
            f"{PLANS}.Format Errors no significant regression against before",
            f"Format Errors is not tested for regressions; of {PLANS} these are: Accuracy",
        ),
    ],
)
def test_a_gate_that_cannot_be_read_is_refused_in_a_sentence(here, text, says):
    with pytest.raises(UsageProblem) as refused:
        parse_gate(text, TASKS)
    assert says in str(refused.value) and str(refused.value).startswith(f"--gate {text!r}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "task", "metric"),
    [
        ("no significant regression against before", "", ""),
        ("  no significant regression  against   before ", "", ""),
        (f"{PLANS} no significant regression against before", PLANS, ""),
        (f"{PLANS}.Accuracy no significant regression against before", PLANS, "Accuracy"),
        ("gta_atomic.e2e.AnsAcc no significant regression against before", "gta_atomic.e2e", "AnsAcc"),
    ],
)
def test_a_regression_may_be_of_all_of_a_task_or_of_a_metric(here, text, task, metric):
    assert parse_gate(text, TASKS) == Regression(" ".join(text.split()), here / "before", task, metric)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{PLANS}.Accuracy>=40", None),
        (f"{PLANS}.Accuracy > 40", f"gate {PLANS}.Accuracy > 40: Accuracy is 40.00"),
        (f"{PLANS}.Format Errors<=1", f"gate {PLANS}.Format Errors<=1: Format Errors has no value in this run"),
        ("wild.Task>=1", "gate wild.Task>=1: the task wild was not run"),
    ],
)
def test_a_number_is_compared_with_the_summary(here, text, problem):
    gate = parse_gate(text, TASKS)
    assert isinstance(gate, Threshold)
    assert check_gate(gate, SUMMARY, here, TASKS) == (problem, "")


@pytest.mark.parametrize("what", ["", f"{PLANS} ", f"{PLANS}.Accuracy "])
@pytest.mark.parametrize(
    ("lost", "gained", "holds"),
    # one-sided: 4 of 4 is p 1/16, 5 of 5 is 1/32; 6 of 7 is 8/128
    [(0, 0, True), (4, 0, True), (5, 0, False), (6, 1, True), (7, 1, False), (0, 9, True)],
)
def test_a_fall_fails_the_gate_where_it_is_significant(here, what, lost, gained, holds):
    before = {f"s{number}": [number < lost or number > 15] for number in range(20)}
    after = {f"s{number}": [lost <= number < lost + gained or number > 15] for number in range(20)}
    written(here / "old", {PLANS: before})
    written(here / "new", {PLANS: after})
    problem, _ = check_gate(parse_gate(f"{what}no significant regression against old", TASKS), {}, here / "new", TASKS)
    assert (problem is None) == holds


def test_the_message_has_metric_difference_interval_and_p(here):
    written(here / "new", {PLANS: AFTER})
    problem, _ = check_gate(parse_gate("no significant regression against before", TASKS), {}, here / "new", TASKS)
    # seven of twelve pairs fell: p = 1 / 2**7; -50 ± 2.160 * 17.4 with two further pairs
    assert (
        problem == f"gate no significant regression against before: {PLANS}.Accuracy fell from 100.00 to 41.67 "
        "(-58.33, 95 % interval -87.6 to -12.4; p 0.008 one-sided, Holm-corrected; 12 pairs)"
    )


@pytest.mark.parametrize(
    ("samples", "says"),
    [
        # two pairs and two that swing fully: t of 3 degrees of freedom times an error of 40.8, more than all there is
        (2, "these runs are too small to show any fall"),
        # (2.160 + 0.842) * 10.48, and one pair of twelve
        (
            12,
            "a fall of 39.8 points in a figure tested alone would have been found in about four of five cases; a"
            " smaller one could have gone unseen",
        ),
    ],
)
def test_a_gate_that_holds_says_what_it_would_have_found(here, samples, says):
    same = {f"s{number}": [number % 2 == 0] for number in range(samples)}
    for name in ("old", "new"):
        written(here / name, {PLANS: same})
    gate = parse_gate(f"{PLANS} no significant regression against old", TASKS)
    assert check_gate(gate, {}, here / "new", TASKS) == (None, says)


@pytest.mark.parametrize(
    ("small", "figures", "rest"),
    [
        (0, "2 figures, each tested alone,", ""),
        (1, "a figure tested alone", "; 1 figure rests on too few samples to show any"),
    ],
)
def test_a_gate_tells_figures_of_too_few_samples_apart(here, small, figures, rest):
    same = {f"s{number}": [number % 2 == 0] for number in range(12)}
    other = {"s0": [True], "s1": [False]} if small else same
    for name in ("old", "new"):
        written(here / name, {PLANS: same, "mmau.dag_reasoning": other})
    says = f"a fall of 39.8 points in {figures} would have been found in about four of five cases; a smaller one could"
    gate = parse_gate("no significant regression against old", TASKS)
    assert check_gate(gate, {}, here / "new", TASKS) == (None, f"{says} have gone unseen{rest}")


def test_each_task_that_is_tested_makes_a_significant_fall_harder_to_show(here):
    five = {f"s{number}": [number > 4] for number in range(12)}
    other = "mmau.dag_reasoning"
    written(here / "both", {PLANS: BEFORE, other: BEFORE})
    written(here / "new", {PLANS: five, other: five})
    text = "no significant regression against both"
    assert check_gate(parse_gate(text, TASKS), {}, here / "new", TASKS)[0] is None
    assert check_gate(parse_gate(f"{PLANS} {text}", TASKS), {}, here / "new", TASKS)[0] is not None


@pytest.mark.parametrize(
    ("tasks", "change", "what", "says"),
    [
        (
            {PLANS: {"other": [True]}},
            (),
            "",
            f"the runs share no finished sample of {PLANS}, so they cannot be compared",
        ),
        (
            {PLANS: {"s1": ["broken"]}},
            (),
            "",
            f"the runs share no finished sample of {PLANS}, so they cannot be compared",
        ),
        ({"mmau.dag_reasoning": BEFORE}, (), "", "no task is in both runs, so they cannot be compared"),
        (
            {PLANS: BEFORE},
            (),
            "mmau.dag_reasoning ",
            "mmau.dag_reasoning is not in both runs, so they cannot be compared",
        ),
        (
            {PLANS: BEFORE},
            (("run/scoring", "strict"),),
            "",
            "the runs cannot be compared: scoring differs: 'parity' and 'strict'",
        ),
        (
            {PLANS: BEFORE},
            ((f"run/data/{PLANS}/fingerprint", "g"),),
            "",
            f"the runs cannot be compared: {PLANS}: the data sets differ",
        ),
    ],
)
def test_runs_that_cannot_be_compared_fail_the_gate(here, tasks, change, what, says):
    written(here / "new", tasks, *change)
    text = f"{what}no significant regression against before"
    assert check_gate(parse_gate(text, TASKS), {}, here / "new", TASKS) == (f"gate {text}: {says}", "")


def test_a_run_whose_files_are_gone_fails_the_gate(here):
    gate = parse_gate("no significant regression against before", TASKS)
    (here / "before" / "records.jsonl").unlink()
    written(here / "new", {PLANS: AFTER})
    assert "records.jsonl does not exist" in str(check_gate(gate, {}, here / "new", TASKS)[0])


def test_a_run_that_is_worse_fails_with_the_reason(tmp_path):
    project = Project.make(tmp_path / "project", samples=12)
    gates = ("--gate", "no significant regression against before", "--gate", "toy.say.Acc>=0")

    def run(choose, name, *options):
        with FaultServer(choose=choose) as server:
            return project.run("--model", "m", "--model-url", server.url, "--run-dir", name, *options)

    assert run(say, "before").status == 0
    same = run(say, "same", *gates)
    assert same.status == 0
    assert "gate no significant regression against before holds: a fall of" in " ".join(same.output.split())
    worse = run(lambda seen: answer("no"), "worse", *gates)
    assert worse.status == 1
    assert (
        "gate no significant regression against before: toy.say.Acc fell from 91.67 to 0.00 (-91.67, 95 % interval"
        " -100.0 to -45.1; p <.001 one-sided, Holm-corrected; 12 pairs)" in worse.output
    )


def test_a_gate_against_a_folder_that_is_no_run_is_refused_before_collection(project):
    result = project.run("--gate", "no significant regression against nowhere")
    assert result.status == 4
    assert "nowhere is not a run folder" in result.output and "collected" not in result.output


def test_a_gate_decides_the_exit_status(project, model):
    holds, fails = ("--gate", "toy.say.Acc>=80"), ("--gate", "toy.say.Acc>=90")
    result = project.run(*model, *holds, "--gate", "toy.say.Acc<90", "--run-dir=holds")
    assert result.status == 0 and "Acc is" not in result.output, result.output
    result = project.run(*model, *holds, *fails, "--run-dir=fails")
    assert result.status == 1
    assert re.findall(r"gate toy.*: Acc is .*", result.output)[0] == "gate toy.say.Acc>=90: Acc is 83.33"
    assert json.loads((project.path / "fails" / "run.json").read_text())["gates"] == [
        {"text": "toy.say.Acc>=80", "problem": None},
        {"text": "toy.say.Acc>=90", "problem": "gate toy.say.Acc>=90: Acc is 83.33"},
    ]


def test_a_gate_that_cannot_be_checked_fails_the_run(tmp_path, monkeypatch):
    """Whatever keeps it from that."""

    def broken(*_):
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("agentgauge_reports.gates.verdict.check_gate", broken)
    project = Project.make(tmp_path / "p", 1)
    result = project.run("--model=oracle", "--run-dir=run", "--gate=toy.say.Acc>=40")
    assert result.status == 1
    assert "ZeroDivisionError: a defect" in result.output
