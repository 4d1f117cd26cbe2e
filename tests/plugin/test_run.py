"""A run as a pytest user sees it: what runs, what the screen shows, and the fixtures of a case."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from agentgauge.pytest_plugin.reporting import Reporting
from tests.model.fault_server import FaultServer
from tests.plugin.conftest import say, slow
from tests.plugin.project import CONFTEST, ROOT, Project, Result, records, run_bundled

# -- A run as a pytest user sees it.


WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])


def ran(folder: Path, *options: str) -> Result:
    with FaultServer(choose=say) as server:
        model = ("--model", "m", "--model-url", server.url)
        return Project.make(folder / "project").run(*model, *options, "--run-dir", "run")


@pytest.fixture(scope="module")
def serial(tmp_path_factory) -> Result:
    """A run in one process."""
    return ran(tmp_path_factory.mktemp("serial"))


@pytest.fixture(scope="module")
def verbose(tmp_path_factory) -> Result:
    """A verbose run, which notes for ``--lf`` what was wrong."""
    return ran(tmp_path_factory.mktemp("verbose"), "-v", "-p", "cacheprovider")


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


def test_last_failed_runs_the_wrong_case_again(verbose, model):
    result = Project(verbose.path).run(*model, "-p", "cacheprovider", "--lf", "--run-dir", "second")
    assert [record["sample"] for record in records(verbose.path / "second")] == ["s3"], result.output


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


def test_attempts_are_cases_with_seeds_of_their_own_and_averaged_by_sample(project, model, endpoint):
    result = project.run(*model, "--attempts", "3", "--run-dir", "run")
    task = result.summary("run")["tasks"]["toy.say"]
    assert task["planned"] == 18
    assert task["metrics"]["Acc"]["n"] == 6
    assert len({request.body["seed"] for request in endpoint.requests}) == 18


@WORKERS
@pytest.mark.uses("budget")
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


@pytest.mark.uses("progress")
def test_progress_is_plain_lines_without_a_terminal(serial):
    line = r"^6/6 · passed 5 · wrong 1 · broken 0 · 90 tokens$"
    assert re.search(line, serial.output, re.MULTILINE), serial.output
    assert "\r" not in serial.output


def test_verbose_names_each_case(verbose):
    assert re.search(r"test_say\[s3\] WRONG", verbose.output)
    assert re.search(r"test_say\[s4\] PASSED", verbose.output)


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


# -- Reports that no list at the end shows are counted and not kept.


SPY = """
def pytest_terminal_summary(terminalreporter):
    for name in ("passed", "wrong", ""):
        reports = terminalreporter.stats.get(name, ())
        print(f"KEPT {name or 'quiet'} {len(reports)} {len(set(map(id, reports)))}")
"""

HALF = """
from benchmarks.toys import HALF_WRONG
"""


@pytest.fixture
def run(project, model):
    conftest = project.path / "conftest.py"
    conftest.write_text(conftest.read_text() + HALF + SPY)

    def run(*arguments):
        result = project.run(*model, "--attempts", "4", *arguments)
        assert result.status == 0, result.output
        return result.output, {
            name: (int(all), int(own)) for name, all, own in re.findall(r"KEPT (\w+) (\d+) (\d+)", result.output)
        }

    return run


@WORKERS
def test_the_first_few_stand_for_all(run, workers):
    output, kept = run(*workers)
    assert kept == {"passed": (12, 3), "wrong": (12, 3), "quiet": (0, 0)}
    assert "12 passed" in output and "12 wrong" in output
    assert "... and 9 more wrong; -v shows them all" in output


@pytest.mark.parametrize("seed", range(20))
def test_the_examples_are_the_first_cases_in_whatever_order_they_end(seed):
    names = [f"t[{number}]" for number in range(1 + 2 * seed)]
    random.Random(seed).shuffle(names)
    terminal = SimpleNamespace(stats={"wrong": []})
    option = SimpleNamespace(durations=None, reportchars="", verbose=0)
    reporting = SimpleNamespace(_plugin=lambda name: terminal, config=SimpleNamespace(option=option))
    for name in names:
        terminal.stats["wrong"].append(SimpleNamespace(nodeid=name))
        for _ in ("call", "teardown"):  # the second adds none
            Reporting._drop_reports(reporting, "wrong")
    kept = terminal.stats["wrong"]
    assert len(kept) == len(names) and len(set(map(id, kept))) == min(3, len(names))
    assert {one.nodeid for one in kept[:3]} == {f"t[{number}]" for number in range(min(3, len(names)))}


@pytest.mark.parametrize(
    ("option", "listed", "word"),
    [
        ("-rp", {"passed": (12, 12), "wrong": (12, 3)}, "PASSED"),
        ("-v", {"passed": (12, 3), "wrong": (12, 12)}, "wrong"),
    ],
)
def test_what_is_listed_is_kept(run, option, listed, word):
    output, kept = run(option)
    assert kept == listed | {"quiet": (0, 0)}
    assert len(set(re.findall(rf"^{word} .*\[(s\d(?:#\d)?)\]$", output, re.MULTILINE))) == 12


def test_durations_are_of_all_reports(run):
    output, kept = run("--durations", "0", "-vv")
    assert kept == {"passed": (12, 12), "wrong": (12, 12), "quiet": (48, 48)}
    assert len(re.findall(r"^\d+\.\d+s (?:setup|call|teardown) ", output, re.MULTILINE)) == 72


# -- The fixtures of a benchmark's cases beside those of a project.


OWN_SAMPLE = """
import pytest

@pytest.fixture
def sample():
    raise RuntimeError("for other tests")
"""

NAMED = """
from agentgauge.pytest_plugin import benchmark_task

@benchmark_task("toy.say")
def test_say(sample, outcome):
    assert outcome.record.sample == sample
"""

CATCHES = """
import pytest
from agentgauge.pytest_plugin import benchmark_task

@pytest.fixture
def room(outcome):
    try:
        outcome.check()
        wrong = None
    except AssertionError as error:
        wrong = error
    yield wrong
    print("released")

@benchmark_task("toy.say")
def test_say(room):
    if room is not None:
        raise room
"""

OWN_WORD = """
import pytest

class Word(str):
    pass

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    report = yield
    report.outcome = Word(report.outcome)
    return report
"""

WALKS_ITSELF = """
import pytest
from _pytest.runner import runtestprotocol

class Walker:
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        if "odd" in item.extra_keyword_matches:
            runtestprotocol(item, nextitem=nextitem)
            return True

def pytest_sessionstart(session):
    session.config.pluginmanager.register(Walker())
"""

MISTAKEN = """
def test_ordinary(outcome):
    pass
"""


@pytest.mark.parametrize("own", ["", OWN_SAMPLE], ids=["ours alone", "the project has one of the name"])
def test_sample_is_the_case_whatever_the_project_calls_so(project, model, own):
    (project.path / "conftest.py").write_text(CONFTEST + own)
    (project.path / "test_toy.py").write_text(NAMED)
    result = project.run(*model, "--run-dir", "run")
    assert result.status == 0, result.output
    assert "5 passed, 1 wrong" in result.output  # nobody called check


def test_a_case_has_its_own_outcome_whichever_plugin_walks_through_it(project, model, endpoint):
    (project.path / "conftest.py").write_text(CONFTEST + WALKS_ITSELF)
    (project.path / "test_toy.py").write_text(NAMED)
    result = project.run(*model, "--run-dir", "run")
    assert "5 passed, 1 wrong" in result.output
    assert len(endpoint.requests) == 6


def test_a_fixture_that_caught_a_wrong_answer_is_torn_down(project, model):
    (project.path / "test_toy.py").write_text(CATCHES)
    result = project.run(*model, "-s", "--run-dir", "run")
    assert result.output.count("released") == 6
    assert "5 passed, 1 wrong" in result.output


def test_a_report_with_a_word_of_its_own_type_ends_nothing(project, model):
    (project.path / "conftest.py").write_text(CONFTEST + OWN_WORD)
    result = project.run(*model, "--run-dir", "run")
    assert result.status == 0, result.output


def test_an_ordinary_test_is_told_that_an_outcome_needs_a_task(project, model):
    (project.path / "test_toy.py").write_text(MISTAKEN)
    result = project.run(*model, "-q", "--run-dir", "run")
    assert result.status == 1
    assert (
        "the fixtures sample, solve and outcome are for test functions that are marked with benchmark_task(name)"
        in result.output
    )
    assert "worker.py" not in result.output


# -- Reports of ordinary tests beside benchmark cases say the same with workers and without.


TESTS = """
import pytest
def test_wrong(record_property):
    record_property("seen", 7)
    print("printed")
    assert [1, 2] == [1, 3]
def test_skipped():
    pytest.skip("no need")
"""


def test_reports_of_a_run_say_the_same_with_workers(project, model):
    (project.path / "test_ordinary.py").write_text(TESTS)
    told = []
    for workers in ((), ("-n", "2")):
        result = project.run(*model, *workers, "-rA", "--junitxml", "report.xml", "--run-dir", f"run{len(told)}")
        assert result.status == 1, result.output
        lines = [line.strip() for line in result.output.splitlines()]
        summary = sorted(line for line in lines if line.startswith(("PASSED", "FAILED", "SKIPPED", "E   ", "printed")))
        told.append((summary, (project.path / "report.xml").read_text().count('<property name="seen" value="7" />')))
    assert told[0] == told[1]
    assert told[0][1] == 1


# -- What a resumed run shows concerns its plan alone.


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_a_part_of_the_cases_is_resumed_without_a_word_of_the_others(project, model, workers):
    assert "4 deselected" in project.run(*model, "-k", "s0 or s1", "--run-dir", "run").output
    resumed = project.run(*model, "--resume", "run", *workers)
    assert resumed.status == 0 and "deselected" not in resumed.output, resumed.output
    assert "2 passed" in resumed.output and ("collected 2 items" in resumed.output or workers)
    scored = project.run("--rescore", "run", "--run-dir", "again", *workers)
    assert scored.status == 0 and "deselected" not in scored.output and "2 passed" in scored.output


def test_names_that_two_cases_share_are_resumed_as_they_were(project, model):
    data = project.path / "toy" / "toy.jsonl"
    data.write_text('{"id": "x", "say": "a"}\n{"id": "x#2", "say": "b"}\n')
    assert "4 passed" in project.run(*model, "--attempts", "2", "--run-dir", "run").output
    resumed = project.run(*model, "--resume", "run")
    assert resumed.status == 0 and "4 passed" in resumed.output
    project.run(*model, "--attempts", "2", "--run-dir", "part", "test_toy.py::test_say[x#2_0]")
    part = project.run(*model, "--resume", "part")
    assert part.status == 0 and "1 passed, 3 deselected" in part.output


def test_one_task_of_a_benchmark_is_resumed_without_a_letter_of_the_others(tmp_path):
    first = run_bundled("-m", "mmau_tool_single", "--limit=2", "--model=baseline", "--run-dir=run", cwd=tmp_path)
    assert "incomplete" not in first.output
    assert "Apple MMAU: 13 combined scores need tasks that were not selected" in first.output
    resumed = run_bundled("--resume=run", cwd=tmp_path)
    assert "collected 2 items\n" in resumed.output and "2 wrong in" in resumed.output
    assert "skipped" not in resumed.output and "deselected" not in resumed.output


# -- What a newcomer sees first: all benchmarks, the built-in model, one screen.


@pytest.mark.uses("page", "progress")
def test_the_end_of_a_run_over_all_benchmarks_is_one_screen(tmp_path):
    result = run_bundled("--limit=1", "--model=baseline", "--run-dir=run", cwd=tmp_path)
    lines = result.output.splitlines()
    last = max(number for number, line in enumerate(lines) if " · passed " in line)
    screen = "\n".join(lines[last:])
    assert len(lines) - last <= 40
    for words in ("a floor", "bundled samples", "GTA-Atomic", "GTA-Workflow", "WildToolBench", "Apple MMAU"):
        assert words in screen
    assert "run/report.html" in screen and "agentgauge view" in screen


# -- What the controller loads while its workers collect.


PROBE = """
import sys, pytest

class Probe:
    @pytest.hookimpl(tryfirst=True)
    def pytest_xdist_node_collection_finished(self):
        print("\\nLOADED", "tool_impls.availability" in sys.modules)

pytest.main(sys.argv[1:], plugins=[Probe()])
"""


@pytest.mark.parametrize(("folder", "loaded"), [("bench_gta", True), ("bench_wild", False)])
def test_the_tools_are_looked_up_before_the_workers_have_collected(tmp_path, folder, loaded):
    command = [
        sys.executable,
        "-c",
        PROBE,
        "-p",
        "no:cacheprovider",
        "-n",
        "2",
        "--model",
        "baseline",
        "--limit",
        "1",
        folder,
    ]
    environment = Project(tmp_path).environment()
    options = [f"--run-dir={tmp_path / 'run'}"]
    done = subprocess.run(
        [*command, *options], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert f"LOADED {loaded}" in done.stdout, done.stdout + done.stderr
