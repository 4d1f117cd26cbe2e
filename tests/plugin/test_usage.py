"""Wrong usage ends with status 4 and one sentence; an option that changes nothing is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.mmau import records as made
from tests.model.fault_server import FaultServer, answer, tool_call
from tests.plugin.project import Project, pytest_here, records, run_mmau, summary

# -- Wrong usage ends with status 4 and one helpful sentence, before collection.


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--model", "frobnicate"), "frobnicate"),
        (("--model", "nobody/some-model"), "nobody"),
        (("--model", "gpt-4o"), "OPENAI_API_KEY"),
        (("--model", "scripted:none.json"), "none.json"),
        (("--dialect", "klingon"), "--dialect 'klingon' is unknown; accepted are native, react, qwen, llama, "),
        (("--dialect", "xlam"), "baseline reads native and react requests only, not xlam; use another model or"),
        (("--data", "nowhere"), "--data 'nowhere' is not a folder"),
        (("--data", "empty"), "--data 'empty' holds no known data set; looked for"),
        (("--attempts", "0"), "--attempts 0 is too small"),
        (("--limit", "-3"), "--limit -3 is too small"),
        (("--in-flight", "0"), "--in-flight 0 is too small"),
        pytest.param(
            ("--budget", "much"),
            "--budget 'much' cannot be read; write a positive number and one of usd, tok",
            marks=pytest.mark.uses("budget"),
        ),
        pytest.param(("--budget", "0usd"), "--budget '0usd' cannot be read", marks=pytest.mark.uses("budget")),
        (("--scoring", "kind"), "--scoring 'kind' is unknown; accepted are parity, strict"),
        (("--tool-server", "localhost:16181"), "--tool-server 'localhost:16181' is not an address"),
        (("--attempts", "9" * 4299), "9… is too large; give an integer up to 10,000"),
        (("--in-flight", "1000000000"), "--in-flight 1000000000 is too large; give an integer up to 1,000,000"),
        (("--limit", "9" * 4299), "9… is too large; give an integer up to 1,000,000,000,000"),
        pytest.param(
            ("--budget", "9" * 4299 + "usd"),
            "9…' cannot be read; write a positive number and one of usd, tok",
            marks=pytest.mark.uses("budget"),
        ),
        (("--judge-votes", "9" * 4301), "--judge-votes must be an integer from 1 to 25; got '9"),
        (("--prompts", "nowhere"), "--prompts: there is no folder"),
        (("--prompts", "empty"), "empty holds no .txt file"),
        (("--resume", "nowhere"), "nowhere is not a run folder"),
        (("--rescore", "nowhere"), "nowhere is not a run folder"),
        (("--resume", "a", "--rescore", "b"), "--resume and --rescore cannot be used together"),
        (("--modle", "m"), "unrecognized arguments: --modle; agentgauge: --modle (did you mean --model"),
        (("--in-flght=3",), "agentgauge: --in-flght (did you mean --in-flight?)"),
        (("--run-dir", "taken"), "already holds a run; continue it with --resume"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(project, arguments, says):
    (project.path / "empty").mkdir()
    (project.path / "taken").mkdir()
    (project.path / "taken" / "run.json").write_text("{}")
    result = project.run(*arguments)
    assert result.status == 4, result.output
    assert says in result.output
    assert "Traceback" not in result.output
    assert "collected" not in result.output
    assert len([line for line in result.output.splitlines() if line.startswith("ERROR")]) == 1


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
@pytest.mark.parametrize(
    ("given", "name", "says"),
    [
        ((), "toy_sy", "-m names the marker 'toy_sy', which no test has (did you mean toy_say?)"),
        (("--strict-markers",), "toy_sy", "-m names the marker 'toy_sy', which no test has (did you mean toy_say?)"),
        (("--strict-markers",), "unlike", "Unknown marker(s) in '-m' expression: unlike"),
    ],
    ids=["", "strict", "strict-unlike"],
)
def test_a_mistyped_marker_is_named_and_leaves_no_folder(project, model, workers, given, name, says):
    result = project.run(*model, "-m", name, "--run-dir", "run", *given, *workers)
    assert result.status == 4 and says in result.output, result.output
    assert not (project.path / "run").exists()


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_a_mistyped_keyword_is_named_and_leaves_no_folder(project, model, workers):
    result = project.run(*model, "-k", "Eveen", "--run-dir", "run", *workers)
    assert result.status == 4, result.output
    assert "-k names the keyword 'eveen', which no test has (did you mean even?)" in result.output
    assert not (project.path / "run").exists()


@pytest.mark.parametrize(("words", "status"), [("s1 and odd and even", 5), ("unlike", 5), ("even or eveen", 0)])
def test_a_keyword_that_is_no_mistake_is_pytests_matter(project, model, words, status):
    result = project.run(*model, "--collect-only", "-k", words)
    assert result.status == status and "did you mean" not in result.output, result.output


def test_a_marker_that_no_test_has_may_be_excluded(project, model):
    result = project.run(*model, "-m", "not toy_sy", "--run-dir", "run")
    assert result.status == 0 and "6 planned" in result.output, result.output


@pytest.mark.parametrize("option", ["--reruns=2", "--html=x", "--timeout=5", "--count=2", "--ds=x", "--base-url=x"])
def test_options_of_plugins_that_are_not_here_are_pytests_matter(project, option):
    result = project.run(option)
    assert result.status == 4 and "agentgauge:" not in result.output and "did you mean" not in result.output


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_a_refused_expression_of_markers_leaves_no_folder(project, model, workers):
    result = project.run(*model, "-m", "toy_say and (", "--run-dir", "run", *workers)
    assert result.status == 4 and "Wrong expression passed to '-m'" in result.output, result.output
    assert "agentgauge:" not in result.output and "Traceback" not in result.output
    assert not (project.path / "run").exists()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("--model", "other"), "that run has model 'm', this one 'other'"),
        (("--dialect", "react"), "that run has dialect 'native', this one 'react'"),
        (("--scoring", "strict"), "that run has scoring 'parity', this one 'strict'"),
        (("--attempts", "2"), "that run has attempts 1, this one 2"),
    ],
)
def test_resume_refuses_to_mix_different_runs(project, model, change, says):
    project.run(*model, "--run-dir", "run")
    url = model[model.index("--model-url") + 1]
    result = project.run(*change, "--model-url", url, "--resume", "run")
    assert result.status == 4, result.output
    assert says in result.output


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "dataset.json"),
        ("[1, 2", "dataset.json"),
        ('{"0": {"tools": []', "dataset.json"),
        ('{"0": {"tools": [], "files": [], "dialogs": "none", "gt_answer": null}}', "dialogs"),
        ('{"x": {"tools": [], "files": [], "dialogs": [], "gt_answer": null}}', "'x'"),
    ],
)
def test_a_damaged_data_set_is_told_in_one_sentence(project, content, says):
    (project.path / "damaged").mkdir()
    (project.path / "damaged" / "dataset.json").write_text(content)
    (project.path / "damaged" / "toolmeta.json").write_text("{}")
    result = project.run(data="damaged")
    assert result.status == 4, result.output
    assert says in result.output
    assert "Traceback" not in result.output
    assert "collected" not in result.output


def test_resume_refuses_data_that_has_changed(project, model):
    project.run(*model, "--run-dir", "run")
    with (project.path / "toy" / "toy.jsonl").open("a") as stream:
        stream.write(json.dumps({"id": "new", "say": "new"}) + "\n")
    result = project.run("--resume", "run")
    assert result.status == 4
    assert "the data, prompts, options or tool settings of toy.say have changed since" in result.output


# -- An option does what it says in every task that it applies to; where it changes nothing, the header says so.


def header(output: str) -> str:
    return " ".join(line for line in output.splitlines() if line.startswith("agentgauge: "))


def data(tmp_path: Path) -> tuple[str, str]:
    made.write(tmp_path / "data")
    return "--data", "data"


@pytest.mark.parametrize(
    ("dialect", "written"),
    [
        ("toolace", "[book(place='Lumen', seats=2)]"),
        ("react", 'Action: book\nAction Input: {"place": "Lumen", "seats": 2}'),
        ("qwen", '<tool_call>\n{"name": "book", "arguments": {"place": "Lumen", "seats": 2}}\n</tool_call>'),
    ],
)
def test_the_tool_tasks_of_mmau_speak_the_dialect(dialect, written, tmp_path):
    with FaultServer([answer(written)]) as server:
        model = ("--model", "m", "--model-url", server.url, f"--dialect={dialect}")
        output = run_mmau(*model, *data(tmp_path), "-m", "mmau_tool_single", "--run-dir", "run", cwd=tmp_path).output
    assert "is not used" not in output
    assert sorted(record["status"] for record in records(tmp_path / "run")) == ["passed", "wrong"]
    for seen in server.requests:
        assert seen.body.get("tool_choice", "none") == "none", "the server must not look for calls"
        assert "book" in json.dumps(seen.body["messages"] if dialect != "qwen" else seen.body["tools"])
    assert f"dialect {dialect} instead of native" in output


def test_a_server_that_parses_the_calls_of_a_dialect_is_told(tmp_path):
    call = tool_call("book", '{"place": "Lumen", "seats": 2}')
    with FaultServer([answer(None, tool_calls=[call])]) as server:
        model = ("--model", "m", "--model-url", server.url, "--dialect=toolace")
        output = run_mmau(
            *model, *data(tmp_path), "-m", "mmau_tool_single", "--run-dir", "run", cwd=tmp_path, status=1
        ).output
    assert "broken: 2 × server parsed" in output


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ("--dialect=toolace",),
            "--dialect toolace is for tasks with tools of their own: mmau.math_standard has none, and --dialect is not"
            " used",
        ),
        (("--mmau-solver=oracle",), "--mmau-solver oracle is not used: no selected task has this option"),
        (("--wild-language=zh",), "--wild-language zh is not used"),
        (("--temperature=0.5",), "--temperature 0.5 is not used: oracle answers by fixed rules"),
    ],
)
def test_an_option_that_changes_nothing_is_named(options, line, tmp_path):
    selected = ("--model", "oracle", "-m", "mmau_math_standard", "--run-dir", "run")
    assert line in header(run_mmau(*selected, *options, *data(tmp_path), cwd=tmp_path).output)
    notes = (tmp_path / "run" / "leaderboard.md").read_text()
    assert "dialect" not in notes, "math has the same figures in every dialect"
    assert summary(tmp_path / "run")["tasks"]["mmau.math_standard"]["passed"] == 3


def test_options_that_are_used_are_not_named(tmp_path):
    used = ("--mmau-judge", "baseline", "--model", "oracle", "-m", "mmau_math_standard", "--run-dir", "run")
    assert "not used" not in run_mmau(*used, *data(tmp_path), cwd=tmp_path).output


@pytest.mark.parametrize("selection", [(), ("-k", "s1")], ids=["all", "some"])
def test_workers_that_cannot_know_of_cases_say_what_to_give(tmp_path, selection):
    project = Project.make(tmp_path / "project")
    (project.path / "tests").mkdir()
    (project.path / "test_toy.py").rename(project.path / "tests" / "test_toy.py")
    result = pytest_here("tests", "-n", "1", *selection, cwd=project.path)
    assert "with -n, AgentGauge must know before collection that there are benchmark cases" in result.output
    assert result.status == 1
