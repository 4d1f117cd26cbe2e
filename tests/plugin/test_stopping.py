"""Runs that end early: what is counted, and why cases are missing."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from agentgauge.pytest_plugin.reporting import Reporting
from agentgauge.run.coordination.stopping import FILE as STOP
from agentgauge.run.coordination.stopping import StopFile
from tests.conftest import PLUGINS
from tests.model.fault_server import Act, FaultServer, Seen, answer, completion, data, status
from tests.plugin.conftest import after_the_stop, say, slow
from tests.plugin.late_budget import WORKS
from tests.plugin.project import PYTEST, Project, Result, python, records, summary
from tests.plugin.test_faults import wait_for_records

# -- A budget that is used up: what is paid for is awaited and counted, and nothing else is sent.


WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])

TURNS = """
import asyncio
from agentgauge import Score, benchmark

@benchmark("turns", data="turns.jsonl", metrics={"Right": "mean right"})
class Turns:
    async def run(self, case):
        CODE

    def score(self, sample, answer):
        return Score(True, {"right": 1})
"""

ONE_BY_ONE = """for turn in range(3):
            answer = await case.ask(f"turn {turn} of {case.sample['id']}")
        return answer.text"""
AT_ONCE = """texts = [f"turn {turn} of {case.sample['id']}" for turn in range(2)]
        first = await asyncio.gather(*map(case.ask, texts))
        await asyncio.gather(*map(case.ask, ["turn 2", "turn 3"]))
        return first[0].text"""
SWALLOWS = """await case.ask("turn 0")
        try:
            return (await case.ask("turn 1")).text
        except Exception:
            return 'nothing'"""
ONCE = """return (await case.ask("turn 0")).text"""


def write(folder: Path, code: str = ONE_BY_ONE, cases: int = 12) -> None:
    (folder / "turns.py").write_text(TURNS.replace("CODE", code))
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "turns.jsonl").write_text("".join(json.dumps({"id": f"t{number}"}) + "\n" for number in range(cases)))


def run(folder: Path, *options: str, code: str = ONE_BY_ONE, cases: int = 12) -> Result:
    write(folder, code, cases)
    return python(*PYTEST, "-p", "tests.plugin.late_budget", "turns.py", *options, cwd=folder)


@WORKERS
@pytest.mark.parametrize("code", [ONE_BY_ONE, AT_ONCE, SWALLOWS], ids=["one by one", "at once", "swallows"])
@pytest.mark.uses("budget")
def test_paid_answers_are_awaited_and_counted_and_no_further_request_is_sent(tmp_path, workers, code):
    sent = 4
    with FaultServer(choose=after_the_stop(tmp_path, sent, 1.5)) as server:
        model = ("--model=m", f"--model-url={server.url}")
        result = run(tmp_path, *model, "--budget=1s", f"--in-flight={sent}", "--run-dir=run", *workers, code=code)
        assert (result.status, len(server.requests)) == (1, sent), result.output
        assert f"the budget of 1s is used up: waiting for {sent} running requests, at most 10 min" in result.output
        found = summary(tmp_path / "run")
        task = found["tasks"]["turns"]
        assert (task["passed"], task["broken"], task["missing"]) == (0, 0, 12), task
        assert found["usage"]["requests"] == task["usage"]["requests"] == sent
        kept = records(tmp_path / "run")
        assert {record["status"] for record in kept} == {"missing"}
        assert sum(record["transcript"]["usage"]["requests"] for record in kept) == sent
        assert "not finished: the run was stopped" in kept[0]["error"]
        assert not (tmp_path / "run" / "stopping").exists()

        server.choose = lambda seen: answer("yes")
        again = run(tmp_path, f"--model-url={server.url}", "--resume=run", code=code)
        assert again.status == 0, again.output
        found = summary(tmp_path / "run")
        assert (found["tasks"]["turns"]["passed"], found["usage"]["requests"]) == (12, len(server.requests))


@WORKERS
@pytest.mark.uses("budget")
def test_a_case_that_needs_no_further_request_is_scored(tmp_path, workers):
    with FaultServer(choose=after_the_stop(tmp_path, 4)) as server:
        model = ("--model=m", f"--model-url={server.url}")
        result = run(tmp_path, *model, "--budget=1s", "--in-flight=4", "--run-dir=run", *workers, code=ONCE)
        assert len(server.requests) == 4
    task = summary(tmp_path / "run")["tasks"]["turns"]
    assert (task["passed"], task["missing"], result.status) == (4, 8, 1), result.output


@pytest.mark.uses("budget")
def test_tokens_that_are_not_counted_use_up_a_budget(tmp_path):
    with FaultServer() as server:
        server.choose = lambda seen: without_usage
        model = ("--model=m", f"--model-url={server.url}")
        result = run(tmp_path, *model, "--budget=200tok", "--in-flight=2", "--run-dir=run", cases=40)
    assert "stopped early: the budget of 200tok" in result.output
    assert "gave no usable token counts for" in " ".join(result.output.split())
    usage = summary(tmp_path / "run")["usage"]
    assert 0 < usage["estimated_requests"] == usage["requests"] < 60
    assert 100 < usage["prompt_tokens"] + usage["completion_tokens"] < 300


def without_usage(connection, seen, stopped):
    return data({**completion("yes"), "usage": None})(connection, seen, stopped)


@pytest.mark.uses("budget")
def test_requests_that_only_wait_are_not_sent(tmp_path):
    """They would wait for half a minute, and none has been answered."""

    def choose(seen):
        (tmp_path / WORKS).touch()
        return status(429, {"error": {"message": "later"}}, headers={"Retry-After": "50"})

    with FaultServer(choose=choose) as server:
        model = ("--model=m", f"--model-url={server.url}")
        result = run(tmp_path, *model, "--budget=2s", "--run-dir=run")
        sent = len(server.requests)
    task = summary(tmp_path / "run")["tasks"]["turns"]
    assert (task["broken"], task["missing"], 0 < sent <= 12) == (0, 12, True), result.output
    assert "50.0" not in result.output


@pytest.mark.uses("budget")
def test_a_resumed_run_begins_a_new_budget(tmp_path):
    """What unfinished cases have used in the session before is not counted again."""
    with FaultServer(choose=after_the_stop(tmp_path, 8)) as server:
        model = ("--model=m", f"--model-url={server.url}")
        run(tmp_path, *model, "--budget=1s", "--in-flight=8", "--run-dir=run", cases=8)
        assert summary(tmp_path / "run")["usage"]["prompt_tokens"] == 80
        server.choose = lambda seen: answer("yes")
        again = run(tmp_path, f"--model-url={server.url}", "--resume=run", "--budget=400tok", cases=8)  # 8 × 3 × 15
    assert again.status == 0, again.output


@pytest.mark.uses("budget")
def test_damaged_records_of_unfinished_cases_end_no_resumed_run(tmp_path):
    with FaultServer() as server:
        server.choose = after_the_stop(tmp_path, requests=3)
        model = ("--model=m", f"--model-url={server.url}")
        run(tmp_path, *model, "--budget=1s", "--in-flight=8", "--run-dir=run", cases=3)
        file = tmp_path / "run" / "records.jsonl"
        first, second, third = map(json.loads, file.read_text().splitlines())
        first["transcript"], second["transcript"]["usage"] = None, {"unknown": 1}
        file.write_text("".join(json.dumps(one) + "\n" for one in (first, second, third)))
        server.choose = lambda seen: answer("yes")
        again = run(tmp_path, f"--model-url={server.url}", "--resume=run", "--budget=400tok", cases=3)
    assert again.status == 0, again.output
    assert summary(tmp_path / "run")["tasks"]["turns"]["passed"] == 3


STAGES = """import os
        if case.checkpoint_output is None:
            await case.ask("turn 0")
            await case.ask("turn 1")
            case.checkpoint("done")
            os._exit(1)
        return (await case.ask("turn 2")).text"""


@pytest.mark.uses("budget")
def test_what_a_checkpoint_has_cost_counts_also_if_the_case_was_unfinished_before(tmp_path):
    """A session stops in the middle of a stage, the next one is killed behind it, and the third is finished."""
    with FaultServer() as server:
        server.choose = after_the_stop(tmp_path, requests=1)
        model = ("--model=m", f"--model-url={server.url}")
        run(tmp_path, *model, "--budget=1s", "--run-dir=run", code=STAGES, cases=1)
        server.choose = lambda seen: answer("yes")
        killed = run(tmp_path, f"--model-url={server.url}", "--resume=run", code=STAGES, cases=1)
        again = run(tmp_path, f"--model-url={server.url}", "--resume=run", code=STAGES, cases=1)
        assert (killed.status, again.status) == (1, 0), killed.output + again.output
        assert len(server.requests) == summary(tmp_path / "run")["usage"]["requests"] == 4


def test_the_file_of_a_stop_is_never_seen_half_written(tmp_path):
    file = StopFile(tmp_path)
    file.write("the budget is used up", awaits=True)
    with (tmp_path / STOP).open() as reader:
        file.write("Ctrl-C")
        assert reader.read() == "the budget is used up\nawait"
    assert [path.name for path in tmp_path.iterdir()] == [STOP]


@pytest.mark.parametrize("reason", ["", "the budget of 1s is used up"], ids=["running", "stopping"])
def test_failures_under_maxfail_stop_a_run_once(tmp_path, reason):
    """A run that stops already may await requests."""
    stops = []
    config = SimpleNamespace(option=SimpleNamespace(maxfail=2))
    run = SimpleNamespace(folder=tmp_path, stop_workers=lambda why: (stops.append(why), StopFile(tmp_path).write(why)))
    state = SimpleNamespace(config=config, run=run, failures=0, ordinary_failures=0, missing_reason="")
    if reason:
        StopFile(tmp_path).write(reason, awaits=True)
    reporting = Reporting(state)
    for _ in range(4):
        reporting._count(SimpleNamespace(failed=True, user_properties=[]), None)
    assert (stops, state.failures) == ([] if reason else ["--maxfail=2 ended the run"], 4)
    assert StopFile(tmp_path).awaits() == bool(reason)


@pytest.mark.parametrize("words", [("turns.py", "turns.py", "--keep-duplicates"), ("turns.py", "--count=3")])
@WORKERS
def test_a_case_is_asked_once_however_often_it_is_collected(tmp_path, words, workers):
    (tmp_path / "conftest.py").write_text(REPEAT)
    with FaultServer() as server:
        server.choose = lambda seen: answer("yes")
        workers = (*workers, "-Werror")
        model = ("--model=m", f"--model-url={server.url}", "--run-dir=run")
        result = run(tmp_path, *words[1:], *model, *workers, code=ONCE, cases=3)
        assert result.status == 0, result.output
        assert len(server.requests) == summary(tmp_path / "run")["usage"]["requests"] == 3
    surplus = 3 if "turns.py" in words[1:] else 6
    assert f"{surplus} tests repeat cases and are left out; --attempts=N asks each sample N times" in result.output


REPEAT = """
def pytest_addoption(parser):
    parser.addoption("--count", type=int, default=1)  # as pytest-repeat has it

def pytest_generate_tests(metafunc):
    count = metafunc.config.option.count
    if count > 1:
        metafunc.fixturenames.append("__pytest_repeat_step_number")
        metafunc.parametrize("__pytest_repeat_step_number", range(count), indirect=False)
"""


# -- Cases that were not attempted: every view of the run says why, and calls them no faults.


def checked(folder: Path, output: str, why: str) -> None:
    """Terminal, summary, page, leaderboard and Allure have the reason; none calls the missing cases faults."""
    found = summary(folder)
    missing = found["tasks"]["toy.say"]["missing"]
    assert missing and found["why_missing"] == why, found.get("why_missing")
    assert f"cases are missing: {why}" in output or f"case is missing: {why}" in output, output
    sentence = f"{missing} missing {'case was' if missing == 1 else 'cases were'} not attempted: {why}"
    for file in ("leaderboard.md", *(["report.html"] if "page" in PLUGINS else [])):
        text = (folder / file).read_text(encoding="utf-8")
        assert sentence in text, file
        assert "faults of the run" not in text.replace("broken cases are faults of the run", "")
    results = [json.loads(path.read_text()) for path in (folder.parent / "allure").glob("*-result.json")]
    skipped = [one["statusDetails"]["message"] for one in results if one["status"] == "skipped"]
    assert "allure" not in PLUGINS or skipped == [f"not attempted: {why}"] * missing


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
        done = project.run_process(*model, *workers, option)
    checked(project.path / "run", done.output, why)


@WORKERS
@pytest.mark.uses("budget")
def test_a_budget(tmp_path: Path, workers: tuple[str, ...]) -> None:
    project = Project.make(tmp_path / "project", samples=30)
    with FaultServer(choose=slow(0.2)) as server:
        model = ("--model=m", f"--model-url={server.url}", "--in-flight=2", "--run-dir=run", "--alluredir=allure")
        done = project.run_process(*model, *workers, "--budget=60tok")
        checked(project.path / "run", done.output, "the budget of 60tok is used up")
        again = project.run_process("--rescore=run", "--run-dir=again", "--alluredir=allure")
        assert summary(project.path / "again")["why_missing"] == "the budget of 60tok is used up", again.output
        server.choose = say
        assert project.run_process("--resume=run", f"--model-url={server.url}").status == 0
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


def test_a_test_that_ends_pytest(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project", samples=4)
    (project.path / "test_ends.py").write_text("import pytest\n\ndef test_ends():\n    pytest.exit('enough')\n")
    with FaultServer(choose=slow(0.2)) as server:
        model = ("--model=m", f"--model-url={server.url}", "--in-flight=1", "--run-dir=run", "--alluredir=allure")
        done = project.run_process("test_ends.py", "test_toy.py", *model)
    found = summary(project.path / "run")
    assert found["tasks"]["toy.say"]["missing"] and found["why_missing"] == "pytest ended before them", done.output


def test_another_plugin_that_stops_pytest(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project", samples=8)
    with (project.path / "conftest.py").open("a") as file:
        file.write("\ndef pytest_runtest_teardown(item):\n    item.session.shouldstop = 'the lab closes'\n")
    with FaultServer(choose=slow(0.2)) as server:
        done = project.run_process("--model=m", f"--model-url={server.url}", "--in-flight=1", "--run-dir=run")
    found = summary(project.path / "run")
    assert found["tasks"]["toy.say"]["missing"] and found["why_missing"] == "the lab closes", done.output
