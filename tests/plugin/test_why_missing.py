"""Cases that were not attempted: every view of the run says why, and calls them no faults."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.model.fault_server import Act, FaultServer, Seen
from tests.plugin.conftest import say, slow
from tests.plugin.project import Project, summary
from tests.plugin.test_faults import wait_for_records

WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])


def checked(folder: Path, output: str, why: str) -> None:
    """Terminal, summary, page, leaderboard and Allure have the reason; none calls the missing cases faults."""
    found = summary(folder)
    missing = found["tasks"]["toy.say"]["missing"]
    assert missing and found["why_missing"] == why, found.get("why_missing")
    assert f"cases are missing: {why}" in output or f"case is missing: {why}" in output, output
    sentence = f"{missing} missing {'case was' if missing == 1 else 'cases were'} not attempted: {why}"
    for file in ("report.html", "leaderboard.md"):
        text = (folder / file).read_text(encoding="utf-8")
        assert sentence in text, file
        assert "faults of the run" not in text.replace("broken cases are faults of the run", "")
    results = [json.loads(path.read_text()) for path in (folder.parent / "allure").glob("*-result.json")]
    skipped = [one["statusDetails"]["message"] for one in results if one["status"] == "skipped"]
    assert skipped == [f"not attempted: {why}"] * missing


@WORKERS
@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("-x", "-x (--maxfail=1) ended the run"),
        ("--maxfail=2", "--maxfail=2 ended the run"),
    ],
)
def test_failures_that_were_enough(tmp_path: Path, workers: tuple[str, ...], option: str, why: str) -> None:
    project = Project.make(tmp_path / "project", samples=40)

    def wrong(seen: Seen) -> Act:
        return slow(0.05)(replace(seen, body={"messages": [{"content": "say word3"}]}))

    with FaultServer(choose=wrong) as server:
        model = ("--model=m", f"--model-url={server.url}", "--in-flight=2", "--run-dir=run", "--alluredir=allure")
        done = project.run(*model, *workers, option)
    checked(project.path / "run", done.output, why)


@WORKERS
def test_a_budget(tmp_path: Path, workers: tuple[str, ...]) -> None:
    project = Project.make(tmp_path / "project", samples=30)
    with FaultServer(choose=slow(0.2)) as server:
        model = ("--model=m", f"--model-url={server.url}", "--in-flight=2", "--run-dir=run", "--alluredir=allure")
        done = project.run(*model, *workers, "--budget=60tok")
        checked(project.path / "run", done.output, "the budget of 60tok is used up")
        again = project.run("--rescore=run", "--run-dir=again", "--alluredir=allure")
        assert summary(project.path / "again")["why_missing"] == "the budget of 60tok is used up", again.output
        server.choose = say
        assert project.run("--resume=run", f"--model-url={server.url}").status == 0
    assert "why_missing" not in summary(project.path / "run")


@WORKERS
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_a_signal(tmp_path: Path, workers: tuple[str, ...], number: signal.Signals) -> None:
    project = Project.make(tmp_path / "project", samples=40)
    with FaultServer(choose=slow(0.2)) as server:
        model = ("--model=m", f"--model-url={server.url}", "--in-flight=4", "--run-dir=run", "--alluredir=allure")
        process = project.start(*model, *workers)
        wait_for_records(project.path / "run", 6)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        output, _ = process.communicate(timeout=60)
    checked(project.path / "run", output, "interrupted (Ctrl-C or SIGTERM)")


def test_a_signal_before_the_setup_of_a_case(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project", samples=8)
    with (project.path / "conftest.py").open("a") as file:
        file.write("\ndef pytest_runtest_logstart():\n    raise KeyboardInterrupt\n")
    with FaultServer(choose=slow(0.2)) as server:
        model = ("--model=m", f"--model-url={server.url}", "--in-flight=1", "--run-dir=run", "--alluredir=allure")
        done = project.run(*model)
    checked(project.path / "run", done.output, "interrupted (Ctrl-C or SIGTERM)")


def test_a_test_that_ends_pytest(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project", samples=4)
    (project.path / "test_ends.py").write_text("import pytest\n\ndef test_ends():\n    pytest.exit('enough')\n")
    with FaultServer(choose=slow(0.2)) as server:
        model = ("--model=m", f"--model-url={server.url}", "--in-flight=1", "--run-dir=run", "--alluredir=allure")
        done = project.run("test_ends.py", "test_toy.py", *model)
    found = summary(project.path / "run")
    assert found["tasks"]["toy.say"]["missing"] and found["why_missing"] == "pytest ended before them", done.output


def test_another_plugin_that_stops_pytest(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project", samples=8)
    with (project.path / "conftest.py").open("a") as file:
        file.write("\ndef pytest_runtest_teardown(item):\n    item.session.shouldstop = 'the lab closes'\n")
    with FaultServer(choose=slow(0.2)) as server:
        done = project.run("--model=m", f"--model-url={server.url}", "--in-flight=1", "--run-dir=run")
    found = summary(project.path / "run")
    assert found["tasks"]["toy.say"]["missing"] and found["why_missing"] == "the lab closes", done.output
