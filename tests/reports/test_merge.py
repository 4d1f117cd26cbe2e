"""Shards of one run put together, and other roads to the same run: every report must be that of the undisturbed run."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from agentgauge_reports.grouping import capabilities
from agentgauge_reports.items import items
from agentgauge_reports.load import load_run
from agentgauge_reports.merge import merge
from agentgauge_reports.tables import rows
from agentgauge_reports.terminal import by_keyword, tables

from agentgauge.core.case import Checkpoint
from agentgauge.core.errors import UsageProblem
from agentgauge.core.placeholders import PathPlaceholders
from agentgauge.core.types import Usage
from agentgauge.replies.stages import Stages
from agentgauge.store import RunFolder
from tests.model.fault_server import FaultServer
from tests.plugin.conftest import say
from tests.plugin.project import Project, records, run_gta
from tests.reports.runs import TASKS, page_data

pytestmark = pytest.mark.slow

SHARDS = {"whole": (), "odd": ("-k", "odd"), "even": ("-k", "even"), "first": ("--limit", "4")}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Runs of the toy benchmark with two attempts: whole, and in parts."""
    made = Project.make(tmp_path_factory.mktemp("shards") / "project")
    with FaultServer(choose=say) as server:
        for name, selection in SHARDS.items():
            result = made.run(
                "--model", "m", "--model-url", server.url, "--attempts", "2", *selection, "--run-dir", name
            )
            assert result.status == 0, result.output
    for case in records(made.path / "odd"):
        file = made.path / "odd" / "files" / "toy.say" / f"{case['sample']}-a{case['attempt']}" / "made.txt"
        file.parent.mkdir(parents=True)
        file.write_text(case["sample"])
    return made


@pytest.fixture(autouse=True)
def in_project(project, monkeypatch):
    monkeypatch.chdir(project.path)


def copied(name: str, target: Path) -> Path:
    return Path(shutil.copytree(name, target / name))


def edited(run: Path, file: str, path: str, value: object) -> Path:
    """A copy of a run's folder with one value changed."""
    told = json.loads((run / file).read_text())
    *way, last = path.split("|")
    place = told
    for key in way:
        place = place[key]
    place[last] = value
    (run / file).write_text(json.dumps(told))
    return run


def reports_of(run: Path) -> dict[str, str]:
    """Everything that is told of a run, without times."""
    files = ("summary.json", "leaderboard.md", "planned.json")  # own tests alone have no row for a leaderboard
    told = {name: (run / name).read_text() for name in files if (run / name).exists()}
    told["summary.json"] = re.sub(r'"seconds": [0-9.e-]+', '"seconds": 0', told["summary.json"])
    summary, loaded = json.loads(told["summary.json"]), load_run(run, tasks=TASKS)
    told |= {kind: rows(run, kind, tasks=TASKS) for kind in ("md", "csv", "json")}
    told["terminal"] = "\n".join([*tables(summary, TASKS), *by_keyword(loaded)])
    told["capabilities"] = json.dumps(capabilities(loaded))
    told["items"] = items([run], tasks=TASKS)
    told["records"] = json.dumps(
        [[case.id, case.status, case.score and dict(case.score.values)] for case in loaded.cases]
    )
    return told


@pytest.mark.parametrize(
    "parts", [("odd", "even"), ("even", "odd"), ("first", "odd", "even"), ("whole", "odd")], ids=" ".join
)
def test_merged_shards_are_the_run_in_one_piece(project, tmp_path, parts):
    merge([Path(part) for part in parts], tmp_path / "out", tasks=TASKS)
    assert reports_of(tmp_path / "out") == reports_of(Path("whole"))


def test_what_tools_produced_comes_along_and_the_shards_stay_as_they_are(project, tmp_path):
    before = {path: path.read_bytes() for path in Path("odd").rglob("*") if path.is_file()}
    merge([Path("odd"), Path("even")], tmp_path / "out", tasks=TASKS)
    found = {
        str(path.relative_to(tmp_path / "out")): path.read_text()
        for path in (tmp_path / "out" / "files").rglob("*.txt")
    }
    assert found["files/toy.say/s1-a2/made.txt"] == "s1" and len(found) == 6
    assert before == {path: path.read_bytes() for path in Path("odd").rglob("*") if path.is_file()}


def test_checkpoints_of_unfinished_cases_come_along(project, tmp_path):
    shard = copied("odd", tmp_path)
    lines = records(shard)
    lines[0] |= {"status": "broken", "score": None}
    (shard / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    cases, made, place = [], Stages(RunFolder(shard)), PathPlaceholders({})
    for line in lines[:2]:
        cases.append(((line["task"], line["sample"], line["attempt"]), line["config"], place))
        made.keep(*cases[-1], Checkpoint(line["sample"], (), Usage(), 1))
    merge([shard, Path("even")], tmp_path / "out", tasks=TASKS)
    found = [Stages(RunFolder(tmp_path / "out")).find(*case) for case in cases]
    assert found == [Checkpoint(lines[0]["sample"], (), Usage(), 1), None]


def test_files_of_a_shard_that_was_scored_again_come_from_where_they_lie(project, tmp_path):
    again = edited(copied("odd", tmp_path), "run.json", "rescore", str(Path("odd").absolute()))
    shutil.rmtree(again / "files")
    merge([again, Path("even")], tmp_path / "out", tasks=TASKS)
    assert json.loads((tmp_path / "out" / "run.json").read_text())["rescore"] is None
    assert (tmp_path / "out" / "files" / "toy.say" / "s1-a2" / "made.txt").read_text() == "s1"


def keep_first(run: Path, count: int) -> None:
    """Only so many records are there."""
    merged = run / "records.jsonl"
    merged.write_text("".join(merged.read_text().splitlines(keepends=True)[:count]))


@pytest.mark.parametrize("order", [("broken", "odd"), ("odd", "broken")], ids=" ".join)
def test_of_a_case_in_several_shards_a_finished_one_wins(project, tmp_path, order):
    broken = copied("odd", tmp_path)
    later = [{**line, "status": "broken", "score": None, "finished": line["finished"] + 60} for line in records(broken)]
    (broken / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in later))
    shards = {"broken": broken, "odd": Path("odd")}
    summary = merge([*(shards[name] for name in order), Path("even")], tmp_path / "out", tasks=TASKS)
    assert summary["tasks"]["toy.say"]["broken"] == 0
    assert reports_of(tmp_path / "out") == reports_of(Path("whole"))


def test_what_no_shard_has_done_is_missing_and_a_resumed_run_does_it(project, tmp_path):
    half = copied("odd", tmp_path)
    keep_first(half, 2)
    out = tmp_path / "out"
    assert merge([half, Path("even")], out, tasks=TASKS)["tasks"]["toy.say"]["missing"] == 4
    with FaultServer(choose=say) as server:
        result = project.run(f"--resume={out}", "--model-url", server.url)
    assert result.status == 0, result.output
    assert reports_of(out) == reports_of(Path("whole"))


@pytest.mark.parametrize(
    ("file", "path", "value", "told"),
    [
        ("summary.json", "run|model", "other", "model is 'm' and 'other'"),
        ("summary.json", "run|scoring", "strict", "scoring is 'parity' and 'strict'"),
        ("summary.json", "run|attempts", 3, "attempts is 2 and 3"),
        ("summary.json", "run|prompts|toy.say", "9", "prompts of toy.say is '1' and '9'"),
        ("summary.json", "run|data|toy.say|fingerprint", "f", "data of toy.say is"),
        ("run.json", "configs|toy.say", "abc", "the fingerprint of toy.say is"),
    ],
)
def test_runs_that_differ_are_no_shards_and_the_sentence_says_in_what(project, tmp_path, file, path, value, told):
    other = edited(copied("even", tmp_path), file, path, value)
    with pytest.raises(UsageProblem, match=f"are not shards of one run: {re.escape(told)}"):
        merge([Path("odd"), other], tmp_path / "out", tasks=TASKS)
    assert not (tmp_path / "out").exists()


def test_tools_of_one_name_must_be_the_same(project, tmp_path):
    one = edited(copied("odd", tmp_path), "run.json", "settings|tools|OCR", {"version": 1})
    other = edited(copied("even", tmp_path), "run.json", "settings|tools|OCR", {"version": 2})
    with pytest.raises(UsageProblem, match=re.escape("the tool OCR is {'version': 1} and {'version': 2}")):
        merge([one, other], tmp_path / "out", tasks=TASKS)


def test_other_mistakes_are_told_in_a_sentence(project, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    for runs, out, told in (
        ([Path("odd")], tmp_path / "out", "merge needs two runs or more"),
        ([Path("odd"), Path("even")], Path("whole"), "already holds a run"),
        ([Path("odd"), Path("even")], tmp_path / "full", "holds files already"),
        ([Path("odd"), tmp_path], tmp_path / "out", "is not a run folder"),
    ):
        with pytest.raises(UsageProblem, match=told):
            merge(runs, out, tasks=TASKS)
    changed = tmp_path / "data"
    shutil.copytree("toy", changed)
    (changed / "toy.jsonl").write_text((changed / "toy.jsonl").read_text().replace("word5", "word6"))
    with pytest.raises(UsageProblem, match="holds other data of toy\\.say than the runs used"):
        merge([Path("odd"), Path("even")], tmp_path / "out", str(changed), tasks=TASKS)


@pytest.mark.uses("page", "recording")
def test_every_road_to_a_run_gives_the_same_reports(tmp_path):
    """GTA-Atomic step by step: a benchmark with published tables. Resumed, rescored, replayed and merged."""
    common = ("--model", "baseline", "-m", "gta_atomic_step")
    run_gta(*common, "--record", "tape.jsonl", "--run-dir", "whole", cwd=tmp_path)
    expected = reports_of(tmp_path / "whole")
    run_gta("--replay", "tape.jsonl", "-m", "gta_atomic_step", "-n", "2", "--run-dir", "replayed", cwd=tmp_path)
    run_gta("--rescore", "whole", "-m", "gta_atomic_step", "--run-dir", "rescored", cwd=tmp_path)
    run_gta(*common, "-k", "logic", "--run-dir", "logic", cwd=tmp_path)
    run_gta(*common, "-k", "not logic", "--run-dir", "rest", cwd=tmp_path)
    merge([tmp_path / "rest", tmp_path / "logic"], tmp_path / "merged", tasks=TASKS)
    resumed = Path(shutil.copytree(tmp_path / "whole", tmp_path / "resumed"))
    keep_first(resumed, 9)
    run_gta("--resume", "resumed", cwd=tmp_path)
    page = page_data(tmp_path / "whole" / "report.html")
    for road in ("replayed", "rescored", "resumed", "merged"):
        assert reports_of(tmp_path / road) == expected, road
        assert road == "merged" or page_data(tmp_path / road / "report.html") == page, road
    assert "Inst" in expected["csv"]


OWN = "def test_one(model):\n    assert model.complete('x').text\n\ndef test_two(model):\n    assert not model.name\n"
