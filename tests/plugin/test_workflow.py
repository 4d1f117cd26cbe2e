"""GTA-Workflow as its users run it: real tools, real files, the embedded judge, a judge model that fails half-way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentgauge.cli.main import main
from agentgauge.model.vision_probe import NUMBER
from tests.model import fault_server as serve
from tests.model.files_server import FilesServer, response, said
from tests.plugin.project import GTA, PYTEST, python, records, run_gta, summary, without_times

pytest.importorskip("av")

CASES = str(Path(GTA[-1]) / "test_workflow.py")
DATA = Path(GTA[-1]) / "workflow" / "mini"
SETTINGS = """
[tools]
basic = true
missing = "disable"

[models.seer]
url = "{url}"
model = "seer"
key_env = "JUDGE_KEY"
api = "responses"
max_retries = 0
"""
TASK = "13"  # three leaves about two pictures


def run_judged(url: str, *arguments: str, cwd: Path, status: int = 0) -> str:
    """With a configuration of its own, which names the judge."""
    (cwd / "agentgauge.toml").write_text(SETTINGS.format(url=url))
    live = () if "--rescore" in arguments else ("--model", "oracle")
    words = (*GTA[:2], "--rootdir", str(cwd), f"{CASES}::test_workflow[{TASK}]", *live, *arguments)
    result = python(*PYTEST, *words, cwd=cwd, env={"JUDGE_KEY": "key-of-the-judge"}, seconds=300)
    assert result.status == status, result.output
    return result.output


def words(score: float) -> Any:
    return serve.data(response(said(json.dumps({"score": score, "analysis": "seen"}))))


def values(folder: Path) -> dict[str, float | None]:
    return {name: metric["value"] for name, metric in summary(folder)["tasks"]["gta_workflow"]["metrics"].items()}


@pytest.mark.parametrize(
    "selection",
    [("-k", "not [0] and not [1] and not [3] and not [14]"), pytest.param(("-n", "2"), marks=pytest.mark.long)],
    ids=["most", "all"],
)
def test_the_oracle_solves_every_task_with_real_tools(tmp_path, selection):
    """Four that take long have tools and formats which others have too, save for DrawBox and VideoClip."""
    output = run_gta("-m", "gta_workflow", "--model", "oracle", *selection, "--run-dir", "run", cwd=tmp_path).output
    found = values(tmp_path / "run")
    assert (found["Root SR"], found["Leaf SR"], found["Root Score"], found["Tool SR"]) == (100.0, 100.0, 10.0, 100.0)
    assert found["Tasks"] >= 10 and "Root SR at 5: 100.00, 6: 100.00, 7: 100.00" in output
    delivered = {
        Path(path).suffix
        for record in records(tmp_path / "run")
        for path in record["transcript"]["output"]["delivered"]
    }
    assert {".pdf", ".docx", ".pptx", ".xlsx", ".csv", ".html", ".png", ".mp4"} <= delivered
    assert not list((tmp_path / "run" / "files").rglob("*.judge"))
    assert not (tmp_path / "run" / "stages.jsonl").exists()


def test_an_exported_run_is_judged_again_wherever_it_lies(tmp_path, capsys):
    run_gta("-m", "gta_workflow", "-k", "XlsxFileGenerator", "--model", "oracle", "--run-dir", "run", cwd=tmp_path)
    assert main(["report", str(tmp_path / "run"), "--format", "gta_workflow", "--output", str(tmp_path / "out")]) == 0
    (tmp_path / "out").rename(tmp_path / "moved")
    (tmp_path / "run").rename(tmp_path / "gone")
    capsys.readouterr()
    file = tmp_path / "moved" / "oracle_gta_workflow.json"
    assert main(["score", "gta_workflow", "--predictions", str(file), "--samples", str(DATA), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["metrics"]["gpt_score"], told["metrics"]["Root SR"], told["metrics"]["O-SR"]) == (10.0, 100.0, 100.0)
    assert str(tmp_path) not in file.read_text()


def test_the_bundled_tasks_pass_the_check_of_data(capsys):
    assert main(["data", "check", "gta_workflow"]) == 0
    assert "gta_workflow: no problems" in capsys.readouterr().out


def as_before(run: Path) -> None:
    """The checkpoint in the form of earlier versions: a file for each case."""
    entry = json.loads((run / "stages.jsonl").read_text().splitlines()[1])
    (record,) = records(run)
    place = run / "stages" / "gta_workflow" / f"{entry['about']['sample']}-a1.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"config": record["config"], **entry["outcome"]}))
    (run / "stages.jsonl").unlink()


@pytest.mark.parametrize("change", [lambda run: None, as_before], ids=["now", "of an earlier version"])
def test_a_judge_that_fails_half_way_costs_neither_the_agent_s_work_nor_paid_leaves_again(tmp_path, change):
    seen = serve.data(response(said(NUMBER)))  # the answer to the first request, which asks what a picture shows
    with FilesServer(answers=[seen, words(9), serve.status(500)]) as server:
        output = run_judged(server.url, "--judge-model", "seer", "--run-dir", "run", cwd=tmp_path, status=1)
        assert len(server.asked) == 4 and "judge" in output
        (broken,) = records(tmp_path / "run")
        kept = (tmp_path / "run" / "stages.jsonl").read_text().splitlines()
        assert (broken["status"], len(kept)) == ("broken", 2)  # with the header
        change(tmp_path / "run")
        asked = [event for event in broken["transcript"]["events"] if event["name"] == "oracle"]
        server.answers = [seen, words(6)]
        server.server.requests.clear()
        run_judged(server.url, "--resume", "run", cwd=tmp_path)
        assert len(server.asked) == 3  # the third leaf is known
        (record,) = records(tmp_path / "run")
        assert [
            event for event in record["transcript"]["events"] if event["name"] == "oracle"
        ] == asked  # told of, not asked again
        assert sorted(record["transcript"]["output"]["judged"]["leaves"][0]) == ["cached", "id", "replies"]
        assert values(tmp_path / "run")["Root Score"] == pytest.approx(7.0)
        assert not list((tmp_path / "run").glob("stages*"))
        server.answers = [seen, serve.status(500)]
        server.server.requests.clear()
        run_judged(server.url, "--judge-model", "seer", "--run-dir", "again", cwd=tmp_path)
        assert len(server.asked) == 1  # an equal delivery has been judged


@pytest.mark.uses("recording")
def test_stored_judgements_are_scored_again_and_replayed_without_asking(tmp_path):
    """Replayed also without files or tools."""
    fenced = serve.data(response(said('```json\n{"analysis": "1 of 3", "score": 8}\n```')))
    with FilesServer(answers=[fenced]) as server:
        run_judged(server.url, "--judge-model", "seer", "--record", "tape", "--run-dir", "run", cwd=tmp_path)
        asked = len(server.asked)
        assert values(tmp_path / "run")["Root Score"] == 1.0 and values(tmp_path / "run")["Fallbacks"] == 3
        run_judged(server.url, "--rescore", "run", "--scoring", "strict", "--run-dir", "strict", cwd=tmp_path)
        run_judged(server.url, "--rescore", "run", "--root-threshold", "0.5", "--run-dir", "low", cwd=tmp_path)
        assert len(server.asked) == asked
    assert (values(tmp_path / "strict")["Root Score"], values(tmp_path / "low")["Root SR"]) == (8.0, 100.0)
    run_judged("http://127.0.0.1:9/v1", "--replay", "tape", "--run-dir", "replayed", cwd=tmp_path)
    assert without_times(summary(tmp_path / "replayed"))["tasks"] == without_times(summary(tmp_path / "run"))["tasks"]


def test_official_data_needs_a_judge_model(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    task = {
        "dialogs": [{"role": "user", "content": "Write."}],
        "files": [],
        "tools": [],
        "sub_tasks": [{"id": "1.1", "requirements": "r"}],
    }
    (data / "end.json").write_text(json.dumps({"0": task}))
    (data / "toolmeta.json").write_text((DATA / "toolmeta.json").read_text())
    output = run_gta("--data", str(data), "--model", "oracle", cwd=tmp_path, status=4).output
    assert "leaf '1.1' has no 'check'" in output and "--judge-model" in output
