"""WildToolBench as its users run it: options of its own, keywords, exchange of results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentgauge.cli.main import main
from tests.plugin.project import ROOT, records, run_wild, summary

MINI = ROOT / "bench_wild" / "mini"
FULL = ("Task", "Session", "Optimal", "Optimal Parallel", "Optimal Mixed", "Completed Nodes")


def values(folder: Path) -> dict[str, float | None]:
    return {name: metric["value"] for name, metric in summary(folder)["tasks"]["wild"]["metrics"].items()}


@pytest.mark.parametrize(
    ("options", "full"),
    [
        ((), FULL),
        (("--wild-language", "zh"), FULL),
        (("--scoring", "strict"), (*FULL, "Progress")),
        (("--wild-evaluator", "2025", "-n", "2"), ("Task", "Session", "Optimal", "Progress")),
    ],
)
def test_the_oracle_reaches_100(options, full, tmp_path):
    result = run_wild("--model", "oracle", "--run-dir", "run", *options, cwd=tmp_path)
    assert "0 wrong · 0 broken · 0 missing" in result.output
    assert {name: values(tmp_path / "run")[name] for name in full} == dict.fromkeys(full, 100)


@pytest.fixture(scope="module")
def baseline(tmp_path_factory) -> Path:
    """The run folder of a whole run with the baseline."""
    folder = tmp_path_factory.mktemp("baseline")
    run_wild("--model", "baseline", "--run-dir", "run", cwd=folder)
    return folder / "run"


def test_the_baseline_is_a_floor_that_errs_in_several_ways(baseline, tmp_path):
    run_wild("--rescore", str(baseline), "--wild-evaluator", "2025", "--run-dir", "run", cwd=tmp_path)
    figures = values(tmp_path / "run")
    assert 0 < figures["Task"] < 50
    classes = {
        label
        for record in records(tmp_path / "run")
        if record["status"] == "wrong"
        for label in record["score"]["labels"]
    }
    assert len(classes) >= 3, classes


def test_keywords_choose_cases(tmp_path):
    output = run_wild("-k", "clarify and not first", "--collect-only", "-q", cwd=tmp_path).output
    chosen = [line for line in output.splitlines() if "::" in line]
    assert chosen
    assert not any(line.endswith("-t1]") for line in chosen)


def test_the_earlier_release_s_switches(tmp_path):
    """Without the earlier tasks the first ones are left out, and the oracle still finds its session by its case."""
    switches = ("--wild-no-context", "--wild-no-roles", "--wild-schemas", "azure")
    output = run_wild("--model", "oracle", *switches, "--run-dir", "run", cwd=tmp_path).output
    assert "wild: 48 planned · 48 passed" in output
    assert "without the earlier tasks" in output
    options = summary(tmp_path / "run")["run"]["options"]
    assert [options[name] for name in switches[:3]] == [True, True, "azure"]


def test_what_a_session_lacks_is_left_out_and_reported(tmp_path):
    lines = [json.loads(line) for line in (MINI / "Wild-Tool-Bench.jsonl").read_text(encoding="utf-8").splitlines()]
    lines[2]["english_tasks"] = lines[2]["english_tasks"][:3]
    data = tmp_path / "wild" / "Wild-Tool-Bench.jsonl"
    data.parent.mkdir()
    data.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    refused = run_wild("--model", "oracle", "--data", "wild", cwd=tmp_path, status=4).output
    for part in ("Wild-Tool-Bench.jsonl, line 3", "wild_tool_bench_2", "english_tasks"):
        assert part in refused
    told = run_wild("--model", "oracle", "--data", "wild", "--skip-invalid", "--run-dir", "run", cwd=tmp_path).output
    assert "wild: left out: " in told
    assert "wild: 60 planned · 60 passed" in told
    (left_out,) = summary(tmp_path / "run")["run"]["data"]["wild"]["left_out"]
    assert "line 3" in left_out
    assert "1 left out as invalid" in (tmp_path / "run" / "leaderboard.md").read_text()


def test_options_that_are_wrong(tmp_path):
    assert (
        "--wild-language 'de' is unknown; accepted are en, zh"
        in run_wild("--wild-language", "de", cwd=tmp_path, status=4).output
    )


def test_a_run_goes_on_with_its_own_options(tmp_path):
    run_wild("--model", "baseline", "--wild-language", "zh", "--limit", "8", "--run-dir", "run", cwd=tmp_path)
    run_wild("--resume", "run", cwd=tmp_path)
    assert summary(tmp_path / "run")["run"]["options"]["--wild-language"] == "zh"
    other = run_wild("--resume", "run", "--wild-language", "en", cwd=tmp_path, status=4).output
    assert "options or tool settings of wild have changed" in other
    asked = run_wild("--rescore", "run", "--wild-language", "en", cwd=tmp_path, status=4).output
    assert "that run used --wild-language 'zh', not 'en'" in asked
    run_wild("--rescore", "run", "--wild-evaluator", "2025", "--run-dir", "again", cwd=tmp_path)
    again = summary(tmp_path / "again")["run"]["options"]
    assert (again["--wild-language"], again["--wild-evaluator"]) == ("zh", "2025")


@pytest.mark.parametrize("scoring", ["parity", "strict"])
def test_an_exported_run_scores_the_same(scoring, baseline, tmp_path, capsys):
    run = baseline
    if scoring != "parity":
        run = tmp_path / "run"
        run_wild("--rescore", str(baseline), "--scoring", scoring, "--run-dir", "run", cwd=tmp_path)
    assert main(["report", str(run), "--format", "wild", "--output", str(tmp_path / "out")]) == 0
    (file,) = (tmp_path / "out").rglob("*.jsonl")
    assert capsys.readouterr().out == f"{file}\n"
    assert file.relative_to(tmp_path / "out") == Path("result/baseline/Wild-Tool-Bench_result.jsonl")
    assert (
        main(["score", "wild", "--samples", str(MINI), "--predictions", str(file), "--scoring", scoring, "--json"]) == 0
    )
    scored = json.loads(capsys.readouterr().out)["metrics"]
    assert scored == pytest.approx({name: values(run)[name] for name in scored})
    assert main(["report", str(run), "--format", "wild", "--output", str(tmp_path / "out")]) == 4
    assert "holds files already" in capsys.readouterr().err


def test_the_bundled_data_is_sound(capsys):
    assert main(["data", "check", "wild"]) == 0
    assert main(["data", "check", "wild", "--wild-language", "zh"]) == 0
    assert capsys.readouterr().out.count("wild: no problems in") == 2


def test_gold_that_cannot_be_reached_is_found(tmp_path, capsys):
    lines = (MINI / "Wild-Tool-Bench.jsonl").read_text(encoding="utf-8").splitlines()
    session = json.loads(lines[0])
    action = next(node for node in session["english_answer_list"][0] if node["action"]["name"] != "prepare_to_answer")[
        "action"
    ]
    action["arguments"] = {"never": "declared"}
    (tmp_path / "Wild-Tool-Bench.jsonl").write_text(json.dumps(session) + "\n", encoding="utf-8")
    assert main(["data", "check", "wild", "--data", str(tmp_path)]) == 1
    told = capsys.readouterr().out
    assert "no path that the evaluator accepts" in told
    assert "wild: 1 problem in" in told
    assert main(["data", "check", "wild", "--data", str(tmp_path / "none")]) == 4
