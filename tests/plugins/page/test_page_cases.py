"""The list of cases and an opened case in a browser: addresses, searches, attempts, columns, and what a case offers."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from agentgauge_reports.page.page import write_page

from agentgauge.core.types import Event
from tests.reports.runs import PNG, TASKS, chunks, record, write_run

pytestmark = pytest.mark.slow

HEAD = "Answer the question below.\n\n"


def asked(question, reply="", tool="", result=""):
    """A request with a prompt that all cases share, and the call that follows."""
    calls = [{"name": tool, "arguments": "{}"}] if tool else []
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": HEAD + question}]
    yield Event("model", "m", 0, 0.1, {"messages": messages, "reply": reply, "tool_calls": calls})
    if tool:
        results = [{"type": "image" if result.endswith(".png") else "text", "content": result}]
        yield Event("tool", tool, 0, 0.1, {"arguments": {}, "result": results})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "one"
    (path / "files").mkdir(parents=True)
    (path / "files" / "plot.png").write_bytes(PNG)
    drawing = "Which dot is red in {RUN}/files/plot.png?"
    cases = [
        record(0, events=asked(drawing, "The left one. " * 20 + "So says the oracle.")),
        record(1, events=asked("How far is it to Zwolle?", tool="Route", result="40 km"), passed=False),
        *(record(number, events=asked(f"Question {number}", "x" * 9000)) for number in range(2, 130)),
    ]
    return write_run(path, cases)


@pytest.fixture(scope="module")
def page_file(run):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agentgauge_reports.page.page.CHUNK", 50_000)
        return write_page(run, run / "report.html", tasks=TASKS)


@pytest.fixture(scope="module")
def attempts_file(tmp_path_factory):
    """Four attempts at each of two samples: three of the first pass, none of the second."""
    verdicts = {"a": (True, True, False, True), "b": (False,) * 4}
    cases = [
        record(0, sample=sample, attempt=number, passed=passed, events=asked(f"About {sample}"))
        for sample, each in verdicts.items()
        for number, passed in enumerate(each, 1)
    ]
    run = write_run(tmp_path_factory.mktemp("attempts") / "run", cases)
    return write_page(run, run / "report.html", tasks=TASKS)


def column(page, kind):
    return page.locator(f"#case-table td.{kind}").all_inner_texts()


def heads(page):
    return page.locator("#case-table th").all_inner_texts()


def found(page):
    return page.locator("#found").inner_text()


def hash_of(page):
    return page.evaluate("location.hash")


def test_a_case_is_listed_with_its_own_question_not_the_prompt_of_all(watched, page_file):
    page = watched.open(page_file)
    assert column(page, "question")[:3] == [
        "Which dot is red in plot.png?",
        "How far is it to Zwolle?",
        "Question 2",
    ]


@pytest.mark.parametrize(
    ("words", "samples"),
    [("zwolle FAR", ["s1"]), ("route", ["s1"]), ("plot.png", ["s0"]), ("expected 'a'", ["s1"]), ("oracle", [])],
    ids=["question", "tool", "file", "verdict", "a reply is not in the index"],
)
def test_a_search_finds_what_is_in_the_index(watched, page_file, words, samples):
    page = watched.open(page_file)
    page.locator("#words").fill(words)
    assert column(page, "sample") == samples


def test_replies_are_searched_on_demand(watched, page_file):
    assert len(chunks(page_file)) > 10
    page = watched.open(page_file, "#words=oracle")
    assert found(page) == "0 of 130 cases"
    assert not watched.open(page_file).locator("#replies").is_visible(), "without words"
    page = watched.open(page_file, "#words=oracle")
    page.get_by_role("button", name="Search these words in replies").click()
    page.locator("#replies-state", has_text="All transcripts searched: 1 case found.").wait_for()
    assert column(page, "sample") == ["s0"]
    page.locator("#words").fill("zwolle")
    assert column(page, "sample") == ["s1"] and page.locator("#replies-state").inner_text() == ""


@pytest.mark.parametrize(
    ("words", "samples"),
    [("user", []), ("message", []), ("text", []), ("BELOW oracle", ["s0"]), ("route({}) 40", ["s1"])],
    ids=["a role", "a kind of step", "a kind of result", "a request and its reply", "a call and its result"],
)
def test_a_search_in_replies_reads_what_was_said(watched, page_file, words, samples):
    page = watched.open(page_file)
    page.locator("#words").fill(words)
    page.get_by_role("button", name="Search these words in replies").click()
    page.locator("#replies-state", has_text="All transcripts searched").wait_for()
    assert column(page, "sample") == samples


def test_a_search_in_replies_can_be_stopped(watched, page_file):
    page = watched.open(page_file, "#words=oracle")
    page.evaluate(
        "const add = document.head.append.bind(document.head);"
        "document.head.append = (script) => setTimeout(() => add(script), 100);"
    )
    page.get_by_role("button", name="Search these words in replies").click()
    page.get_by_role("button", name="Stop").click()
    page.locator("#replies-state", has_text="Stopped: 1 case found.").wait_for()
    assert not page.locator("#replies-bar").is_visible() and column(page, "sample") == ["s0"]


def test_the_address_holds_the_list_and_the_case_and_can_be_gone_back_to(watched, page_file):
    page = watched.open(page_file)
    page.locator("#status").select_option("wrong")
    page.get_by_role("button", name="sample").click()
    assert hash_of(page) == "#status=wrong&sort=sample"
    page.get_by_role("link", name="s1", exact=True).last.click()
    page.locator("#case-title", has_text="s1").wait_for()
    assert hash_of(page) == "#status=wrong&sort=sample&case=toy.say/s1/1"
    page.go_back()
    page.locator("#case").wait_for(state="hidden")
    page.go_back()
    page.go_back()
    page.locator("#found", has_text="130 of 130").wait_for()
    page.go_forward()
    page.locator("#found", has_text="1 of 130").wait_for()
    assert page.locator("#status").input_value() == "wrong"


@pytest.mark.parametrize(
    ("link", "keys", "focused"),
    [
        ("", ["Enter", "Escape"], "s2"),
        ("", ["Enter", "ArrowRight", "ArrowRight", "Escape"], "s4"),
        ("#words=question&case=toy.say/s5/1", ["Escape"], "s5"),
    ],
    ids=["opened", "gone on to", "named by the address"],
)
def test_the_focus_returns_to_the_link_of_the_case_that_was_closed(watched, page_file, link, keys, focused):
    page = watched.open(page_file, link)
    if not link:
        page.locator("#case-table").get_by_role("link", name="s2", exact=True).focus()
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_url(lambda url: "case=" not in url)
    page.wait_for_function("name => document.activeElement.innerText === name", arg=focused, timeout=5000)


def test_an_address_restores_search_order_page_and_case(watched, page_file):
    page = watched.open(page_file, "#words=question&sort=-sample&page=2&case=toy.say/s5/1")
    page.locator("#case-title", has_text="s5").wait_for()
    assert column(page, "sample")[0] == "s109" and "page 2 of 7" in page.locator("#pager").inner_text()
    page.get_by_role("button", name="Close").click()
    page.wait_for_url(lambda url: url.endswith("#words=question&sort=-sample&page=2"))


def test_a_link_without_an_attempt_opens_the_first(watched, page_file):
    page = watched.open(page_file, "#case=toy.say/s1")
    assert page.locator("#case-title").inner_text() == "toy.say · s1" and not page.locator("#problem").is_visible()
    assert hash_of(watched.open(page_file, "#case=toy.say/s1")) == "#case=toy.say/s1"


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ("#case=toy.say/s999/1", "the case “toy.say/s999/1”, which is not in this run"),
        ("#case=toy.say/%E0%A4%A/1", "cannot be read"),
        ("#task=nothing", "with task “nothing”, and this run has none"),
        ("#sort=beauty", "the column “beauty”"),
        ("#__proto__=1", "asks for “__proto__”, which this page does not know"),
        ("#page=-3", "page “-3”, which is not a page number"),
    ],
)
def test_a_wrong_link_says_so_where_it_is_seen(watched, page_file, link, problem):
    page = watched.open(page_file, link)
    shown = page.locator("#problem")
    assert problem in shown.inner_text()
    assert shown.bounding_box()["y"] < 900 and found(page) == "130 of 130 cases"
    page.get_by_role("button", name="Dismiss").click()
    assert not shown.is_visible() and hash_of(page) == ""


def test_columns_are_chosen_and_kept_in_the_address(watched, page_file):
    page = watched.open(page_file)
    assert "question" in heads(page) and "tool calls" not in heads(page)
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("tool calls").check()
    page.get_by_label("tags").check()
    page.get_by_label("question").uncheck()
    assert "tool calls" in heads(page) and "question" not in heads(page)
    again = watched.open(page_file, hash_of(page))
    again.reload()
    assert {"tool calls", "tags"} <= {*heads(again)} and "question" not in heads(again)


def test_attempts_stand_under_their_sample(watched, attempts_file):
    page = watched.open(attempts_file)
    assert found(page) == "8 of 8 cases, attempts at 2 samples"
    assert column(page, "sample") == ["a", "b"]
    assert page.locator(".passes").all_inner_texts() == ["3/4 passed", "0/4 passed"]
    page.get_by_role("button", name="a", exact=True).click()
    assert column(page, "sample") == ["a", "attempt 1", "attempt 2", "attempt 3", "attempt 4", "b"]
    page.locator("#status").select_option("wrong")
    assert column(page, "sample") == ["a", "attempt 3", "b"]
    page.get_by_role("link", name="attempt 3", exact=True).click()
    page.locator("#case-title", has_text="a · attempt 3 of 4").wait_for()
    assert page.title().startswith("toy.say · a · attempt 3 of 4 · ")
    page.keyboard.press("ArrowRight")
    page.locator("#case-title", has_text="b").wait_for()


def test_reliability_is_drawn_where_there_are_attempts(watched, attempts_file, page_file):
    page = watched.open(attempts_file)
    drawing = page.locator("#reliability svg")
    # of a's four attempts three pass: pass@1 37.5 % of two samples, pass@2 50 %, pass^2 25 %
    label = drawing.get_attribute("aria-label")
    assert "pass@k 1: 37.5" in label and "2: 50.0" in label and "pass^k 1: 37.5" in label and "2: 25.0" in label
    assert drawing.locator("polyline").count() == 2 and drawing.locator("circle").count() == 8
    page = watched.open(page_file)
    assert page.locator("#reliability").count() == page.get_by_role("link", name="Reliability").count() == 0


def test_an_opened_case_begins_with_its_question_and_picture(watched, page_file):
    page = watched.open(page_file, "#case=toy.say/s0/1")
    first = page.locator("#case-body > *").nth(1)
    assert first.inner_text().startswith(HEAD.strip()) and "Which dot is red" in first.inner_text()
    assert first.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)") == 10
    titles = page.locator("#case-body h3").all_inner_texts()
    assert titles == ["Question", "Steps and time", "Transcript"]
    assert page.locator("#case-body img").count() == 1


def test_words_are_found_in_a_case_also_where_it_is_folded(watched, page_file):
    page = watched.open(page_file, "#case=toy.say/s2/1")
    page.locator(".step.model").wait_for()
    page.get_by_label("Search in this case").fill("question 2")
    page.locator("#case-said", has_text="1 of 2").wait_for()
    page.get_by_label("Search in this case").press("Enter")
    assert page.locator("#case-said").inner_text() == "2 of 2"
    page.get_by_label("Search in this case").fill("x" * 5000)
    assert page.locator("#case-said").inner_text() == "1 of 1"
    page.get_by_label("Search in this case").fill("nowhere")
    assert page.locator("#case-said").inner_text() == "Not found in this case."


@pytest.mark.parametrize(
    ("reply", "words", "says"),
    [
        ("é" * 10_001, "É", "1 of more than 10,000"),
        ("é" * 10_000, "É", "1 of 10,000"),
        ("İstanbul, then istanbul, then ISTANBUL", "Istanbul", "1 of 2"),
        ("a+b, a.b, (a\\b)", "A\\B)", "1 of 1"),
    ],
    ids=["very many", "as many as are marked", "a letter that is longer in lower case", "signs of expressions"],
)
def test_words_are_found_in_any_reply(watched, tmp_path, reply, words, says):
    said = Event("model", "m", 0, 0.1, {"messages": [], "reply": reply})
    run = write_run(tmp_path / "run", [record(0, events=[said])])
    page = watched.open(write_page(run, tmp_path / "page.html", tasks=TASKS), "#case=toy.say/s0/1")
    page.locator(".step.model").wait_for()
    page.get_by_label("Search in this case").fill(words)
    page.locator("#case-said", has_text=says).wait_for(timeout=10_000)
    assert page.locator("#case-said").inner_text() == says
    assert int(says.split()[-1].replace(",", "")) == page.evaluate("CSS.highlights.get('match').size")


def test_a_case_is_copied_shown_and_saved_as_it_is(watched, page_file, tmp_path):
    page = watched.open(page_file, "#case=toy.say/s1/1")
    page.locator(".step.tool").wait_for()
    page.evaluate(
        "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (text) => { window.copied = text; }}})"
    )
    page.get_by_role("button", name="Copy text").click()
    page.locator("#case-said", has_text="Copied.").wait_for()
    copied = page.evaluate("window.copied")
    assert (
        copied.startswith("toy.say · s1\n\nwrong\n\nexpected 'a', got 'b'")
        and "[tool Route]\nRoute({})\n40 km" in copied
    )
    page.get_by_role("button", name="Raw JSON").click()
    shown = json.loads(page.locator("#case-body .text").inner_text())
    assert (shown["sample"], shown["status"], shown["steps"][-1]["result"]) == (
        "s1",
        "wrong",
        [{"type": "text", "content": "40 km"}],
    )
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    download.value.save_as(tmp_path / "case.json")
    assert download.value.suggested_filename == "toy.say-s1-1.json"
    assert json.loads((tmp_path / "case.json").read_text(encoding="utf-8")) == shown


def test_the_top_says_how_long_the_run_took(watched, page_file):
    page = watched.open(page_file)
    assert "8.0 s\nwall time of the run" in page.locator("#totals").inner_text()
    assert "1 min 5 s\ntime summed over cases" in page.locator("#totals").inner_text()


def gold_row(expected, got):
    calls = [{"function": {"name": name, "arguments": given}} for name, given in got]
    group = [{"name": name, "arguments": given} for name, given in expected]
    return {"inference_output": {"tool_calls": calls}, "inference_answer": {"one": {"action": group}}}


PAIRS = {
    "no order of names or calls": (
        [("A", '{"x": 1, "y": 2}'), ("B", "{}")],
        [("B", "{}"), ("A", '{"y": 2, "x": 1}')],
        0,
    ),
    "an equal number": ([("A", '{"x": 18.0}')], [("A", '{"x": 18}')], 0),
    "another value": ([("A", '{"x": 18.0}')], [("A", '{"x": 17}')], 2),
    "a call is missing": ([("A", "{}"), ("B", "{}"), ("C", "{}")], [("A", "{}"), ("C", "{}")], 1),
    "a call twice": ([("A", "{}")], [("A", "{}"), ("A", "{}")], 1),
}


@pytest.mark.parametrize("passed", [False, True])
def test_calls_that_differ_are_marked_unless_the_case_passed(watched, tmp_path, passed):
    rows = {f"step_{number}": gold_row(*pair[:2]) for number, pair in enumerate(PAIRS.values())}
    one = record(0, passed=passed)
    one = replace(one, transcript=replace(one.transcript, output={"inference_log": rows}))
    run = write_run(tmp_path / "run", [one])
    page = watched.open(write_page(run, run / "report.html", tasks=TASKS), "#case=toy.say/s0/1")
    page.locator("table.gold").wait_for()
    marked = [row.locator(".differs").count() for row in page.locator("table.gold > tbody > tr").all()]
    assert marked == [0 if passed else pair[2] for pair in PAIRS.values()]
    assert "18.0" in page.locator("table.gold").inner_text()


def test_a_case_shows_the_tools_offered_and_what_was_not_executed(watched, tmp_path):
    offered = [{"name": "OCR", "description": "Reads {ROOT}/a.png."}, {"name": "Plot", "description": ""}]
    messages = [{"role": "user", "content": "{ROOT}/a.png?"}, {"role": "tool", "content": "true"}]
    events = [Event("model", "m", 0, 0.1, {"messages": messages, "reply": "ok", "tools": offered})]
    run = write_run(tmp_path / "run", [record(0, events=events), record(1, events=asked("Why?", tool="OCR"))])
    page = watched.open(write_page(run, run / "report.html", tasks=TASKS), "#case=toy.say/s0/1")
    page.get_by_text("Tools offered (2)").click()
    assert page.locator("#case-body .args").first.inner_text().split() == ["OCR", "Reads", "a.png.", "Plot"]
    body = page.locator("#case-body").inner_text()
    assert "tool (given by the benchmark, not executed)" in body and "the model got the full path" in body
    assert "seed" not in body
    page.locator("#next").click()
    page.locator("#case-body", has_text="Why?").wait_for()
    body = page.locator("#case-body").inner_text()
    assert "Tools offered" not in body and "not executed" not in body and "full path" not in body
