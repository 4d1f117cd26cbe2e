"""A run as a pytest user sees it."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.model.fault_server import FaultServer
from tests.plugin.conftest import say, slow
from tests.plugin.project import CONFTEST, Project, Result, records

WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])


def ran(folder: Path, *options: str) -> Result:
    with FaultServer(choose=say) as server:
        model = ("--model", "m", "--model-url", server.url)
        return Project.make(folder / "project").run(*model, *options, "--run-dir", "run")


@pytest.fixture(scope="module")
def serial(tmp_path_factory) -> Result:
    """A run in one process, whose gates hold."""
    return ran(tmp_path_factory.mktemp("serial"), "--gate", "toy.say.Acc>=80", "--gate", "toy.say.Acc<90")


@pytest.fixture(scope="module")
def gated(tmp_path_factory) -> Result:
    """A verbose run with a gate that fails, which notes for ``--lf`` what was wrong."""
    gates = ("--gate", "toy.say.Acc>=80", "--gate", "toy.say.Acc>=90")
    return ran(tmp_path_factory.mktemp("gated"), *gates, "-v", "-p", "cacheprovider")


@WORKERS
def test_wrong_answers_are_results_and_the_exit_status_is_0(project, model, serial, workers):
    result = project.run(*model, *workers, "--run-dir", "run") if workers else serial
    assert result.status == 0, result.output
    assert re.search(r"= 5 passed, 1 wrong in", result.output)
    assert "expected 'word3', got 'something else'" in result.output
    assert "Traceback" not in result.output
    task = result.summary("run")["tasks"]["toy.say"]
    assert {key: task[key] for key in ("planned", "passed", "wrong", "broken", "missing")} == {
        "planned": 6, "passed": 5, "wrong": 1, "broken": 0, "missing": 0,
    }  # fmt: skip
    assert task["metrics"]["Acc"]["value"] == pytest.approx(100 * 5 / 6)
    assert result.summary("run")["usage"]["prompt_tokens"] == 60
    assert [record["sample"] for record in records(result.path / "run")] == [f"s{number}" for number in range(6)]


@pytest.mark.parametrize(
    ("arguments", "samples"),
    [
        (("-k", "even and not s2"), ["s0", "s4"]),
        (("-m", "odd", "-n", "2", "--dist", "loadfile"), ["s1", "s3", "s5"]),
        (("-m", "toy_say", "--limit", "100"), ["s0", "s1", "s2", "s3", "s4", "s5"]),
        (("--limit", "2"), ["s2", "s5"]),
        (("--limit", "4", "-n", "2", "--dist", "worksteal"), ["s0", "s1", "s2", "s5"]),
        (("test_toy.py::test_say[s4]",), ["s4"]),
    ],
)
def test_cases_are_chosen_by_pytests_own_means_and_asked_once(project, model, endpoint, arguments, samples):
    result = project.run(*model, *arguments, "--run-dir", "run")
    assert result.status == 0, result.output
    assert [record["sample"] for record in records(project.path / "run")] == samples
    assert len(endpoint.requests) == len(samples)


@WORKERS
def test_a_run_needs_no_terminal(project, model, workers):
    result = project.run(*model, *workers, "-p", "no:terminal", "--run-dir", "run")
    assert result.status == 0, result.output
    assert result.summary("run")["tasks"]["toy.say"]["passed"] == 5


def test_a_run_without_selected_cases_leaves_no_folder(project, model):
    result = project.run(*model, "-k", "nothing_is_called_this", "--run-dir", "run")
    assert result.status == 5
    assert not (project.path / "run").exists()


def test_collecting_only_sends_no_request_and_leaves_no_folder(project, model, endpoint):
    result = project.run(*model, "-n", "2", "--collect-only", "-q", "--run-dir", "run")
    assert result.status == 0
    assert "test_toy.py::test_say[s5]" in result.output
    assert endpoint.requests == []
    assert not (project.path / "run").exists()


@WORKERS
def test_stopping_at_the_first_failure_starts_nothing_new(tmp_path, endpoint, workers):
    project = Project.make(tmp_path / "long", samples=40)
    endpoint.choose = slow(0.1)
    result = project.run(
        "--model", "m", "--model-url", endpoint.url, *workers, "-x", "--in-flight", "2", "--run-dir", "run"
    )
    task = result.summary("run")["tasks"]["toy.say"]
    assert result.status == 1, result.output
    assert "stopping after 1 failures" in result.output
    assert task["wrong"] == 1
    assert task["missing"] > 20


def test_last_failed_runs_the_wrong_case_again(gated, model):
    result = Project(gated.path).run(*model, "-p", "cacheprovider", "--lf", "--run-dir", "second")
    assert [record["sample"] for record in records(gated.path / "second")] == ["s3"], result.output


@pytest.mark.parametrize(
    ("body", "status", "workers"),
    [("assert True", 0, ()), ("assert False", 1, ()), ("assert False", 1, ("-n", "2"))],
    ids=["passed", "failed", "failed n2"],
)
def test_ordinary_tests_beside_keep_their_exit_status(project, model, body, status, workers):
    (project.path / "test_plain.py").write_text(f"def test_plain():\n    {body}\n")
    result = project.run(*model, *workers, "--run-dir", "run")
    assert result.status == status, result.output
    assert result.summary("run")["tasks"]["toy.say"]["passed"] == 5


def test_a_gate_decides_the_exit_status(serial, gated):
    assert re.findall(r"gate toy.*: Acc is .*", gated.output) == ["gate toy.say.Acc>=90: Acc is 83.33"]
    assert gated.status == 1
    assert "Acc is" not in serial.output
    assert serial.status == 0


def test_attempts_are_cases_with_seeds_of_their_own_and_averaged_by_sample(project, model, endpoint):
    result = project.run(*model, "--attempts", "3", "--run-dir", "run")
    task = result.summary("run")["tasks"]["toy.say"]
    assert task["planned"] == 18
    assert task["metrics"]["Acc"]["n"] == 6
    assert len({request.body["seed"] for request in endpoint.requests}) == 18


@WORKERS
def test_a_budget_stops_the_run_gracefully(tmp_path, endpoint, workers):
    project = Project.make(tmp_path / "long", samples=30)
    endpoint.choose = slow(0.2)
    model = ("--model", "m", "--model-url", endpoint.url)
    result = project.run(*model, *workers, "--budget", "60tok", "--in-flight", "2", "--run-dir", "run")
    assert result.status == 1, result.output
    assert "stopped early: the budget of 60tok is used up; continue with --resume=" in result.output
    assert 4 <= len(records(project.path / "run")) < 20
    if workers:
        return
    endpoint.choose = say
    resumed = project.run(f"--model-url={endpoint.url}", "--resume", "run")
    assert resumed.status == 0, resumed.output
    assert len(records(project.path / "run")) == 30


def test_progress_is_plain_lines_without_a_terminal(serial):
    line = r"^6/6 · passed 5 · wrong 1 · broken 0 · 90 tokens$"
    assert re.search(line, serial.output, re.MULTILINE), serial.output
    assert "\r" not in serial.output


def test_verbose_names_each_case(gated):
    assert re.search(r"test_say\[s3\] WRONG", gated.output)
    assert re.search(r"test_say\[s4\] PASSED", gated.output)


def test_run_json_tells_how_the_run_was_made(serial):
    run = json.loads((serial.path / "run" / "run.json").read_text())
    assert run["settings"]["model"]["name"] == "m"
    assert run["planned"] == 6
    assert run["started"] < run["finished"]


def test_a_dist_mode_that_asks_twice_is_refused(project, model):
    result = project.run(*model, "--tx", "popen", "--dist", "each", "--run-dir", "run")
    assert result.status == 4, result.output
    assert "--dist each would run benchmark cases more than once; accepted are load, worksteal" in result.output


def test_cases_of_one_group_run_in_one_worker(project, model, endpoint):
    conftest = project.path / "conftest.py"
    conftest.write_text(conftest.read_text() + GROUPS)
    result = project.run(*model, "-n", "2", "--dist", "loadgroup", "--run-dir", "run")
    assert result.status == 0, result.output
    workers = {record["sample"]: record["worker"] for record in records(project.path / "run")}
    assert len(set(workers.values())) == 2
    assert workers["s0"] == workers["s2"] == workers["s5"]
    assert len(endpoint.requests) == 6


GROUPS = """
import pytest

def pytest_itemcollected(item):
    if item.name.rstrip("]").endswith(("0", "2", "5")):
        item.add_marker(pytest.mark.xdist_group("together"))
"""


def test_ordinary_tests_alone_are_scheduled_by_xdist_itself(project):
    """The first one waits for more of the others than cards dealt in turn would leave to the other worker."""
    (project.path / "test_plain.py").write_text(PLAIN)
    result = project.run("-n", "2", "test_plain.py")
    assert result.status == 0, result.output
    assert "60 passed" in result.output


PLAIN = """
import time
from pathlib import Path
import pytest

DONE = Path(__file__).with_name("done")

@pytest.mark.parametrize("number", range(60))
def test_plain(number):
    DONE.mkdir(exist_ok=True)
    end = time.monotonic() + 30
    while number == 0 and len(list(DONE.iterdir())) < 40:
        assert time.monotonic() < end
        time.sleep(0.01)
    (DONE / str(number)).touch()
"""


LINGER = """
import time

def pytest_runtest_logreport():
    time.sleep(0.01)  # so that the file which stops all workers is seen at once
"""


def test_why_a_run_stopped_is_said_once(project, model):
    (project.path / "conftest.py").write_text(CONFTEST + LINGER)
    result = project.run(*model, "--maxfail", "1", "--run-dir", "run")
    assert result.output.count("stopping after 1 failures") == 1, result.output


def test_run_json_has_the_projects_commit_and_the_summary_has_not(project, model):
    git = ("git", "-C", str(project.path), "-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "conftest.py"), ("commit", "-qm", "first")):
        subprocess.run([*git, *words], check=True, capture_output=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    result = project.run(*model, "--limit", "1", "--run-dir", "run")
    about = json.loads((result.path / "run" / "run.json").read_text())
    assert about["revisions"]["project"] == {"commit": commit, "dirty": False}
    assert about["revisions"].keys() == {"agentgauge", "project"}
    assert commit not in (result.path / "run" / "summary.json").read_text()
