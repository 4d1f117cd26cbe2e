"""``agentgauge launch --matrix``: what its file may say, and runs of every combination that go on where they were."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.run.several.matrix import read_matrix
from tests.plugin.project import ROOT, Result, python, records, summary, without_times

FULL = """
models = ["a", "x/b"]
dialects = ["native", "react"]
temperatures = [0, 0.7]
arguments = ["bench", "-k", "one or two"]
"""


def read(tmp_path: Path, text: str):
    (tmp_path / "first.toml").write_text(text)
    return read_matrix(tmp_path / "first.toml")


def test_every_combination_is_a_run(tmp_path):
    matrix = read(tmp_path, FULL)
    runs = matrix.runs()
    assert [one.name for one in runs.members] == [
        *("a-native-t0", "a-native-t0.7", "a-react-t0", "a-react-t0.7"),
        *("b-native-t0", "b-native-t0.7", "b-react-t0", "b-react-t0.7"),
    ]
    words = ("bench", "-k", "one or two", "--agentgauge-dialect=react", "--agentgauge-temperature=0.7")
    assert (runs.members[-1].model, runs.members[-1].words) == ("x/b", words)
    assert (matrix.folder, matrix.together, runs.side_by_side) == ("runs/first", {}, 4)
    assert runs.totals == {"--in-flight": None}


def test_token_limits_are_a_list_like_temperatures(tmp_path):
    members = read(tmp_path, 'models = ["a"]\nmax_tokens = [48, 512]').runs().members
    assert [(one.name, one.words) for one in members] == [
        ("a-m48", ("--agentgauge-max-tokens=48",)),
        ("a-m512", ("--agentgauge-max-tokens=512",)),
    ]


@pytest.mark.uses("batch")
@pytest.mark.parametrize(("key", "in_flight"), [("", 5000), ("in_flight = 9", 9)])
def test_runs_that_send_batches_share_the_size_of_a_batch(tmp_path, key, in_flight):
    assert read(tmp_path, f'models = ["a"]\narguments = ["--batch"]\n{key}').runs().totals == {"--in-flight": in_flight}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", 'names no model; add models = ["gpt-4o", "..."]'),
        ("models = [", "is not valid TOML"),
        (
            'models = ["a"]\ndialect = ["native"]',
            "no setting 'dialect' (did you mean dialects?); accepted are",
        ),
        ('models = "a"', "models must be a list of strings, not 'a'"),
        ('models = ["a", "a"]', "models has 'a' twice; give each value once"),
        ('models = ["a"]\ntemperatures = ["hot"]', "temperatures must be a list of numbers from 0, not ['hot']"),
        ('models = ["a"]\ntemperatures = [-1]', "temperatures must be a list of numbers from 0, not [-1]"),
        ('models = ["a"]\nmax_tokens = [0]', "max_tokens must be a list of integers from 1, not [0]"),
        ('models = ["a"]\nattempts = [1.5]', "attempts must be a list of integers from 1, not [1.5]"),
        ('models = ["a"]\nattempts = [0]', "attempts must be a list of integers from 1, not [0]"),
        ('models = ["a"]\nattempts = [true]', "attempts must be a list of integers from 1, not [True]"),
        ('models = ["a"]\nside_by_side = 0', "side_by_side must be an integer from 1, not 0"),
        pytest.param(
            'models = ["a"]\nbudget = 5',
            "budget must be a string that is not empty, not 5",
            marks=pytest.mark.uses("budget"),
        ),
        ('models = ["a"]\nfolder = ""', "folder must be a string that is not empty, not ''"),
        (
            'models = ["a"]\narguments = ["--model=b"]',
            "arguments must not have --model; the file has the key models for it",
        ),
        pytest.param(
            'models = ["a"]\narguments = ["--budget=1usd"]',
            "arguments must not have --budget; the file has the key budget",
            marks=pytest.mark.uses("budget"),
        ),
        ('models = ["a"]\narguments = ["--run-dir=x"]', "--run-dir and --resume; the file has the key folder for it"),
        pytest.param(
            'models = ["a"]\narguments = ["--replay=x"]',
            "--replay and several models cannot be used together",
            marks=pytest.mark.uses("recording"),
        ),
    ],
)
def test_what_is_wrong_in_the_file_is_said_in_a_sentence(tmp_path, text, said):
    with pytest.raises(UsageProblem) as problem:
        read(tmp_path, text)
    assert said in str(problem.value)


@pytest.mark.uses("budget")
def test_the_example_can_be_read():
    matrix = read_matrix(ROOT / "examples" / "matrix.toml")
    page = (ROOT / "docs" / "comparing.md").read_text()
    settings = (ROOT / "examples" / "matrix.toml").read_text().partition("\nmodels")
    assert f"```toml\nmodels{settings[2]}```" in page
    assert len(matrix.runs().members) == len(matrix.models) * len(matrix.dialects) * len(matrix.temperatures)


def launch(project, *words: str) -> Result:
    command = ("-m", "agentgauge.cli.main", "launch", "--matrix=first.toml")
    return python(*command, *words, cwd=project.path)


@pytest.mark.slow
@pytest.mark.uses("budget")
def test_a_matrix_goes_on_where_it_was(project):
    file = project.path / "first.toml"
    text = (
        'models = ["oracle", "baseline"]\nattempts = [1, 2]\narguments = ["--data=toy", "--limit=4"]\nfolder = "out"\n'
    )
    file.write_text(f'{text}budget = "70tok"\nside_by_side = 1\nin_flight = 1\n')
    first = launch(project)
    assert first.status == 1 and "stopped early: the budget of 70tok may not cover another case" in first.output
    assert "baseline-k2: not run" in first.output
    listed = launch(project, "--dry-run").output
    assert "baseline-k2  new" in listed and "oracle-k1    finished" in listed, listed
    file.write_text(f"{text}side_by_side = 2\n")
    second = launch(project)
    assert second.status == 0, second.output
    found = {path.name: summary(path) for path in (project.path / "out").iterdir() if (path / "summary.json").exists()}
    assert sorted(found) == ["baseline-k1", "baseline-k2", "oracle-k1", "oracle-k2"]
    assert {name: part["tasks"]["toy.say"]["planned"] for name, part in found.items()} == {
        **{"baseline-k1": 4, "baseline-k2": 8, "oracle-k1": 4, "oracle-k2": 8}
    }
    assert len(records(project.path / "out" / "oracle-k2")) == 8
    assert "baseline-k2/report.html" in (project.path / "out" / "comparison.html").read_text()
    third = launch(project)
    assert third.status == 0 and "0 to do, 4 finished" in third.output
    file.write_text(text.replace("limit=4", "limit=5"))
    changed = launch(project)
    assert changed.status == 4 and "out has a run oracle-k1 with other settings than first.toml" in changed.output
    file.write_text(text.replace('"baseline"', '"baseline", "scripted:s.json"'))
    (project.path / "s.json").write_text(json.dumps({"replies": {"*": ["word1"]}}))
    more = launch(project)
    assert more.status == 0 and "2 to do, 4 finished" in more.output, more.output


@pytest.mark.slow
def test_eight_combinations_have_the_summaries_of_eight_runs_alone(project):
    words = ("--data=toy", "--limit=4")
    (project.path / "first.toml").write_text(
        'models = ["oracle", "baseline"]\ndialects = ["native", "react"]\nattempts = [1, 2]\nfolder = "out"\n'
    )
    result = launch(project, "--", *words)
    assert result.status == 0, result.output
    for model, dialect, attempts in product(("oracle", "baseline"), ("native", "react"), (1, 2)):
        name = f"{model}-{dialect}-k{attempts}"
        settings = (f"--model={model}", f"--dialect={dialect}", f"--attempts={attempts}")
        project.run(*settings, *words, f"--run-dir=alone/{name}")
        alone, beside = (project.path / place / name for place in ("alone", "out"))
        assert without_times(summary(beside)) == without_times(summary(alone)), name


@pytest.mark.slow
def test_a_setting_with_which_no_run_began_can_be_corrected(project):
    file = project.path / "first.toml"
    text = 'models = ["oracle"]\nfolder = "out"\narguments = ["--data=toy", "--limit={}"]\n'
    file.write_text(text.format("two"))
    refused = launch(project)
    assert refused.status == 4, refused.output
    assert "argument --limit: invalid int value: 'two'" in refused.output
    file.write_text(text.format(2))
    corrected = launch(project)
    assert corrected.status == 0, corrected.output


@pytest.mark.slow
def test_a_file_among_the_arguments_announces_its_tasks(project):
    cases = project.path / "cases"
    cases.mkdir()
    for name in ("conftest.py", "test_toy.py"):
        (project.path / name).rename(cases / name)
    (project.path / "first.toml").write_text(
        'models = ["oracle", "baseline"]\nfolder = "out"\n'
        'arguments = ["--data=toy", "--limit=2", "cases/test_toy.py"]\n'
    )
    result = launch(project)
    assert result.status == 0 and "results: out/comparison.html" in result.output, result.output


@pytest.mark.slow
def test_a_matrix_says_what_to_do_where_no_file_announces_a_task(project):
    (project.path / "conftest.py").rename(project.path / "announced.py")
    (project.path / "pytest.ini").write_text("[pytest]\naddopts = -p announced\npythonpath = .\n")
    (project.path / "first.toml").write_text('models = ["oracle"]\narguments = ["--data=toy", "--limit=2"]\n')
    result = launch(project)
    assert result.status == 4, result.output
    assert (
        "the file that announces the task toy.say was not found; write agentgauge --tasks FILE launch" in result.output
    )
    words = ("-m", "agentgauge.cli.main", "--tasks=announced.py", "launch", "--matrix=first.toml")
    told = python(*words, cwd=project.path)
    assert told.status == 0 and "0 to do, 1 finished" in told.output, told.output
    assert "no comparison.html: only oracle has results to compare" in told.output
