"""The same predictions give the same summary, and settings stay with their run."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from agentgauge_reports.export import export
from agentgauge_reports.merge import merge

from agentgauge.agent.dialects.registry import OURS
from agentgauge.core.errors import UsageProblem
from agentgauge.core.registry import Registry
from tests.plugin.project import PYTEST, ROOT, WILD, Project, python, records, run_gta, run_wild, summary, without_times
from tests.plugin.toy import TOY

# -- The same predictions give the same summary, byte for byte apart from times, however the run is made.


def text_without_times(folder: Path) -> str:
    return re.sub(r'"seconds": [0-9.e-]+', '"seconds": 0', (folder / "summary.json").read_text())


WAYS = {
    "n4": ("-n", "4"),
    "no look-ahead": ("--in-flight", "1"),
    "n2, no look-ahead": ("-n", "2", "--in-flight", "2"),
}


@pytest.mark.parametrize("way", WAYS)
def test_workers_and_look_ahead_change_nothing(project, model, way):
    project.run(*model, "--run-dir", "one")
    # started for real, since runs in this process, and those that are forked from one, share a seed of hashes
    result = project.run_process(*model, *WAYS[way], "--run-dir", "two", env={"PYTHONHASHSEED": "7"})
    assert text_without_times(project.path / "two") == text_without_times(project.path / "one"), result.output


def test_a_rescored_run_is_the_same_and_asks_no_model(project, model, endpoint):
    project.run(*model, "--run-dir", "one")
    asked = len(endpoint.requests)
    result = project.run("--rescore", "one", "--run-dir", "two")
    assert result.status == 0, result.output
    assert text_without_times(project.path / "two") == text_without_times(project.path / "one")
    assert len(endpoint.requests) == asked


@pytest.mark.uses("recording")
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_a_replayed_run_is_the_same_and_asks_no_model(project, model, endpoint, workers):
    project.run(*model, *workers, "--record", "tape.jsonl", "--run-dir", "one")
    asked = len(endpoint.requests)
    result = project.run("--replay", "tape.jsonl", *workers, "--run-dir", "two")
    assert result.status == 0, result.output
    assert text_without_times(project.path / "two") == text_without_times(project.path / "one")
    assert len(endpoint.requests) == asked


@pytest.mark.uses("recording")
def test_a_cassette_of_an_earlier_version_gives_the_same_run_and_stays_as_it_is(project, model):
    project.run(*model, "--run-dir", "one")
    shutil.copy(
        ROOT / "tests" / "plugins" / "recording" / "earlier" / "toy-1.jsonl", tape := project.path / "tape.jsonl"
    )
    before = tape.read_bytes()
    result = project.run("--replay", "tape.jsonl", "-n", "2", "--run-dir", "two")
    assert result.status == 0, result.output
    assert text_without_times(project.path / "two") == text_without_times(project.path / "one")
    assert tape.read_bytes() == before


@pytest.mark.uses("recording")
def test_an_exchange_that_the_cassette_lacks_breaks_its_case_and_is_never_asked_live(project, model, endpoint):
    project.run(*model, "--limit", "3", "--record", "tape.jsonl", "--run-dir", "one")
    asked = len(endpoint.requests)
    result = project.run("--replay", "tape.jsonl", "--run-dir", "two")
    assert result.status == 1
    assert result.summary("two")["tasks"]["toy.say"]["broken"] == 3
    assert len(endpoint.requests) == asked


def test_a_case_without_a_transcript_stays_missing_when_a_run_is_scored_again(project, model):
    project.run(*model, "--run-dir", "one")
    lose_records(project.path / "one", keep=4)
    result = project.run("--rescore", "one", "--run-dir", "two")
    task = result.summary("two")["tasks"]["toy.say"]
    assert (task["planned"], task["missing"], task["broken"]) == (6, 2, 0)
    assert result.status == 1
    assert "2 cases are missing" in result.output


def lose_records(run: Path, keep: int) -> None:
    """As if the machine had gone down before anything was merged: only the first records are there, and the next one
    is torn."""
    lines = (run / "records.jsonl").read_bytes().splitlines(keepends=True)
    (run / "records").mkdir()
    (run / "records" / "main.jsonl").write_bytes(b"".join(lines[:keep]) + b"".join(lines[keep : keep + 1])[:50])
    for name in ("records.jsonl", "summary.json", "leaderboard.md"):
        (run / name).unlink()


@pytest.mark.parametrize("selection", [(), ("-k", "odd"), ("--limit", "4")], ids=["all", "keyword", "limit"])
def test_a_resumed_run_completes_its_own_plan(project, model, selection):
    project.run(*model, *selection, "--run-dir", "one")
    expected = text_without_times(project.path / "one")
    lose_records(project.path / "one", keep=1)
    result = project.run("--resume", "one")
    assert result.status == 0, result.output
    assert text_without_times(project.path / "one") == expected


# GTA-Atomic with its real tools, in both dialects


@pytest.mark.uses("recording")
@pytest.mark.parametrize("dialect", ["native", "react"])
def test_gta_gives_the_same_summary_every_way(tmp_path, dialect):
    common = ("--model", "baseline", "--dialect", dialect, "--limit", "2")
    run_gta(*common, "--record", "tape.jsonl", "--run-dir", "serial", cwd=tmp_path)
    expected = text_without_times(tmp_path / "serial")
    run_gta(*common, "-n", "2", "--run-dir", "n2", cwd=tmp_path)
    run_gta("--replay", "tape.jsonl", "--limit", "2", "--run-dir", "replayed", cwd=tmp_path)
    run_gta("--rescore", "serial", "--run-dir", "rescored", cwd=tmp_path)
    lose_records(tmp_path / "serial", keep=3)
    run_gta("--resume", "serial", cwd=tmp_path)
    for way in ("n2", "replayed", "rescored", "serial"):
        assert text_without_times(tmp_path / way) == expected, way


@pytest.mark.parametrize("dialect", ["react", *OURS])
def test_the_oracle_passes_in_the_syntax_of_every_family(tmp_path, dialect):
    """GTA-Atomic step by step and the whole of WildToolBench: the embedded server writes the gold in the family's own
    syntax, and we read it. Under parity Llama's tasks with parallel calls are lost, as in the published runs."""
    chosen = (WILD[-1], "-m", "gta_atomic_step or wild", *(("--scoring", "strict") if dialect == "llama" else ()))
    run_gta(*chosen, "--model", "oracle", "--dialect", dialect, "--run-dir", "run", cwd=tmp_path)
    tasks = summary(tmp_path / "run")["tasks"]
    step, wild = (tasks[name] for name in ("gta_atomic.step", "wild"))
    assert (step["passed"], step["metrics"]["ArgAcc"]["value"]) == (step["planned"], 100)
    assert [wild["metrics"][name]["value"] for name in ("Task", "Session")] == [100, 100]


@pytest.mark.parametrize(
    ("dialect", "selection"),
    [
        ("native", ("-m", "not gta_workflow")),
        ("react", ("--limit", "6")),
        ("xlam", ("-m", "not gta_workflow", "--limit", "6")),
    ],
)
def test_the_oracle_reaches_100_in_every_column_with_real_tools(tmp_path, dialect, selection, tool_server):
    """The first starts tools of its own. GTA-Workflow with function calls: ``test_workflow.py``. Few cases may leave a
    column empty."""
    tools = () if dialect == "native" else ("--tool-server", tool_server)
    run_gta("--model", "oracle", "--dialect", dialect, *selection, *tools, "-n", "2", "--run-dir", "run", cwd=tmp_path)
    tasks = Registry.installed()
    for task, part in summary(tmp_path / "run")["tasks"].items():
        assert part["passed"] == part["planned"]
        # a good result that holds the word "error" fails its module: docs/benchmarks/gta_workflow.md#compression
        for name in part["metrics"].keys() - tasks[task].shown.counts - {"Module SR"}:
            best = 10 if name.startswith("Root Score") else 100
            value, n = part["metrics"][name]["value"], part["metrics"][name]["n"]
            assert value == pytest.approx(best, abs=0.01) or (n == 0 and "--limit" in selection), name


# -- What a run was given is stored once, and holds for it whenever it is resumed, scored again, merged or exported.


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
        stream.write("import pathlib\nTOY.data.bundled = pathlib.Path(__file__).parent / 'toy'\n")
    assert "holds other data of toy.say than" in run(project, "--rescore=run", status=4)


def test_merge_takes_the_data_that_the_shards_used(tmp_path, model, monkeypatch):
    project = Project.make(tmp_path / "project")
    there = other_words(project)
    for shard in ("odd", "even"):
        run(project, *model, f"--data={there}", "-k", shard, f"--run-dir={shard}")
    monkeypatch.chdir(project.path)
    tasks = Registry([TOY])
    assert merge([Path("odd"), Path("even")], Path("out"), tasks=tasks)["tasks"]["toy.say"]["passed"] == 6
    with pytest.raises(UsageProblem, match=r"holds other data of toy\.say than the runs used"):
        merge([Path("odd"), Path("even")], Path("other"), "toy", tasks=tasks)
    assert not Path("other").exists()


@pytest.mark.uses("gates")
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
        export(tmp_path / "run", "wild", tmp_path / "out", "mini", tasks=Registry.installed())
