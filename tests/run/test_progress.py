"""The line about a run, and the screen that shows it."""

from __future__ import annotations

import pytest

from agentgauge.run.coordination.numbers import Numbers
from agentgauge.run.coordination.stopping import StopFile
from agentgauge.run.coordination.waiting_requests import FILE, FORM, Waiting
from agentgauge.run.crashes import RunningCases
from agentgauge.run.progress import Rate, RunLine, in_flight, retries
from agentgauge.run.screen import Screen, fitted


class Known:
    """A run in this state."""

    def __init__(self, **state):
        tasks = [{"name": "t", "planned": 10, "passed": 3, "wrong": 1, "broken": 0}]
        self._state = {"tasks": tasks, "tokens": 1234, "usd": 0.5, "left": 65.0} | state

    def read(self, started):
        pass

    def state(self):
        return self._state


def test_a_line_has_what_is_known(tmp_path, monkeypatch):
    line = RunLine(tmp_path, Known())
    cases = "4/10 · passed 3 · wrong 1 · broken 0"
    assert line.rows() == [f"{cases} · about 1m05 left", "$0.50 · 1.2k tokens"]
    assert line.text({"t": 10}, ended=True) == f"{cases} · $0.50 · 1.2k tokens"
    assert RunLine(tmp_path, Known(tasks=[])).text() == "starts"
    StopFile(tmp_path).write("the budget of 1s is used up", awaits=True)
    assert line.rows() == [cases, "$0.50 · 1.2k tokens"]
    monkeypatch.setattr(Rate, "per_second", lambda self, count, now: count / 10)
    Numbers(tmp_path / FILE, FORM, 0).write(1, 7, 20, 16, 2, 5, 40)
    Numbers(tmp_path / FILE, FORM, 1).write(0, 1, 16, 16, 0, 0, 2500)
    waits = "1 request waits for more than 2 min"
    before = "8/32 concurrent requests · 3 retries, 2 requests wait to be sent again · $0.50 · 254 tokens/s"
    assert line.rows()[1] == f"{before} · {waits} · 1.2k tokens"
    for worker, sample in (("gw1", "s9"), ("gw0", "s3")):
        RunningCases(tmp_path, worker).begin(("toy", sample, 2), alone=False)
    begun = tmp_path / "running" / "gw0.jsonl"
    begun.write_text('["+", "toy", "s3", 2, false, 1.0]\n')  # long ago
    assert line.rows()[1].startswith(f"{before} · {waits} · longest case: toy s3 #2, ")


def test_a_little_money_is_not_nothing(tmp_path):
    assert RunLine(tmp_path, Known(usd=0.004)).rows()[1] == "less than $0.01 · 1.2k tokens"


def test_no_time_is_left_known_during_an_outage(tmp_path, monkeypatch):
    monkeypatch.setattr("agentgauge.run.progress.waiting_requests", lambda folder: Waiting(outages="no answer from x"))
    assert RunLine(tmp_path, Known()).rows() == [
        "4/10 · passed 3 · wrong 1 · broken 0",
        "no answer from x · $0.50 · 1.2k tokens",
    ]


@pytest.mark.parametrize(("resting", "is_known"), [(0, True), (2, True), (3, False)])
def test_no_time_is_left_known_where_retries_make_the_pace(tmp_path, monkeypatch, resting, is_known):
    waiting = Waiting(limit=8, slots=8, resting=resting, retries=resting)
    monkeypatch.setattr("agentgauge.run.progress.waiting_requests", lambda folder: waiting)
    assert ("left" in RunLine(tmp_path, Known()).rows()[0]) is is_known  # of 6 cases


@pytest.mark.parametrize(
    ("waiting", "shown"),
    [
        (Waiting(), ("", "")),  # no endpoint was asked
        (Waiting(limit=8, slots=32), ("0/8 concurrent requests", "")),
        (Waiting(running=3, limit=40, slots=32, retries=1), ("3/32 concurrent requests", "1 retry")),
        (Waiting(running=9, limit=4, slots=32), ("9/9 concurrent requests", "")),  # the limit was halved meanwhile
        (
            Waiting(limit=1, slots=1, retries=1, resting=1),
            ("0/1 concurrent requests", "1 request waits to be sent again"),
        ),
    ],
)
def test_requests_and_their_limit(waiting, shown):
    assert (in_flight(waiting), retries(waiting)) == shown


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (99, "1/9 · 8 requests running · 3 tokens/s · passed 0 · wrong 1 · broken 0 · 1.2k tokens · 1m05 left"),
        (90, "1/9 · 8 requests running · 3 tokens/s · passed 0 · wrong 1 · broken 0 · 1m05 left"),
        (80, "1/9 · 8 requests running · passed 0 · wrong 1 · broken 0 · 1m05 left"),
        (60, "1/9 · 8 requests running · passed 0 · wrong 1 · broken 0"),
    ],
)
def test_a_narrow_terminal_does_without_tokens_first(width, shown):
    whole = "1/9 · 8 requests running · 3 tokens/s · passed 0 · wrong 1 · broken 0 · 1.2k tokens · 1m05 left"
    assert fitted(whole, width) == shown


def test_tests_of_the_project_are_not_counted(tmp_path):
    tests = {"name": "tests", "planned": 5, "passed": 5, "wrong": 0, "broken": 0}
    known = Known()
    known.state()["tasks"].append(tests)
    assert RunLine(tmp_path, known).text({"t": 10}).startswith("4/10 · passed 3 · wrong 1")


def test_the_rate_is_that_of_the_last_minute():
    rate = Rate(0.0)
    assert rate.per_second(100, 10.0) == 10.0
    assert rate.per_second(400, 40.0) == 10.0
    assert rate.per_second(400, 100.0) == 0.0
    assert rate.per_second(0, 110.0) == 0.0  # a worker that died took its count with it


def test_the_line_of_a_terminal_never_wraps_and_makes_room(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    shown: list[str] = []
    screen = Screen(shown.append, is_live=True)
    whole, line = "4/10 · passed 3 · wrong 1 · broken 0", "4/10 · passed 3 · wrong 1"  # broken would not fit as a whole
    screen.draw([whole, "8/8 concurrent requests"])
    screen.draw([whole])
    screen.make_room()
    screen.make_room()
    screen.draw([whole], last=True)
    rest, below = "\x1b[K", "\x1b[J"
    assert shown == [
        f"\r{line}{rest}\n8/8 concurrent requests{rest}{below}",
        f"\r\x1b[1A{line}{rest}{below}",
        f"\r{below}",
        f"\r{line}{rest}{below}\n",
    ]


def test_a_screen_that_has_settled_is_not_drawn_over():
    shown: list[str] = []
    screen = Screen(shown.append, is_live=True)
    screen.draw(["4/10", "2 tokens"])
    screen.settle()
    screen.draw(["5/10", "3 tokens"])
    screen.settle()
    assert shown[1:] == ["\n", "5/10 · 3 tokens\n"]


def test_two_figures_so_far_have_a_row(tmp_path):
    class Figures:
        def texts(self, tasks):
            return ["A 1.0 (n 1)", "B 2.0 (n 2)", "C at the end"]

    assert RunLine(tmp_path, Known(), Figures()).rows()[2:] == [
        "so far: A 1.0 (n 1) · B 2.0 (n 2)",
        "C at the end",
    ]


def test_no_request_is_in_flight_once_all_cases_have_ended(tmp_path):
    Numbers(tmp_path / FILE, FORM, 0).write(0, 1, 8, 8, 0, 2, 0)
    tasks = [{"name": "t", "planned": 4, "passed": 3, "wrong": 1, "broken": 0}]
    assert RunLine(tmp_path, Known(tasks=tasks)).rows()[1] == "2 retries · $0.50 · 1.2k tokens"


def test_nothing_is_written_below_the_last_line():
    shown: list[str] = []
    screen = Screen(shown.append, is_live=False)
    screen.write_line("waiting for 2 running requests")
    screen.draw(["4/10", "2 tokens"], last=True)
    screen.write_line("waiting for 1 running request")
    assert shown == ["waiting for 2 running requests\n", "4/10 · 2 tokens\n"]
