"""What a run was given is stored once, and holds for it whenever it is resumed, scored again, merged or exported."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from agentgauge_reports.export import export
from agentgauge_reports.merge import merge

from agentgauge.core.errors import UsageProblem
from agentgauge.core.task_registry import announce, known_tasks
from tests.plugin.project import PYTEST, ROOT, Project, python, records, run_wild, summary, without_times
from tests.plugin.toy import Toy


def other_words(project: Project) -> Path:
    """The toy's data in another folder, with other answers than its bundled set."""
    there = Path(shutil.copytree(project.path / "toy", project.path / "there"))
    (there / "toy.jsonl").write_text((there / "toy.jsonl").read_text().replace("word", "wort"))
    return there


def run(project: Project, *arguments: str, status: int = 0) -> str:
    """Without --data."""
    result = python(*PYTEST, *arguments, cwd=project.path)
    assert result.status == status, result.output
    return result.output


def drop_records(run: Path, keep: int) -> None:
    file = run / "records.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:keep]))


def test_a_resumed_run_keeps_its_data_again_and_again_and_is_scored_again_with_it(tmp_path, endpoint, model):
    project = Project.make(tmp_path / "project")
    there = other_words(project)
    run(project, *model, f"--data={there}", "--run-dir=run")
    expected = without_times(summary(project.path / "run"))
    about = json.loads((project.path / "run" / "run.json").read_text())["data"]["toy.say"]
    assert (about["folder"], about["official"], len(about["fingerprint"])) == (str(there), True, 16)
    for _ in range(2):
        drop_records(project.path / "run", 3)
        run(project, "--resume=run", "--model-url", endpoint.url)
        assert without_times(summary(project.path / "run")) == expected
        assert json.loads((project.path / "run" / "run.json").read_text())["data"]["toy.say"] == about
    run(project, "--rescore=run", "--run-dir=again")
    assert without_times(summary(project.path / "again")) == expected


def test_other_data_is_refused_and_data_that_moved_is_taken(tmp_path, endpoint, model):
    project = Project.make(tmp_path / "project")
    there = other_words(project)
    run(project, *model, f"--data={there}", "--run-dir=run")
    told = "toy holds other data of toy.say than "
    assert told in run(project, "--rescore=run", "--data=toy", "--run-dir=again", status=4)
    assert not (project.path / "again").exists()
    there.rename(project.path / "moved")
    gone = run(project, "--rescore=run", status=4)
    assert "the data of toy.say was in " in gone and "give --data=DIR" in gone
    run(project, "--rescore=run", "--data=moved", "--run-dir=again")
    run(project, "--resume=run", "--data=moved", "--model-url", endpoint.url)
    run(project, "--resume=run", "--model-url", endpoint.url)


def test_runs_of_earlier_versions_are_not_scored_by_the_bundled_gold(tmp_path, model):
    """Whose resumed runs forgot where their data was."""
    project = Project.make(tmp_path / "project")
    run(project, *model, f"--data={other_words(project)}", "--run-dir=run")
    about = json.loads((project.path / "run" / "run.json").read_text())
    del about["data"]
    about["settings"]["data"] = "mini"
    (project.path / "run" / "run.json").write_text(json.dumps(about))
    with (project.path / "conftest.py").open("a") as stream:
        stream.write("import pathlib\nToy.data.bundled = pathlib.Path(__file__).parent / 'toy'\n")
    assert "holds other data of toy.say than" in run(project, "--rescore=run", status=4)


def test_merge_takes_the_data_that_the_shards_used(tmp_path, model, monkeypatch):
    project = Project.make(tmp_path / "project")
    there = other_words(project)
    for shard in ("odd", "even"):
        run(project, *model, f"--data={there}", "-k", shard, f"--run-dir={shard}")
    monkeypatch.chdir(project.path)
    announce(Toy())
    try:
        assert merge([Path("odd"), Path("even")], Path("out"))["tasks"]["toy.say"]["passed"] == 6
        with pytest.raises(UsageProblem, match=r"holds other data of toy\.say than the runs used"):
            merge([Path("odd"), Path("even")], Path("other"), "toy")
    finally:
        del known_tasks()["toy.say"]
    assert not Path("other").exists()


def test_every_option_of_a_run_holds_when_it_is_resumed(tmp_path, endpoint, model):
    project = Project.make(tmp_path / "project")
    given = ("--scoring=strict", "--attempts=2", "--in-flight=3", "--gate=toy.say.Acc>=101", "--limit=4")
    run(project, *model, "--data=toy", *given, "--run-dir=run", status=1)
    first = json.loads((project.path / "run" / "run.json").read_text())
    drop_records(project.path / "run", 2)
    assert "3 concurrent requests" in run(project, "--resume=run", "--model-url", endpoint.url, status=1)
    again = json.loads((project.path / "run" / "run.json").read_text())
    changing = ("started", "finished")
    assert {key: value for key, value in again.items() if key not in changing} == {
        key: value for key, value in first.items() if key not in changing
    }
    assert len(records(project.path / "run")) == 8


def test_a_benchmark_with_gold_in_its_data_is_scored_by_the_data_that_was_asked(tmp_path):
    """WildToolBench: the bundled set, copied elsewhere and changed."""
    there = Path(shutil.copytree(ROOT / "bench_wild" / "mini", tmp_path / "there"))
    (file,) = there.rglob("*.jsonl")
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[1:]))
    run_wild("--model=oracle", f"--data={there}", "--limit=6", "--run-dir=run", cwd=tmp_path)
    expected = without_times(summary(tmp_path / "run"))
    drop_records(tmp_path / "run", 3)
    run_wild("--resume=run", cwd=tmp_path)
    run_wild("--rescore=run", "--run-dir=again", cwd=tmp_path)
    assert without_times(summary(tmp_path / "run")) == without_times(summary(tmp_path / "again")) == expected
    assert "holds other data of wild than" in run_wild("--rescore=run", "--data=mini", cwd=tmp_path, status=4).output
    with pytest.raises(UsageProblem, match="holds other data of wild than"):
        export(tmp_path / "run", "wild", tmp_path / "out", "mini")
