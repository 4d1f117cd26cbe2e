"""The filter of the list in a browser, what a figure says of itself, and the page on a phone."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

import pytest
from agentgauge_reports.page.page import write_page

from agentgauge.core.text import compared
from agentgauge.core.types import Event, Usage
from tests.reports.browsers import Watched
from tests.reports.runs import TASKS, record, write_run

pytestmark = pytest.mark.slow


def case(number, question, requests, *, passed=True, finish="stop", usd=0.0):
    messages = [{"role": "user", "content": question}]
    asked = Event("model", "m", 0, 0.1, {"messages": messages, "reply": "Red, I think.", "finish_reason": finish})
    made = record(number, passed=passed, events=[asked], tags=("even",) if number % 2 == 0 else ("odd",))
    said = replace(made.transcript, usage=Usage(requests, 100 * requests, 10, usd))
    verdict = made.score if passed else replace(made.score, explanation=compared("no", "'blue'", "'red'"))
    return replace(made, transcript=said, score=verdict)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    cases = [
        case(0, "Which colour has the sky?", 1, usd=0.5),
        case(1, "Which colour has a=b?", 4, passed=False),
        case(2, "At 12:30 in http://x?", 2, passed=False, finish="length"),
        *(case(number, f"Question {number}?", 1) for number in range(3, 30)),
    ]
    run = write_run(tmp_path_factory.mktemp("run") / "run", cases)
    return write_page(run, run / "report.html", tasks=TASKS)


def samples(page):
    return page.locator("#case-table td.sample").all_inner_texts()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("status=wrong", ["s1", "s2"]),
        ("STATUS=Wrong requests>3", ["s1"]),
        ("requests>=2 requests<4", ["s2"]),
        ("requests!=1 finish=length", ["s2"]),
        ("task:say colour status!=wrong", ["s0"]),
        ('"colour has the"', ["s0"]),
        ('"colour has the', ["s0"]),
        ('reason="wrong answer" tag=odd', ["s1"]),
        ("reason=wrong_answer tag:eve", ["s2"]),
        ("expected:blue got:RED", ["s1", "s2"]),
        ("cost>0", ["s0"]),
        ("12:30", ["s2"]),
        ("http://x", ["s2"]),
        ('"a=b"', ["s1"]),
        ("sample=s1", ["s1"]),
        ("status:", []),
    ],
)
def test_a_filter_finds_what_it_says_and_is_a_part_of_the_address(watched, page_file, text, found):
    page = watched.open(page_file)
    page.locator("#words").fill(text)
    assert samples(page) == found and not page.locator("#words-wrong").is_visible()
    page.wait_for_url(lambda url: "#words=" in url)
    assert (
        page.evaluate("location.hash") == f"#words={quote(text, safe='!()*')}"
        and page.locator("#words").input_value() == text
    )


def test_of_cut_replies_each_other_reason_is_found(watched, tmp_path):
    labels = [("reply_cut", "wrong_tool"), ("reply_cut",), ("wrong_tool",), ("reply_cut", "wrong_tool", "no_call")]
    made = [record(number, passed=False) for number in range(4)]
    cases = [replace(one, score=replace(one.score, labels=each)) for one, each in zip(made, labels, strict=True)]
    run = write_run(tmp_path / "run", cases)
    page = watched.open(write_page(run, run / "report.html", tasks=TASKS))
    assert page.locator(".failure .meter").all_inner_texts() == ["Reply was cut\n3", "Wrong tool\n1"]
    page.get_by_role("button", name="Wrong tool 2").click()
    assert samples(page) == ["s0", "s3"]
    for kind, found in (("reply_cut", ["s0", "s1", "s3"]), ("wrong_tool", ["s2"]), ("", ["s0", "s1", "s2", "s3"])):
        page.locator("#kind").select_option(kind)
        assert samples(page) == found
    page.locator("#words").fill('reason="wrong tool"')
    assert samples(page) == ["s0", "s2", "s3"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("requests>many", "“requests>many” does not compare requests, a number, with a number. Accepted are words"),
        ("requests:3", "does not compare requests"),
        ("requests>", "“requests>” has no value behind >."),
        ("colour=red", "“colour=red” asks for colour, which no case has; put it into quotation marks"),
        ("question>3", "“question>3” compares question, a text, by size."),
        ("status=wrng", "“status=wrng” finds nothing in this run, where status is passed, wrong, broken, missing"),
        ("constructor=1", "asks for constructor, which no case has"),
    ],
)
def test_a_wrong_filter_says_what_is_accepted_and_lists_all(watched, page_file, text, says):
    page = watched.open(page_file, f"#words={quote(text)}")
    shown = page.locator("#words-wrong")
    assert says in shown.inner_text() and page.locator("#found").inner_text() == "30 of 30 cases"
    page.locator("#words").fill("sky")
    assert not shown.is_visible() and samples(page) == ["s0"]


def test_columns_without_a_value_are_left_out(watched, page_file, tmp_path):
    heads = watched.open(page_file).locator("#case-table th").all_inner_texts()
    assert [name for name in heads if name in ("finish reason", "requests", "cost")] == [
        "finish reason",
        "requests",
        "cost",
    ]
    bare = [replace(one, transcript=replace(one.transcript, usage=Usage())) for one in (record(0), record(1))]
    run = write_run(tmp_path / "run", bare)
    page = watched.open(write_page(run, run / "report.html", tasks=TASKS))
    assert not {"finish reason", "requests", "cost"} & set(page.locator("#case-table th").all_inner_texts())


@pytest.mark.parametrize("others", [True, False], ids=["where others have answers", "where no case has answers"])
def test_a_verdict_is_shown_where_it_names_no_answers(watched, tmp_path, others):
    cases = [record(0, passed=False), *([case(1, "Which?", 1, passed=False)] if others else [])]
    run = write_run(tmp_path / "run", cases)
    page = watched.open(write_page(run, run / "report.html", tasks=TASKS))
    verdict = page.locator("#case-table td.why")
    assert verdict.inner_text() == "expected 'a', got 'b'" and verdict.get_attribute("colspan") == (
        "2" if others else None
    )
    assert ("expected" in page.locator("#case-table th").all_inner_texts()) == others


@pytest.mark.parametrize("how", ["pointer", "keyboard", "finger"])
def test_a_figure_says_what_it_counts(browser, page_file, how):
    page = Watched(browser, viewport={"width": 390, "height": 800}, has_touch=True).open(page_file)
    figure, shown = page.locator("#totals b", has_text="28"), page.locator("#about")
    {"pointer": figure.hover, "keyboard": figure.focus, "finger": figure.tap}[how]()
    assert shown.inner_text() == "Cases whose result the benchmark’s scoring accepts."
    box = shown.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    page.keyboard.press("Escape")
    assert not shown.is_visible()
    page.close()


def test_the_steps_of_a_case_lead_to_the_transcript_and_show_its_time(watched, page_file):
    page = watched.open(page_file, "#case=toy.say/s0/1")
    moment = page.locator(".moment")
    assert moment.inner_text().split() == ["model", "100", "ms"]
    moment.click()
    assert page.evaluate("document.activeElement.className") == "step model"


def test_a_phone_shows_cases_without_a_table_that_scrolls(browser, page_file):
    page = Watched(browser, viewport={"width": 390, "height": 800}).open(page_file)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(
        "document.querySelector('#case-table').scrollWidth <= document.querySelector('#case-table').clientWidth"
    )
    assert page.evaluate("document.documentElement.scrollHeight") < 4000
    page.close()
