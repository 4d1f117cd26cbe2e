"""Shards of a plan (``--shard``) put together: the run in one piece, or a sentence on what is missing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from agentgauge_reports.merge import merge

from agentgauge.cli.results import merge_shards as main
from agentgauge.core.errors import UsageProblem
from tests.model.fault_server import FaultServer
from tests.plugin.conftest import say
from tests.plugin.project import Project
from tests.reports.runs import TASKS
from tests.reports.test_merge import OWN, edited, reports_of

pytestmark = pytest.mark.slow

COUNT = 3


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A run of the toy benchmark with two attempts, and its shards."""
    made = Project.make(tmp_path_factory.mktemp("shards") / "project", samples=7)
    with FaultServer(choose=say) as server:
        for name, chosen in {"whole": (), **{f"shard-{n}": (f"--shard={n}/{COUNT}",) for n in (1, 2, 3)}}.items():
            result = made.run("--model=m", "--model-url", server.url, "--attempts=2", *chosen, f"--run-dir={name}")
            assert result.status == 0, result.output
    return made


@pytest.fixture(autouse=True)
def in_project(project, monkeypatch):
    monkeypatch.chdir(project.path)


@pytest.fixture
def shards(tmp_path) -> list[Path]:
    """Copies, to be changed."""
    return [Path(shutil.copytree(f"shard-{number}", tmp_path / f"shard-{number}")) for number in (1, 2, 3)]


def test_they_are_the_run_in_one_piece_in_any_order(project, shards, tmp_path):
    merge([shards[2], shards[0], shards[1]], tmp_path / "out", tasks=TASKS)
    assert reports_of(tmp_path / "out") == reports_of(Path("whole"))
    about = json.loads((tmp_path / "out" / "run.json").read_text())
    assert about["shard"] is None and about["planned"] == 14


def unfinished(run: Path) -> Path:
    (run / "summary.json").unlink()
    return edited(run, "run.json", "finished", None)


def planless(run: Path) -> Path:
    """As one that was killed while it collected."""
    for name in ("planned.json", "shard.json", "records.jsonl"):
        (run / name).unlink()
    early = {"number": 1, "count": 3, "planned": 0, "plan": None, "tasks": [], "used": 0}
    return edited(unfinished(run), "run.json", "shard", early)


@pytest.mark.parametrize(
    ("choose", "told"),
    [
        (lambda a, b, c: [a, c], "shard 2 of 3 is missing: start it with --shard, then merge all"),
        (lambda a, b, c: [b], "shards 1 and 3 of 3 are missing: start them with --shard, then merge all"),
        (
            lambda a, b, c: [a, b, c, shutil.copytree(b, b.with_name("again"))],
            "are both shard 2 of 3; name one of them",
        ),
        (lambda a, b, c: [a, b, c, Path("whole")], "shard-1 is shard 1 of 3, and whole is not a shard"),
        (lambda a, b, c: [a, edited(b, "run.json", "shard|count", 4), c], "is shard 2 of 4; merge shards of one plan"),
        (
            lambda a, b, c: [a, edited(b, "run.json", "shard|plan", "0"), c],
            "is a shard of 14 cases, and .* of 14 others",
        ),
        (lambda a, b, c: [a, unfinished(b), c], "shard 2 of 3 is not finished: continue it with --resume=.*shard-2,"),
        (lambda a, b, c: [planless(a), b, c], "shard 1 of 3 is not finished: continue it with --resume=.*shard-1,"),
        (
            lambda a, b, c: [a, unfinished(b)],
            "shard 3 of 3 is missing: .* then merge all; shard 2 of 3 is not finished: ",
        ),
        (
            lambda a, b, c: [a, edited(b, "summary.json", "run|scoring", "strict"), c],
            "are not shards of one run: scoring",
        ),
    ],
)
def test_what_does_not_belong_together_is_told_in_a_sentence(project, shards, tmp_path, choose, told):
    with pytest.raises(UsageProblem, match=told):
        merge(choose(*shards), tmp_path / "out", tasks=TASKS)
    assert not (tmp_path / "out").exists()


def test_shards_without_a_case_are_not_missed(project, tmp_path):
    with FaultServer(choose=say) as server:
        words = ("--model=m", "--model-url", server.url, "--limit=1", "--attempts=2")
        project.run(*words, f"--run-dir={tmp_path / 'one'}")
        for number in (1, 2):
            result = project.run(*words, f"--shard={number}/2", f"--run-dir={tmp_path / str(number)}")
            assert result.status == 0, result.output
    merge([tmp_path / "1"], tmp_path / "out", tasks=TASKS)
    assert reports_of(tmp_path / "out") == reports_of(tmp_path / "one")


def test_what_a_shard_did_not_do_is_missing_and_the_command_says_so(shards, tmp_path, capsys):
    (shards[0] / "records.jsonl").write_text("")
    assert main([str(tmp_path / "out"), *map(str, shards)], TASKS) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{tmp_path / 'out'}: 14 cases of 3 runs",
        f"6 missing: run them with pytest --resume={tmp_path / 'out'}",
    ]


@pytest.mark.uses("own_tests")
def test_own_tests_are_put_together(tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "test_own.py").write_text(OWN)
    project = Project(folder)
    project.run("--run-dir=whole", data="mini")
    for number in (1, 2):
        project.run(f"--shard={number}/2", f"--run-dir=run{number}", data="mini")
    merge([folder / "run1", folder / "run2"], folder / "out", tasks=TASKS)
    without = {"items", "records"}  # which have a test's seconds
    expected, found = reports_of(folder / "whole"), reports_of(folder / "out")
    assert {name: found[name] for name in found.keys() - without} == {
        name: expected[name] for name in expected.keys() - without
    }
