"""``--shard=K/N``: parts of a plan that any machine computes alike."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.plugins.shards.shard import parse_shard
from agentgauge.store import RunFolder
from tests.plugin.project import Result, records
from tests.plugin.test_run import WORKERS

pytestmark = pytest.mark.slow

ORDINARY = "import pytest\n\n@pytest.mark.parametrize('n', range(5))\ndef test_plain(n):\n    pass\n"


def about(run: Path) -> dict:
    return json.loads((run / "run.json").read_text())


def planned(run: Path) -> list:
    return list(RunFolder(run).plan())


@WORKERS
def test_shards_are_disjoint_and_together_the_whole_plan(project, model, workers):
    chosen = (*model, *workers, "--attempts", "2", "--limit", "4", "-k", "not s4")
    whole = ["s0", "s1", "s2", "s5"]  # s4 is left out by -k, and s3 by --limit
    found = {}
    for number in (1, 2, 3):
        result = project.run(*chosen, f"--shard={number}/3", f"--run-dir=run{number}")
        assert result.status == 0, result.output
        found[number] = planned(project.path / f"run{number}")
        assert f"agentgauge: shard {number} of 3: {len(found[number])} of 8 cases" in result.output
    assert found == {
        1: [("toy.say", sample, attempt) for sample in ("s0", "s5") for attempt in (1, 2)],
        2: [("toy.say", "s1", 1), ("toy.say", "s1", 2)],
        3: [("toy.say", "s2", 1), ("toy.say", "s2", 2)],
    }
    assert sorted(sample for cases in found.values() for _, sample, _ in cases) == sorted(whole * 2)
    told = [about(project.path / f"run{number}")["shard"] for number in (1, 2, 3)]
    assert [shard.pop("number") for shard in told] == [1, 2, 3]
    assert told[0] == told[1] == told[2]
    assert told[0] | {"plan": ""} == {"count": 3, "planned": 8, "plan": "", "tasks": ["toy.say"], "used": 3}
    assert about(project.path / "run1")["selection"]["limit"] == 4


def test_a_run_in_one_piece_is_no_shard(project, model):
    project.run(*model, "--run-dir", "run")
    assert about(project.path / "run")["shard"] is None
    assert not (project.path / "run" / "shard.json").exists()


def test_another_selection_is_another_plan(project, model):
    for name, selection in (("a", ()), ("b", ("-k", "odd"))):
        project.run(*model, *selection, "--shard=1/2", "--run-dir", name)
    a, b = (about(project.path / name)["shard"]["plan"] for name in "ab")
    assert a != b


@WORKERS
def test_a_shard_without_a_case_ends_well_and_leaves_nothing(project, model, workers):
    result = project.run(*model, *workers, "--limit", "2", "--shard=3/3", "--run-dir", "run")
    assert result.status == 0, result.output
    assert "shard 3 of 3 has none of the 2 cases; it has nothing to do and leaves no folder" in result.output
    assert not (project.path / "run").exists()


def test_where_nothing_is_selected_a_shard_says_what_pytest_says(project, model):
    result = project.run(*model, "-k", "none_such", "--shard=1/2", "--run-dir", "run")
    assert result.status == 5 and not (project.path / "run").exists(), result.output


def passed(result: Result) -> set[str]:
    return {line.split()[0] for line in result.output.splitlines() if "test_plain" in line and "PASSED" in line}


def test_each_ordinary_test_runs_in_one_shard(project, model):
    (project.path / "test_plain.py").write_text(ORDINARY)
    found = [passed(project.run(*model, "-v", f"--shard={number}/3", f"--run-dir=run{number}")) for number in (1, 2, 3)]
    assert [len(one) for one in found] == [2, 2, 1]
    assert len(set.union(*found)) == 5


@pytest.fixture
def second(project, model) -> Path:
    """The second of two shards, with half of its records."""
    project.run(*model, "--shard=2/2", "--run-dir", "run")
    run = project.path / "run"
    (run / "records.jsonl").write_text((run / "records.jsonl").read_text().partition("\n")[0] + "\n")
    return run


@WORKERS
def test_a_resumed_shard_stays_the_shard_without_being_named(project, model, second, workers):
    before = about(second)["shard"], planned(second)
    result = project.run("--resume=run", "--model-url", model[-1], *workers)
    assert result.status == 0 and "shard 2 of 2: 3 of 6 cases" in result.output, result.output
    assert (about(second)["shard"], planned(second)) == before
    assert len(records(second)) == 3


@WORKERS
def test_a_shard_that_was_killed_before_it_had_a_plan_is_planned_when_it_is_resumed(project, model, second, workers):
    before = about(second)["shard"], planned(second)
    for name in ("planned.json", "shard.json", "records.jsonl", "summary.json"):
        (second / name).unlink()
    result = project.run("--resume=run", "--model-url", model[-1], *workers)
    assert result.status == 0, result.output
    assert (about(second)["shard"], planned(second)) == before


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--shard=1/2",), "--shard 1/2: the run that is resumed is shard 2 of 2; leave --shard out"),
        (("--shard=2/3",), "--shard 2/3: the run that is resumed is shard 2 of 2; leave --shard out"),
        pytest.param(("--gate=toy.say.Acc>=1",), "would judge shard 2 of 2 by a part", marks=pytest.mark.uses("gates")),
    ],
)
def test_a_resumed_shard_is_no_other(project, model, second, options, says):
    result = project.run("--resume=run", *options)
    assert result.status == 4 and says in result.output, result.output


def test_a_resumed_run_in_one_piece_is_no_shard(project, model):
    project.run(*model, "--run-dir", "run")
    result = project.run("--resume=run", "--shard=1/2")
    assert result.status == 4 and "the run that is resumed is no shard; leave --shard out" in result.output
    same = shutil.copytree(project.path / "run", project.path / "same")
    assert project.run("--resume=same", "--model-url", model[-1]).status == 0
    assert about(same)["shard"] is None


def test_cases_are_collected_by_shard(project):
    result = project.run("--collect-only", "-q", "--shard=2/2")
    assert [line for line in result.output.splitlines() if "::" in line] == [
        f"test_toy.py::test_say[s{number}]" for number in (1, 3, 5)
    ]


SHUFFLED = """
import random

def pytest_collection_modifyitems(items):
    random.shuffle(items)
"""


def test_a_plugin_that_shuffles_tests_changes_no_shard(project, model):
    with (project.path / "conftest.py").open("a") as stream:
        stream.write(SHUFFLED)
    (project.path / "test_plain.py").write_text(ORDINARY)
    found = []
    for number in (1, 2):
        result = project.run(*model, f"--shard={number}/2", f"--run-dir=run{number}", "-v")
        assert result.status == 0, result.output
        found += [sample for _, sample, _ in planned(project.path / f"run{number}")]
        found += [word for word in result.output.split() if word.startswith("test_plain.py::")]
    assert sorted(found) == [f"s{number}" for number in range(6)] + [
        f"test_plain.py::test_plain[{number}]" for number in range(5)
    ]


@pytest.mark.parametrize("text", ["0/4", "5/4", "a/b", "2"])
def test_what_names_no_shard(text):
    with pytest.raises(UsageProblem, match=f"--shard '{text}' names no shard; give its number, from 1, and how many"):
        parse_shard(text)


def test_a_run_that_is_scored_again_has_a_plan(project):
    result = project.run("--shard=1/2", "--rescore=a")
    assert result.status == 4 and "--shard and --rescore cannot be used together" in result.output, result.output


@pytest.mark.uses("gates")
def test_a_shard_is_held_against_no_gate(project):
    result = project.run("--shard=1/2", "--gate=toy.say.Acc>=1")
    says = "--gate 'toy.say.Acc>=1' would judge shard 1 of 2 by a part"
    assert result.status == 4 and says in result.output, result.output
