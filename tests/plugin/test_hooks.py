"""The hooks that a project implements: which are called, where, and what becomes of their answers and errors."""

from __future__ import annotations

import json

import pytest

from tests.plugin.project import Project, records, summary

ALL = """
import os

def note(*words):
    with open({file!r}, "a") as stream:
        print(*words, file=stream)

def pytest_agentgauge_run_planned(run):
    note("planned", len(run.plan))

async def pytest_agentgauge_case_started(case):
    note("started", case.id[1])

def pytest_agentgauge_reply(case, reply):
    note("reply", case.id[1], reply.text)

async def pytest_agentgauge_case_finished(record):
    note("finished", record.sample, record.status)

async def pytest_agentgauge_report(run):
    note("report", run.summary["toy.say"].passed)

def pytest_agentgauge_terminal(run, write):
    write("tracked as " + run.folder.name)
"""


@pytest.mark.parametrize("options", [("-n", "0"), ("-n", "2")])
def test_each_hook_is_called(options, tmp_path):
    project = Project.make(tmp_path / "p", 2)
    add(project, ALL.format(file=str(tmp_path / "seen")))
    result = project.run("--model=oracle", "--run-dir=run", *options)
    assert result.status == 0, result.output
    seen = (tmp_path / "seen").read_text().splitlines()
    assert seen[0] == "planned 2"
    assert seen[-1] == "report 2"
    names = sorted(record["sample"] for record in records(project.path / "run"))
    for name in names:
        expected = [f"started {name}", f"reply {name} {said(project, name)}", f"finished {name} passed"]
        assert [line for line in seen if line.split()[1] == name] == expected
    assert "tracked as run" in result.output


def add(project, text, folder="."):
    path = project.path / folder / "conftest.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text((path.read_text() if path.exists() else "") + text)


def said(project, name):
    samples = map(json.loads, (project.path / "toy" / "toy.jsonl").read_text().splitlines())
    return next(sample["say"] for sample in samples if sample["id"] == name)


ANSWERS = {
    "a sync one": ("def pytest_agentgauge_request(case, request):\n    return ChatReply('no')", "wrong"),
    "an async one": ("async def pytest_agentgauge_request(request):\n    return ChatReply('no')", "wrong"),
    "None leaves it to the model": ("def pytest_agentgauge_request(case):\n    return None", "passed"),
    "an error": ("def pytest_agentgauge_request(case):\n    raise KeyError('x')", "broken"),
    "no reply": ("def pytest_agentgauge_request(case):\n    return 'no'", "broken"),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_an_answer_takes_the_place_of_the_models(case, tmp_path):
    hook, status = ANSWERS[case]
    project = Project.make(tmp_path / "p", 1)
    add(project, f"from agentgauge.authoring import ChatReply\n{hook}\n")
    project.run("--model=oracle", "--run-dir=run")
    [record] = records(project.path / "run")
    assert record["status"] == status
    if status == "wrong":
        [event] = record["transcript"]["events"]
        assert event["detail"]["answered_by"] == "conftest.py"
        note = "hooks of conftest.py answered in the place of a model or a tool in 1 of 1 case"
        found = summary(project.path / "run")
        assert f"toy.say: {note}" in found["doubts"]
        assert not found["tasks"]["toy.say"]["comparable"]
        assert note in (project.path / "run" / "leaderboard.md").read_text()
    if case == "no reply":
        assert "pytest_agentgauge_request of conftest.py answered 'no'; give a ChatReply, or None" in record["error"]


def test_an_observer_that_fails_is_one_note(tmp_path):
    project = Project.make(tmp_path / "p", 3)
    add(project, "def pytest_agentgauge_reply(reply):\n    raise ValueError('no tracker')\n")
    result = project.run("--model=oracle", "--run-dir=run")
    assert result.status == 0
    note = "pytest_agentgauge_reply of conftest.py has failed 3 times (ValueError: no tracker, line 5);"
    assert result.output.count(note) == 1


def test_a_judge_that_fails_fails_the_run(tmp_path):
    project = Project.make(tmp_path / "p", 1)
    add(project, "def pytest_agentgauge_summary(run):\n    raise KeyError('usd')\n")
    result = project.run("--model=oracle", "--run-dir=run")
    assert result.status == 1
    assert "pytest_agentgauge_summary of conftest.py has failed once (KeyError: 'usd'" in result.output
    assert "the run is not judged by it" in result.output


def test_a_folders_hooks_see_its_cases_alone(tmp_path):
    project = Project.make(tmp_path / "p", 1)
    (project.path / "other").mkdir()
    test = (project.path / "test_toy.py").read_text()
    (project.path / "other" / "test_other.py").write_text(test)
    add(project, "def pytest_agentgauge_case_started(case):\n    open('seen', 'a').write('x')\n", "other")
    project.run("--model=oracle", "--run-dir=one", "test_toy.py")
    assert not (project.path / "seen").exists()
    project.run("--model=oracle", "--run-dir=two", "other")
    assert (project.path / "seen").read_text() == "x"


@pytest.mark.parametrize("options", [("-n", "0"), ("-n", "2")])
def test_cases_of_an_installed_package_count_as_the_projects_own(options, tmp_path):
    project = Project.make(tmp_path / "p", 1)
    add(project, "def pytest_agentgauge_case_finished(record):\n    open('seen', 'a').write('x')\n")
    project.run("--pyargs", "bench_wild", "--model=oracle", "--limit=4", *options, data="auto")
    assert (project.path / "seen").read_text() == "xxxx"


EVENTS = """
import asyncio

async def pytest_agentgauge_request(request):
    await asyncio.sleep(0.2)
    return ChatReply("no")

def pytest_agentgauge_reply(case, event):
    assert event is case.events[-1]
    open("seen", "w").write(f"{event.kind} {event.name} {event.seconds > 0.1} {event.start}")
"""


def test_a_reply_comes_with_its_event(tmp_path):
    project = Project.make(tmp_path / "p", 1)
    add(project, f"from agentgauge.authoring import ChatReply\n{EVENTS}")
    project.run("--model=oracle", "--run-dir=run")
    [record] = records(project.path / "run")
    [event] = record["transcript"]["events"]
    assert (project.path / "seen").read_text() == f"model oracle True {event['start']}"


FIGURES = """
def pytest_agentgauge_figures(run, figures):
    figures.add("toy.say", "Length", {{record.sample: len(record.sample) for record in run.records}})
    figures.add("toy.say", "{name}", 7)
"""


@pytest.mark.uses("page")
def test_a_figure_of_ones_own_is_in_the_tables(tmp_path):
    project = Project.make(tmp_path / "p", 12)
    add(project, FIGURES.format(name="Seven"))
    result = project.run("--model=oracle", "--run-dir=run")
    metrics = summary(project.path / "run")["tasks"]["toy.say"]["metrics"]
    assert metrics["Seven"] == {"value": 7.0, "low": None, "high": None, "n": 0, "broken": 0, "added": True}
    length = metrics["Length"]
    assert length["low"] < length["value"] < length["high"]
    assert length["n"] == 12
    assert "Length" in result.output
    assert "Length" in (project.path / "run" / "report.html").read_text()


def test_a_benchmarks_own_figure_cannot_be_replaced(tmp_path):
    project = Project.make(tmp_path / "p", 1)
    add(project, FIGURES.format(name="Acc"))
    result = project.run("--model=oracle", "--run-dir=run")
    assert "Acc is a figure of toy.say itself; give yours another name" in result.output
    assert summary(project.path / "run")["tasks"]["toy.say"]["metrics"]["Acc"]["value"] == 100.0


@pytest.mark.uses("allure")
def test_allures_result_of_a_case_can_be_changed(tmp_path):
    project = Project.make(tmp_path / "p", 1)
    label = "{'name': 'owner', 'value': record.task}"
    hook = f"def pytest_agentgauge_allure_result(result, record):\n    result['labels'].append({label})\n"
    add(project, hook)
    project.run("--model=oracle", "--run-dir=run", "--alluredir=allure")
    [result] = [json.loads(path.read_text()) for path in (project.path / "allure").glob("*-result.json")]
    assert {"name": "owner", "value": "toy.say"} in result["labels"]


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        ("def pytest_agentgauge_replied(reply): ...", "ERROR: unknown hook 'pytest_agentgauge_replied' in conftest.py"),
        ("def pytest_agentgauge_replied(reply): ...", "(did you mean reply?); docs/hooks.md has all hooks"),
        (
            "def pytest_agentgauge_case_finished(record, status): ...",
            "ERROR: pytest_agentgauge_case_finished of conftest.py takes 'status'; it may take: record; docs/hooks.md",
        ),
        ("import pytest\n@pytest.hookimpl(wrapper=True)\ndef pytest_agentgauge_reply():\n    yield", "is a wrapper"),
        (
            "def pytest_agentgauge_tools(): ...",
            "pytest_agentgauge_tools of conftest.py is not called: it announces what",
        ),
    ],
)
def test_what_is_no_such_hook_is_refused(hook, said, tmp_path):
    project = Project.make(tmp_path / "p", 1)
    add(project, f"{hook}\n")
    result = project.run("--model=oracle", "--run-dir=run")
    assert result.status != 0
    assert said in result.output
