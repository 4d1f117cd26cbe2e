"""Faults with real processes and sockets, replies of any form, and mistakes in a benchmark's own code."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Mapping
from glob import escape
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.registry import Registry
from agentgauge.run.limit import limited
from tests.model import fault_server as faults
from tests.plugin.conftest import say, slow, undisturbed
from tests.plugin.project import PYTEST, ROOT, Project, Result, python, records, run_bundled, summary, without_times
from tests.reports.runs import chunks

# -- Faults with real processes and sockets: what is finished is kept, each case ends in the right status, resume
# completes.


TRANSIENT = {
    "429 with Retry-After": faults.status(429, headers={"Retry-After": "0"}),
    "500": faults.status(500),
    "half a body": faults.half_a_body(),
    "html": faults.html(),
    "invalid json": faults.invalid_json(),
    "connection reset": faults.reset(),
}


def test_faults_that_pass_leave_no_trace(project, endpoint):
    """Each of the six samples meets another one."""
    waiting = [*TRANSIENT.values()]
    seen: set[str] = set()

    def first_fails(request):
        text = request.body["messages"][-1]["content"]
        if text in seen:
            return say(request)
        seen.add(text)
        return waiting.pop()

    endpoint.choose = first_fails
    result = project.run("--model", "m", "--model-url", endpoint.url, "--run-dir", "run")
    assert result.status == 0, result.output
    assert not waiting
    assert without_times(result.summary("run")) == undisturbed(6)


LASTING = {
    "429": (faults.status(429, headers={"Retry-After": "0"}), "http 429"),
    "500": (faults.status(500), "http 500"),
    "401": (faults.status(401), "http 401"),
    "half a body": (faults.half_a_body(), "truncated body"),
    "html": (faults.html(), "not json"),
    "invalid json": (faults.invalid_json(), "invalid json"),
    "no answer": (faults.silence(), "timeout"),
}


def test_faults_that_last_break_their_cases_and_resume_completes_the_run(tmp_path, endpoint):
    """One case with each; nine are answered."""
    project = Project.make(tmp_path / "project", samples=16)
    acts = {f"say word{number}": act for number, (act, _) in enumerate(LASTING.values(), 4)}
    endpoint.choose = lambda request: acts.get(request.body["messages"][-1]["content"]) or say(request)
    (project.path / "agentgauge.toml").write_text(
        f'[models.m]\nurl = "{endpoint.url}"\nmodel = "m"\ntimeout = 0.5\nmax_retries = 2\n'
    )
    # in a process of its own, since the endpoint must answer within the half second
    result = project.run_process("--model", "m", "--run-dir", "run")
    assert result.status == 1, result.output
    assert "= 8 passed, 1 wrong, 7 broken in" in result.output
    assert "7 cases are broken" in result.output
    task = result.summary("run")["tasks"]["toy.say"]
    assert (task["passed"], task["wrong"], task["broken"], task["missing"]) == (8, 1, 7, 0)
    causes = {record["sample"]: record["cause"] for record in records(project.path / "run")}
    for number, (_, cause) in enumerate(LASTING.values(), 4):
        assert causes[f"s{number}"].startswith(cause)
    accuracy = task["metrics"]["Acc"]
    assert accuracy["value"] == pytest.approx(100 * 8 / 16)
    assert accuracy["value_clean"] == pytest.approx(100 * 8 / 9)
    endpoint.choose = say
    resumed = project.run("--resume", "run")
    assert resumed.status == 0, resumed.output
    assert "9 cases are kept, 7 run" in resumed.output
    assert f"agentgauge: model m at {endpoint.url} " in resumed.output, resumed.output
    assert resumed.summary("run")["tasks"]["toy.say"]["comparable"] is True
    assert without_times(resumed.summary("run"))["tasks"] == undisturbed(16)["tasks"]


ODD = {
    "an empty message": faults.answer(""),
    "no text at all": faults.answer(None),
    "a refusal": faults.answer(None, refusal="I cannot help with that"),
    "a tool call with broken arguments": faults.answer(None, tool_calls=[faults.tool_call("OCR", '{"image": ')]),
}


def test_odd_answers_are_the_models_own_and_wrong(project, endpoint):
    odd = itertools.cycle(ODD.values())
    endpoint.choose = lambda request: next(odd)
    result = project.run("--model", "m", "--model-url", endpoint.url, "--run-dir", "run")
    assert result.status == 0, result.output
    assert result.summary("run")["tasks"]["toy.say"]["wrong"] == 6


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_an_endpoint_that_dies_breaks_the_rest_quickly_and_resume_completes(tmp_path, workers):
    project = Project.make(tmp_path / "project", samples=40)
    with faults.FaultServer(choose=say) as endpoint:
        answered = []

        def then_dies(request):
            answered.append(request)
            return say(request) if len(answered) <= 10 else faults.reset()

        endpoint.choose = then_dies
        result = project.run(
            "--model", "m", "--model-url", endpoint.url, "--in-flight", "4", *workers, "--run-dir", "run"
        )
        task = result.summary("run")["tasks"]["toy.say"]
        assert result.status == 1, result.output
        assert task["passed"] + task["wrong"] >= 8
        assert task["broken"] >= 20
        assert task["missing"] == 0
        assert len(answered) < 250  # not every case goes through all its retries
        endpoint.choose = say
        resumed = project.run("--model-url", endpoint.url, "--resume", "run", *workers)
        assert resumed.status == 0, resumed.output
        assert without_times(resumed.summary("run"))["tasks"] == undisturbed(40)["tasks"]


def wait_for_records(folder, number: int, seconds: float = 60) -> None:
    """Until the workers have written some records."""
    deadline = time.monotonic() + seconds
    while sum(file.read_bytes().count(b"\n") for file in folder.glob("records/*.jsonl")) < number:
        assert time.monotonic() < deadline, "no records came"
        time.sleep(0.02)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_an_interrupted_run_keeps_what_is_finished_and_can_be_resumed(tmp_path, workers, number):
    project = Project.make(tmp_path / "project", samples=40)
    with faults.FaultServer(choose=slow(0.2)) as endpoint:
        process = project.start(
            "--model", "m", "--model-url", endpoint.url, "--in-flight", "4", *workers, "--run-dir", "run"
        )
        wait_for_records(project.path / "run", 6)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # a terminal sends Ctrl-C to the whole group
        else:
            process.send_signal(number)
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 2, output
        assert f"stopped early: interrupted; continue with --resume={project.path / 'run'}" in output
        kept = {record["sample"]: record["finished"] for record in records(project.path / "run")}
        assert 6 <= len(kept) < 40
        assert summary(project.path / "run")["tasks"]["toy.say"]["missing"] == 40 - len(kept)
        endpoint.choose = say
        resumed = project.run("--model-url", endpoint.url, "--resume", "run", *workers)
        assert resumed.status == 0, resumed.output
        again = {record["sample"]: record["finished"] for record in records(project.path / "run")}
        assert kept.items() <= again.items()  # nothing was run twice
        assert without_times(summary(project.path / "run"))["tasks"] == undisturbed(40)["tasks"]


@pytest.mark.parametrize("which", [0, 1])
def test_a_killed_worker_is_replaced_and_nothing_is_lost(tmp_path, which):
    project = Project.make(tmp_path / "project", samples=40)
    (project.path / "test_pid.py").write_text("")
    with faults.FaultServer(choose=slow(0.1)) as endpoint:
        process = project.start(
            "--model", "m", "--model-url", endpoint.url, "--in-flight", "4", "-n", "2", "--run-dir", "run"
        )
        wait_for_records(project.path / "run", 6)
        os.kill(worker_pid(process.pid, which), signal.SIGKILL)
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output
        assert "replacing crashed worker" in output
        endpoint.choose = say
        assert without_times(summary(project.path / "run"))["tasks"] == undisturbed(40)["tasks"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs a signal at the parent's end")
def test_workers_end_with_a_killed_controller_whatever_they_wait_for(tmp_path):
    project = Project.make(tmp_path / "project", samples=20)

    def only_the_first(seen):
        return say(seen) if "word0" in seen.body["messages"][-1]["content"] else faults.silence()

    with faults.FaultServer(choose=only_the_first) as endpoint:
        process = project.start(
            "--model", "m", "--model-url", endpoint.url, "--in-flight", "4", "-n", "2", "--run-dir", "run"
        )
        wait_for_records(project.path / "run", 1)
        workers = [worker_pid(process.pid, which) for which in (0, 1)]
        process.kill()
        process.communicate(timeout=20)  # they hold its output open
        deadline = time.monotonic() + 20
        while any(Path(f"/proc/{worker}").exists() for worker in workers):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        endpoint.choose = say
        resumed = project.run("--model-url", endpoint.url, "--resume", "run", "-n", "2")
        assert resumed.status == 0, resumed.output
        assert len(records(project.path / "run")) == 20


@pytest.mark.parametrize("workers", [(), ("--tx", "2*popen", "--dist", "load")], ids=["serial", "two workers"])
def test_a_stop_that_comes_before_the_first_case_leaves_all_missing_and_nobody_waiting(
    project, model, endpoint, workers
):
    with (project.path / "conftest.py").open("a") as stream:
        stream.write(STOPPED)
    result = project.run(*model, *workers, "--run-dir", "run", seconds=60)
    assert result.summary("run")["tasks"]["toy.say"]["missing"] == 6, result.output
    assert not endpoint.requests


STOPPED = """
import pathlib
import pytest
class Stop:
    @pytest.hookimpl(wrapper=True, tryfirst=True)  # before the look-ahead begins: this plugin is registered last
    def pytest_runtest_protocol(self):
        pathlib.Path("run/stop").write_text("stopped by another worker")
        return (yield)
@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    config.pluginmanager.register(Stop())
"""


def worker_pid(controller: int, which: int) -> int:
    """An xdist worker of this run: a child that is a Python running execnet."""
    return int(Path(f"/proc/{controller}/task/{controller}/children").read_text().split()[which])


KEPT = """
def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        open("kept-" + session.config.workerinput["workerid"], "w").write(str(sum(map(len, reporter.stats.values()))))
"""


def test_a_worker_keeps_no_reports_which_nobody_reads(project, model):
    """pytest would look through all of them for each failure."""
    with (project.path / "conftest.py").open("a") as stream:
        stream.write(KEPT)
    result = project.run(*model, "-n", "2", "--run-dir", "run")
    assert result.status == 0, result.output
    assert "wrong 1" in result.output
    assert {file.read_text() for file in project.path.glob("kept-*")} == {"0"}


# -- Code of a benchmark that raises what is no ``Exception``: ``sys.exit``, Ctrl-C's, a cancellation, pytest's own.
# It breaks its case, and the run goes on.


BENCHMARK = '''
import asyncio, sys
import pytest
from agentgauge import benchmark

def leave(code: str) -> str:
    """Leave."""
    sys.exit(code)

def raised(error):
    raise error

async def exits():
    sys.exit(3)

async def in_a_group():
    async with asyncio.TaskGroup() as group:
        group.create_task(exits())

RUN = {
    "exits": exits,
    "raises-ctrl-c": lambda: raised(KeyboardInterrupt()),
    "is-cancelled": lambda: raised(asyncio.CancelledError()),
    "skips": lambda: pytest.skip("why"),
    "exits-in-a-task": lambda: asyncio.gather(exits(), asyncio.sleep(0.1)),
    "exits-in-a-group": in_a_group,
    "exits-in-a-thread": lambda: asyncio.to_thread(sys.exit, 3),
}

@benchmark("exits", data="samples.jsonl")
class Exits:
    tools = [leave]

    async def run(self, case):
        if case.sample["id"] in RUN:
            await RUN[case.sample["id"]]()
        return await case.converse("?")

    def score(self, sample, talk):
        if sample["id"] == "exits-in-score":
            sys.exit(3)
        if sample["id"] == "fails-in-score":
            pytest.fail("no")
        return True

    def oracle(self, sample):
        if sample["id"] == "exits-in-oracle":
            sys.exit(3)
        if sample["id"] == "exits-in-tool":
            return [{"name": "leave", "arguments": {"code": "3"}}, "yes"]
        return "yes"
'''
WHY = {
    "exits": "SystemExit: 3",
    "raises-ctrl-c": "KeyboardInterrupt",
    "is-cancelled": "CancelledError",
    "skips": "Skipped: why",
    "exits-in-a-task": "SystemExit: 3",
    "exits-in-a-group": "SystemExit: 3",
    "exits-in-a-thread": "SystemExit: 3",
    "exits-in-score": "SystemExit: 3",
    "fails-in-score": "Failed: no",
    "exits-in-oracle": "SystemExit: 3",
    "exits-in-tool": "the tool leave raised SystemExit",
}
SOUND = ("before", "after")


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two workers"])
def test_it_breaks_its_case_alone(workers, tmp_path):
    (tmp_path / "exits.py").write_text(BENCHMARK)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    samples = [json.dumps({"id": name}) for name in (SOUND[0], *WHY, SOUND[1])]
    (tmp_path / "samples.jsonl").write_text("\n".join(samples) + "\n")
    result = python(*PYTEST, "exits.py", "--model=oracle", "--run-dir=run", *workers, cwd=tmp_path, seconds=120)
    assert result.status == 1, result.output
    found = {record["sample"]: record for record in records(tmp_path / "run")}
    assert {name: record["status"] for name, record in found.items()} == {
        **dict.fromkeys(WHY, "broken"),
        **dict.fromkeys(SOUND, "passed"),
    }
    assert all(why in found[name]["error"] for name, why in WHY.items())
    assert f"{len(SOUND)} passed, {len(WHY)} broken" in result.output


# -- A model's reply never breaks a case and never ends a run, whatever it is.


def call(**fields: Any) -> dict[str, Any]:
    return {"message": {"content": None, "tool_calls": [fields]}}


FUNCTION = {"name": "Calculator", "arguments": '{"expression": "1"}'}
REPLIES: Mapping[str, Any] = {
    "a number": "42",
    "empty": "",
    "null content": {"message": {"content": None}},
    "nested brackets": "[" * 5000 + "]" * 5000,
    "a long number": "1" * 10_000,
    "a call without id": call(type="function", function=FUNCTION),
    "a call without arguments": call(id="c", type="function", function={"name": "Calculator"}),
    "nested arguments": call(
        id="c", type="function", function={**FUNCTION, "arguments": '{"expression": ' + "[" * 600 + "]" * 600 + "}"}
    ),
    "a long number in arguments": call(
        id="c", type="function", function={**FUNCTION, "arguments": '{"expression": ' + "1" * 10_000 + "}"}
    ),
    "a long number of a plan": f"Chosen Plan: {'1' * 10_000} #ANSWER#: {'1' * 10_000}",
    "a call without function": call(id="c", type="function"),
    "half a character": {"message": {"content": "\ud800"}},
}
"""Each answers every request of one sample of every task; tasks with fewer samples leave the last ones out."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("any")
    replies = {
        f"{task.name}/{escape(row.id)}": [reply]
        for task in Registry.installed()
        for row, reply in zip(
            limited(task.data.index(task.data.bundled).rows, len(REPLIES), task.data), REPLIES.values(), strict=False
        )
    }
    (folder / "script.json").write_text(json.dumps({"replies": replies}))
    run_bundled("--model=scripted:script.json", f"--limit={len(REPLIES)}", "--run-dir=run", cwd=folder)
    return folder / "run"


@pytest.mark.uses("page")
def test_no_case_is_broken_or_missing_and_the_report_is_written(run: Path) -> None:
    tasks = summary(run)["tasks"]
    assert set(tasks) == {task.name for task in Registry.installed() if not task.data.in_run_folder}
    assert {name: (one["broken"], one["missing"]) for name, one in tasks.items()} == dict.fromkeys(tasks, (0, 0))
    assert all(one["planned"] >= 7 for one in tasks.values())
    assert (run / "report.html").stat().st_size > 100_000


def test_replies_on_which_the_published_evaluator_stops_are_counted(run: Path) -> None:
    stopped = {record["task"] for record in records(run) if record["score"]["stops"]}
    assert {"mmau.dag_planning", "mmau.contest_standard", "mmau.ds_e2e", "mmau.math_standard"} <= stopped
    counted = {name: one["stops"] for name, one in summary(run)["tasks"].items() if one["stops"]}
    assert set(counted) == stopped


# -- A mistake in a benchmark's own code: where its author finds the traceback, from their first frame on.


MINE = """
from agentgauge import benchmark
from helper import wanted

def stock(name: str) -> int:
    \"\"\"How many there are.\"\"\"
    return {"apple": 3}[name]

@benchmark("sums", data="sums.jsonl", metrics={"Accuracy": "mean passed", "Own": lambda sums: FIGURE})
class Sums:
    tools = [stock]

    async def run(self, case):
        if case.sample.id == "run":
            await self.ask_nothing(case)
        return await case.converse(case.sample["question"])

    async def ask_nothing(self, case):
        wanted(case.sample)

    def score(self, sample, answer):
        if sample.id == "score":
            raise RuntimeError("the key is sk-1234567890abcdef")
        return True

    def oracle(self, sample):
        if sample.id == "tool":
            return [{"name": "stock", "arguments": {"name": "pear"}}, "2"]
        return sample["gold" if sample.id == "oracle" else "answer"]
"""
HELPER = 'def wanted(sample):\n    return sample["answr"]\n'
CASES = ("run", "score", "oracle", "tool", "right")

FRAMES = {
    "run": ["mine.py:15: in run", "mine.py:19: in ask_nothing", "helper.py:2: in wanted", "E   KeyError: 'answr'"],
    "score": ["mine.py:23: in score", "E   RuntimeError: the key is [key]"],
    "oracle": ["mine.py:29: in oracle", "E   KeyError: 'gold'"],
    "tool": ["mine.py:7: in stock", "E   KeyError: 'pear'"],
}
"""Case → the lines that a short traceback has, and no frame that leads there."""

SECRET = {"SOME_API_TOKEN": "sk-1234567890abcdef"}


def project(folder: Path, figure: str = "50.0") -> Project:
    (folder / "mine.py").write_text(MINE.replace("FIGURE", figure))
    (folder / "helper.py").write_text(HELPER)
    lines = [json.dumps({"id": name, "question": "1 + 1", "answer": "2"}) for name in CASES]
    (folder / "sums.jsonl").write_text("\n".join(lines))
    return Project(folder)


def broken(result: Result) -> dict[str, list[str]]:
    """Case → the lines that the end of the run shows of it."""
    shown = result.output[result.output.index("\nbroken  ") :].partition("\n====")[0]
    parts = [part.splitlines() for part in shown.split("\nbroken  ")[1:]]
    return {lines[0].partition("[")[2].rstrip("]"): [line[4:] for line in lines[1:]] for lines in parts}


def run_mistakes(made: Project, *words: str) -> Result:
    return made.run("mine.py", "--model=oracle", *words, data="auto", env=SECRET)


@pytest.fixture(scope="module", params=[(), ("-n", "2")], ids=["one process", "two workers"])
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Result]:
    made = project(tmp_path_factory.mktemp("mine"))
    return made, run_mistakes(made, "-v", "--tb=short", "--run-dir=run", *request.param)


def test_the_end_of_a_run_shows_it_from_the_authors_frame_on(done: tuple[Project, Result]) -> None:
    _, result = done
    assert result.status == 1 and result.output.count("PASSED") == 1
    found = broken(result)
    assert found.keys() == FRAMES.keys()
    for case, lines in FRAMES.items():
        own = [line for line in found[case] if not line.startswith((" ", "agentgauge/core/types.py"))]
        assert own[1:] == ["Traceback, from the benchmark's code on:", *lines], result.output
        assert "    " + {"run": 'return sample["answr"]'}.get(case, "") in "\n".join(found[case])
    assert found["run"][0] == "internal error at helper.py:2: KeyError: 'answr'"
    assert found["oracle"][0] == "model oracle: internal error at mine.py:29: KeyError: 'gold'"
    assert found["tool"][0].startswith("the tool stock raised KeyError at mine.py:7: 'pear'; raise ToolError for")


@pytest.mark.uses("page")
def test_records_and_the_page_hold_it(done: tuple[Project, Result]) -> None:
    made, _ = done
    kept = {one["sample"]: one.get("traceback") for one in records(made.path / "run")}
    assert kept["right"] is None  # records of other cases are as before
    for case, lines in FRAMES.items():
        (link,) = kept[case]
        frames = [f"{frame['path']}:{frame['line']}: in {frame['function']}" for frame in link["frames"]]
        assert [frame for frame in frames if "agentgauge/" not in frame] == lines[:-1]
        assert f"E   {link['error']}" == lines[-1]
    text = (made.path / "run" / "records.jsonl").read_text()
    assert str(made.path) not in text and SECRET["SOME_API_TOKEN"] not in text
    page = json.dumps(chunks(made.path / "run" / "report.html"), ensure_ascii=False)
    assert [line for lines in FRAMES.values() for line in lines if line not in page] == []
    assert kept["run"][0]["frames"][2]["source"] == ["def wanted(sample):", '    return sample["answr"]']


@pytest.mark.parametrize(
    ("style", "lines"),
    [
        ("long", [">           wanted(case.sample)", "E   KeyError: 'answr'", "helper.py:2: in wanted"]),
        (
            "native",
            ["Traceback (most recent call last):", '  File "helper.py", line 2, in wanted', "KeyError: 'answr'"],
        ),
        ("line", ["agentgauge/core/types.py: KeyError: 'answr'"]),
        ("no", []),
    ],
)
def test_tb_is_honoured(style: str, lines: list[str], tmp_path: Path) -> None:
    result = run_mistakes(project(tmp_path), f"--tb={style}", "-k", "run", "--run-dir=run")
    (head, *found) = broken(result)["run"]
    assert head == "internal error at helper.py:2: KeyError: 'answr'"
    found = [re.sub(r"^(agentgauge/.*\.py):\d+", r"\1", line) for line in found]
    assert [line for line in lines if line not in found] == [] and bool(found) is bool(lines), result.output


def test_a_resumed_run_runs_the_case_again(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert run_mistakes(made, "-k", "run or right", "--run-dir=run").status == 1
    (tmp_path / "helper.py").write_text(HELPER.replace("answr", "answer"))
    again = made.run("mine.py", "--resume=run", data="auto")
    assert again.status == 0 and "2 planned · 2 passed" in again.output
    assert [one.get("traceback") for one in records(tmp_path / "run")] == [None, None]


def test_a_formula_that_fails_at_the_end_costs_no_answer(tmp_path: Path) -> None:
    figure = '[50.0][int(sums["passed"])]'
    made = project(tmp_path, figure)
    result = run_mistakes(made, "-k", "right", "--run-dir=run", "--tb=short")
    assert result.status == 1 and "INTERNALERROR" not in result.output
    assert "no summary, because code of the benchmark failed: IndexError at mine.py:9:" in result.output
    assert "\nTraceback, from the benchmark's code on:\nmine.py:9: in <lambda>\n" in result.output
    (tmp_path / "mine.py").write_text(MINE.replace("FIGURE", "50.0"))
    assert made.run("mine.py", "--rescore=run", "--run-dir=again", data="auto").status == 0


FILES = {
    "__init__.py": "",
    "questions.jsonl": '{"id": "q1", "question": "1 + 1?", "answer": "2"}\n',
    "data.py": """import json
from pathlib import Path

from agentgauge import Sample
from agentgauge.authoring import DataSource, build_index, line_entries


class Questions(DataSource):
    name = "newb"
    files = ("questions.jsonl",)
    bundled = Path(__file__).parent

    def index(self, root):
        return build_index([root / "questions.jsonl"], line_entries, _describe)

    def load(self, index, row, task):
        return Sample(row.id, task, row.tags, json.loads(row.text), index.root, row.position)


def _describe(entry):
    given = entry.value
    return given["id"], ()
""",
    "score.py": """from agentgauge import Score


def score_reply(reply, gold):
    return Score(reply == gold, {"right": float(reply == gold), "all": 1.0})
""",
    "task.py": """import json

from agentgauge import Task
from agentgauge.authoring import ChatReply, MetricFormula

from newb.data import Questions
from newb.score import score_reply


async def run(case):
    reply = await case.ask(case.sample.payload["question"])
    return json.loads(json.dumps(reply.text))


def score(sample, output, scoring, similarity):
    return score_reply(output, sample.payload["answer"])


def metrics(scoring):
    return MetricFormula(_accuracy, {"Accuracy": ("all",)})


def _accuracy(sums):
    return {"Accuracy": 100 * sums["right"] / sums["all"] if sums.get("all") else None}


def oracle(sample, request, *, one_call=False):
    return ChatReply(sample.payload["answer"])


NEWB = Task(name="newb", data=Questions(), run=run, score=score, metrics=metrics, oracle=oracle)
""",
    "plugin.py": """def pytest_agentgauge_tasks():
    from newb.task import NEWB

    return [NEWB]
""",
    "test_newb.py": """from agentgauge import benchmark_task


@benchmark_task("newb")
def test_newb(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation
""",
}
"""A benchmark in a package, whose parts are in modules of their own."""

PACKAGE = {
    "import": ("task.py", "import json", "import json, nothere", "newb/task.py:1: in <module>"),
    "syntax": ("task.py", "import json", "import json (", "E   SyntaxError: "),
    "announcement": ("task.py", "return MetricFormula(", "return MetricFormla(", "in metrics"),
    "describe": ("data.py", 'return given["id"]', 'return given["idd"]', "in _describe"),
    "load": ("data.py", "Sample(row.id", "Sample(row.idd", "in load"),
    "run": ("task.py", 'case.sample.payload["question"]', 'case.sample.payload["qestion"]', "newb/task.py:11: in run"),
    "score": ("score.py", "def score_reply(", "def score_reply(reply, gold):\n    nothing\n\ndef x(", "in score_reply"),
    "oracle": ("task.py", "return ChatReply(", "return ChatRply(", "in oracle"),
    "metrics": ("task.py", 'sums["right"]', 'sums["rigth"]', "in _accuracy"),
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages that has this one."""
    site = tmp_path_factory.mktemp("site")
    (site / "newb").mkdir()
    for name, text in FILES.items():
        (site / "newb" / name).write_text(text)
    (site / "newb-0.1.dist-info").mkdir()
    (site / "newb-0.1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: newb\nVersion: 0.1\n")
    (site / "newb-0.1.dist-info" / "entry_points.txt").write_text("[agentgauge]\nnewb = newb.plugin\n")
    return site


@pytest.mark.parametrize("mistake", PACKAGE)
def test_wherever_the_mistake_is_in_a_package(mistake: str, package: Path, tmp_path: Path) -> None:
    shutil.copytree(package, tmp_path / "site")
    name, right, wrong, line = PACKAGE[mistake]
    file = tmp_path / "site" / "newb" / name
    file.write_text(file.read_text().replace(right, wrong, 1))
    env = {"PYTHONPATH": f"{tmp_path / 'site'}:{ROOT}:{ROOT / 'reports'}"}
    words = ("--rootdir=site", "site/newb/test_newb.py", "--model=oracle", "--limit=1", "--tb=short")
    result = Project(tmp_path).run(*words, data="auto", env=env)
    assert result.status != 0 and "INTERNALERROR" not in result.output
    _, heading, trace = result.output.partition("Traceback, from the benchmark's code on:\n")
    shown = trace.partition("E   ")[0]
    assert heading and line in trace and not any(name in shown for name in ("_pytest", "pytest_plugin", "importlib")), (
        result.output
    )
