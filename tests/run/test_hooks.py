"""Hooks of a run without pytest, and the figures that they add."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

from agentgauge import Run, UsageProblem
from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.chat import ChatReply
from agentgauge.core.errors import ModelFault, ToolError
from agentgauge.core.registry import Registry
from agentgauge.core.tools import ToolOutput
from agentgauge.core.types import Metric, Sample
from agentgauge.run.added_figures import AddedFigures
from agentgauge.run.hooks import hooks_of
from tests.plugin.toy import toy


def run_with(*plugins: object) -> Run:
    return Run("toy.say", "oracle", registry=Registry([toy()]), data="toy", plugins=plugins)


def test_a_run_has_the_hooks_of_its_plugins(project: Path) -> None:
    seen: list[tuple[str, ...]] = []

    class Watch:
        async def pytest_agentgauge_case_started(self, case):
            seen.append(("started", case.id[1]))

        def pytest_agentgauge_case_finished(self, record):
            seen.append(("finished", record.sample))

        def pytest_agentgauge_summary(self, run):
            run.problems.append(f"{run.summary['toy.say'].passed} passed")

        def pytest_agentgauge_report(self, run):
            seen.append(("report", str((run.folder / "leaderboard.md").exists())))

    run = run_with(Watch())
    asyncio.run(run.solve())
    assert sorted(seen[:-1]) == sorted((what, f"s{number}") for what in ("started", "finished") for number in range(6))
    assert seen[-1] == ("report", "True")
    assert run.problems == ["6 passed"]


def test_a_hook_that_blocks_holds_up_no_other_case(project: Path) -> None:
    together = threading.Barrier(6)

    class Blocks:
        def pytest_agentgauge_request(self, case, request):
            together.wait(10)  # until all cases are here
            return ChatReply(case.sample.payload["say"])

    run = run_with(Blocks())
    assert asyncio.run(run.solve())["toy.say"].passed == 6


def test_what_hooks_take_is_no_time_of_the_endpoint(project: Path) -> None:
    class Slow:
        def pytest_agentgauge_request(self, case, request):
            time.sleep(0.2)

    run = run_with(Slow())
    asyncio.run(run.solve())
    for record in run.records:
        [event] = record.transcript.events
        assert event.seconds < 0.1
        assert record.transcript.times["endpoint"] < 0.1
        assert record.transcript.seconds > 0.2


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("4", "4"),
        (ToolOutput("text", "4"), "4"),
        ([ToolOutput("text", "4")], "4"),
        (4, "pytest_agentgauge_tool_call of Answers answered 4; give a ToolOutput, or None to leave it to the others"),
    ],
)
def test_an_answer_takes_the_place_of_a_tools(answer, expected) -> None:
    class Answers:
        async def pytest_agentgauge_tool_call(self, name, arguments):
            return answer

    case = Case(
        Sample("s", "t", (), {}, Path(), 0), 1, 0, CaseSettings(), None, object(), Path(), hooks=hooks_of([Answers()])
    )
    try:
        [output] = asyncio.run(case.use("Add", {}))
        found = output.content
    except UsageProblem as problem:
        found = str(problem)
    assert found == expected


def test_what_failed_is_told_with_its_reason(project: Path) -> None:
    told = []

    class Refuses:
        def pytest_agentgauge_request(self):
            raise ModelFault("no such model")

        def pytest_agentgauge_tool_call(self):
            raise ToolError("no such file")

        def pytest_agentgauge_failed(self, case, event):
            told.append((case.sample.id, event.kind, event.error))

    case = Case(
        Sample("s", "t", (), {}, Path(), 0),
        1,
        0,
        CaseSettings(),
        Named(),
        object(),
        Path(),
        hooks=hooks_of([Refuses()]),
    )
    with pytest.raises(ModelFault):
        asyncio.run(case.ask("What is 2 + 2?"))
    with pytest.raises(ToolError):
        asyncio.run(case.use("Add", {}))
    assert told == [("s", "model", "no such model"), ("s", "tool", "no such file")]
    assert [event.error for event in case.events] == ["no such model", "no such file"]


def test_a_plugin_may_stop_the_run(project: Path) -> None:
    class Stops:
        def pytest_agentgauge_run_planned(self, run):
            self.run = run

        def pytest_agentgauge_case_finished(self):
            self.run.stop("one is enough")

    run = Run("toy.say", "oracle", registry=Registry([toy()]), data="toy", in_flight=1, plugins=[Stops()])
    asyncio.run(run.solve())
    assert 0 < run.summary["toy.say"].passed < len(run.plan)
    assert any("one is enough" in problem for problem in run.problems)


class Named:
    """A model that is not asked."""

    name = "m"


def test_the_latest_plugin_answers_first(project: Path) -> None:
    class Answers:
        def __init__(self, text):
            self.text = text

        async def pytest_agentgauge_request(self, case):
            return ChatReply(self.text) if self.text else None

    run = run_with(Answers("first"), Answers("second"), Answers(""))
    asyncio.run(run.solve())
    assert {record.transcript.output["answer"] for record in run.records} == {"second"}


def test_a_function_that_is_no_hook_is_refused(project: Path) -> None:
    class Mistyped:
        def pytest_agentgauge_replied(self, reply): ...

    with pytest.raises(UsageProblem, match=r"unknown hook 'pytest_agentgauge_replied'.*docs/hooks.md has all hooks"):
        run_with(Mistyped())


def test_an_argument_that_a_hook_has_not_is_refused(project: Path) -> None:
    class Greedy:
        def pytest_agentgauge_reply(self, case, answer): ...

    with pytest.raises(
        UsageProblem, match=r"^pytest_agentgauge_reply of Greedy takes 'answer'; it may take: case, req"
    ):
        run_with(Greedy())


# -- figures of a project's own


def added(value, groups=None, name="Calls"):
    figures = AddedFigures({"wild": {"Task": {}}}, {"wild": groups or {}})
    figures.add("wild", name, value)
    return figures.of["wild"][name]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, (3.0, None, None, 0)),
        (Metric(3.0, 2.0, 4.0, 9), (3.0, 2.0, 4.0, 9)),
        ({}, (None, None, None, 0)),
        ({"a": 2}, (2.0, None, None, 1)),
        ({"a": 2, "b": 2, "c": 2}, (2.0, None, None, 3)),  # nothing is known of the spread
    ],
)
def test_a_figure(value, expected) -> None:
    assert added(value) == dict(zip(("value", "low", "high", "n"), expected, strict=True)) | {
        "broken": 0,
        "added": True,
    }


def test_the_interval_of_a_mean() -> None:
    """1, 2, 3, 4: the mean ± Student's t with 3 degrees of freedom times 1.2910 / 2."""
    figure = added({"a": 1, "b": 2, "c": 3, "d": 4})
    assert (figure["value"], figure["n"]) == (2.5, 4)
    assert figure["low"] == pytest.approx(2.5 - 3.182446 * 0.645497, abs=1e-4)
    assert figure["high"] == pytest.approx(2.5 + 3.182446 * 0.645497, abs=1e-4)


def test_samples_of_a_group_count_as_one() -> None:
    alone = added({"a": 1, "b": 1, "c": 3, "d": 3})
    grouped = added({"a": 1, "b": 1, "c": 3, "d": 3}, {"a": "x", "b": "x", "c": "y", "d": "y"})
    assert grouped["high"] - grouped["low"] > 2 * (alone["high"] - alone["low"])


@pytest.mark.parametrize(
    ("task", "name", "value", "said"),
    [
        ("wild", "Task", 1, "Task is a figure of wild itself; give yours another name"),
        ("wlid", "Calls", 1, "the run has no task 'wlid'"),
        ("wild", "Calls", "3", "the figure Calls of wild is '3'; give a finite number"),
        ("wild", "Calls", {"a": float("nan")}, "the figure Calls of wild, sample a is nan; give a finite number"),
        (
            "wild",
            "Calls",
            {"a": True},
            "the figure Calls of wild, sample a is True; give a number: for a share in per cent, 100 or 0",
        ),
    ],
)
def test_what_is_no_figure_is_refused(task, name, value, said) -> None:
    figures = AddedFigures({"wild": {"Task": {}}}, {})
    with pytest.raises(UsageProblem, match=said):
        figures.add(task, name, value)


def test_a_figure_of_a_task_that_did_not_run_is_left_out() -> None:
    figures = AddedFigures({"wild": {}}, {})
    figures.add("mmau.tool_single", "Calls", 1)
    assert not figures.of


class Fails:
    def __init__(self, error: Exception) -> None:
        self.error = error

    def pytest_agentgauge_check(self):
        raise self.error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no"), r"pytest_agentgauge_check of Fails has failed \(ValueError: no, line \d+\); correct it"),
        (
            FileNotFoundError(2, "No such file", "owners.txt"),
            r"check of Fails has failed \(FileNotFound",
        ),
        (UsageProblem("select fewer"), "^select fewer$"),
    ],
)
def test_what_refuses_a_run_is_one_sentence(error, said, project: Path) -> None:
    with pytest.raises(UsageProblem, match=said):
        asyncio.run(run_with(Fails(error)).solve())
    assert not (project / "runs").exists() or not list((project / "runs").iterdir())


def test_lines_are_lists_or_one_text_whoever_fails() -> None:
    class Text:
        def pytest_agentgauge_header(self):
            return "one line"

    class Later:
        async def pytest_agentgauge_header(self):
            return ["two", "lines"]

    class Breaks:
        def pytest_agentgauge_header(self):
            yield "lost"
            raise ValueError("no")

    class Number:
        def pytest_agentgauge_header(self):
            return 5

    hooks = hooks_of([Number(), Breaks(), Later(), Text()])
    assert hooks.lines("pytest_agentgauge_header", run=None) == ["one line", "two", "lines"]
    failed = [failure.partition(" has failed")[0] for failure in hooks.failures.sentences()]
    assert [each for each in failed if "agentgauge-" not in each] == [  # our own ask the run, which is none
        "pytest_agentgauge_header of Breaks",
        "pytest_agentgauge_header of Number",
    ]


def test_a_run_fails_with_what_a_plugin_cannot_end(project: Path) -> None:
    class Watches:
        def pytest_agentgauge_begin(self, run):
            run.until_cases_end.callback(lambda: 1 / 0)

    run = run_with(Watches())
    asyncio.run(run.solve())
    assert run.summary["toy.say"].passed == len(run.plan)
    assert [problem for problem in run.problems if "could not be ended (ZeroDivisionError" in problem]


def test_options_are_no_hook_of_others() -> None:
    class Options:
        def pytest_agentgauge_options(self):
            return object

    with pytest.raises(
        UsageProblem, match="options of Options is not called: only AgentGauge has it; use pytest_addoption"
    ):
        hooks_of([Options()])
