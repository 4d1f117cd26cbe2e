"""The command's options on finished runs: what goes with what, and what is called."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from agentgauge.cli.main import main
from tests.reports.runs import PLANS, written

FINISHED = Path(__file__).parents[1] / "run_folders" / "2026-11" / "wild-mmau"
RUN = {PLANS: {"1": [True], "2": [False]}}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("report", "--items"), "report names no run; give its folder, such as runs/mine"),
        (("report", "a", "b", "--html"), "report takes one run and got 2; only --items takes several"),
        (("report", "a", "--format", "wild"), "--format wild needs a folder to write to; give --output DIR"),
        (("report", "a", "--items", "--embed"), "--embed goes with --html only; give both, or neither"),
        (("report", "a", "--html", "--json"), "--json goes with --items only; give both, or neither"),
        (("report", "a", "--html", "--output", "b"), "--output goes with --format only; give both, or neither"),
        (("report", "a", "--table", "md", "--data", "b"), "--data goes with --format only; give both, or neither"),
        (("report", "none", "--table", "md"), "none is not a run folder"),
        (("merge", "out", "a"), "merge needs two runs or more and got 1"),
    ],
)
def test_options_that_do_not_go_together_are_refused_in_a_sentence(tmp_path, monkeypatch, capsys, arguments, says):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "a", RUN)
    assert main(arguments) == 4
    told = capsys.readouterr().err
    assert says in told and told.count("\n") == 1


@pytest.mark.parametrize("command", ["report", "compare", "merge"])
def test_help_has_an_example(capsys, command):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"example: agentgauge {command} runs/" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (("a", "--html"), "a/report.html"),
        (("--html", "a"), "a/report.html"),
        (("a", "--html", "page.html"), "page.html"),
    ],
)
def test_the_page_goes_where_it_is_asked_for_and_into_the_run_by_itself(
    tmp_path, monkeypatch, capsys, arguments, place
):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FINISHED, "a")
    assert main(["report", *arguments, "--embed"]) == 0
    assert capsys.readouterr().out == f"{place}\n"
    assert "<html" in Path(place).read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "place"), [(("--allure", "a"), "a/allure"), (("a", "--allure", "there"), "there")]
)
def test_the_dashboard_goes_where_it_is_asked_for_and_into_the_run_by_itself(
    tmp_path, monkeypatch, capsys, arguments, place
):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FINISHED, "a")
    assert main(["report", *arguments]) == 0
    assert place in capsys.readouterr().out
    assert len(list(Path(place).glob("*-result.json"))) == len(json.loads(Path("a/planned.json").read_text()))


def test_items_takes_several_runs(tmp_path, capsys):
    folders = [str(written(tmp_path / name, RUN)) for name in "ab"]
    assert main(["report", "--items", *folders]) == 0
    assert PLANS in capsys.readouterr().out
    assert main(["report", *folders, "--items", "--json"]) == 0
    assert capsys.readouterr().out.lstrip().startswith(("{", "["))
