"""The page in a browser, from a disk: its parts, its list, opened cases; it asks no network and keeps no reader out."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
from agentgauge_reports.page.page import write_page

from agentgauge.core.estimate import MetricFormula
from agentgauge.core.presentation import Breakdown, Cell
from agentgauge.core.types import Event, Usage
from tests.plugin.toy import toy
from tests.reports.browsers import Watched, faults
from tests.reports.runs import PNG, TASKS, known, mostly_broken_run, record, write_run

pytestmark = pytest.mark.slow

HOSTILE = (
    "</script><script>window.hurt = 1</script><img src=x onerror='window.hurt = 2'> <!-- \u202egnp.exe\u2066"
    " \u0000\u001b[31m א ب"
)
LONG = "x" * 1_000_000
NAME = "a/b <i>&\"' c"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "one"
    place = path / "files" / "toy.say" / "s0-a1"
    place.mkdir(parents=True)
    (place / "0001.png").write_bytes(PNG)
    drawn = [{"type": "image", "content": "{RUN}/files/toy.say/s0-a1/0001.png"}]
    picture = Event("tool", "Draw", 0, 1.5, {"arguments": {"what": "a dot"}, "result": drawn})
    asked = {
        "messages": [{"role": "user", "content": HOSTILE}],
        "reply": LONG,
        "tool_calls": [{"name": HOSTILE, "arguments": "{"}],
    }
    nasty = [
        Event("model", HOSTILE, 0, 0, asked),
        Event("tool", HOSTILE, 0, 0, {"arguments": {"__proto__": HOSTILE, HOSTILE: [HOSTILE]}}, HOSTILE),
    ]
    gold = {
        "gold": [{"role": "assistant", "tool_calls": [{"function": {"name": "Add", "arguments": {"a": 1, "b": 2}}}]}]
    }
    gold["prediction"] = [
        {"role": "assistant", "tool_calls": [{"function": {"name": "Add", "arguments": {"a": 1, "b": 3}}}]}
    ]
    cases = [
        record(0, events=[picture]),
        record(1, events=nasty, passed=False),
        record(2, passed=False, output=gold),
    ]
    cases += [record(number, passed=number % 2 == 0) for number in range(3, 120)]
    return write_run(path, [*cases, record(120, sample=NAME)], model=HOSTILE, missing=[("toy.say", "never")])


@pytest.fixture(scope="module")
def page_file(run):
    return write_page(run, run / "beside.html", tasks=TASKS)


def samples(page):
    return page.locator("#case-table td.sample").all_inner_texts()


def test_the_page_loads_with_all_its_parts(watched, page_file):
    page = watched.open(page_file)
    assert page.locator("#found").inner_text() == "122 of 122 cases"
    assert page.locator("main > section:visible").count() == 6
    page.locator("nav a[href='#statuses']").click()
    assert page.locator("#boards tr.ours").count() == 1
    assert page.locator("#heat td button:not([disabled])").all_inner_texts() == ["60", "61", "1"]
    assert page.locator("#tool-table tbody tr").count() == 2 and not page.locator("#tool-table").is_visible()
    assert len(samples(page)) == 20
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_top_says_whether_to_believe_it_and_where_the_model_fails(watched, page_file):
    page = watched.open(page_file)
    assert "1 missing case was not attempted: the run ended early." in page.locator("#standing").inner_text()
    assert page.locator("#opening").inner_text().endswith("Most frequent failure: Wrong answer (61).")
    example = page.locator(".failure").first
    assert "toy.say s1" in example.inner_text()
    example.get_by_role("button").click()
    page.wait_for_function("location.hash === '#kind=wrong_answer'")
    assert not samples(page)[0].startswith("s0")


def test_figures_without_published_rows_are_open_and_cases_without_a_label_have_no_reason(watched, tmp_path):
    odd = MetricFormula(lambda sums: {"Acc": 100 * sums.get("right", 0.0), "Odd": None}, {"Acc": ("all",)})
    own = toy(metrics=lambda scoring: odd, published=None, shown={"columns": ("Acc", "Odd")})
    cases = [record(number, passed=number % 2 == 0, tags=("even", "odd")[number % 2 :][:1]) for number in range(4)]
    unlabelled = [replace(one, score=replace(one.score, labels=())) for one in cases]
    run = write_run(tmp_path / "run", unlabelled, tasks=known(own))
    page = watched.open(write_page(run, run / "report.html", tasks=known(own)))
    assert page.locator("#results h2").inner_text() == "Results"
    assert page.locator("#boards tr.ours").is_visible()
    assert page.locator("#faults").count() == 0 and not page.locator("#kind").is_visible()
    page.locator("nav a[href='#breakdowns']").click()
    rows = page.locator("#breakdown-tables tbody tr").all_inner_texts()
    assert [row.split("\t")[:3] for row in rows] == [["even", "2", "100.0"], ["odd", "2", "0.0"]]


def test_a_run_of_broken_cases_begins_with_that(watched, tmp_path):
    run = mostly_broken_run(tmp_path / "run")
    page = watched.open(write_page(run, run / "report.html", tasks=TASKS))
    order = page.locator("header > *:visible").evaluate_all("all => all.map(one => one.id || one.className)")
    assert order.index("alarm") < order.index("totals") and order.index("alarm") == 3


def test_costs_are_shown_in_all_and_for_each_passed_case(watched, tmp_path):
    cases = [record(number, passed=number < 2) for number in range(3)]
    paid = [replace(one, transcript=replace(one.transcript, usage=Usage(1, 100, 10, 0.5, 25))) for one in cases]
    folder = write_run(tmp_path / "run", paid)
    page = watched.open(write_page(folder, folder / "report.html", tasks=TASKS))
    totals = page.locator("#totals").inner_text().split("\n")
    shown = dict(zip(totals[1:], totals, strict=False))
    assert (shown["cost"], shown["cost per passed case"]) == ("$1.50", "$0.75")
    assert shown["of prompt tokens cached"] == "25 %"
    assert not page.locator("#cost-parts").is_visible()  # folded, below all that one looks at first
    page.locator("nav a[href='#cost']").click()
    table = page.locator("#cost-parts table", has_text="cost per passed case")
    assert table.locator("tbody tr").inner_text().split("\t")[-2:] == ["$1.50", "$0.75"]


def test_a_heat_map_has_figures_on_a_ground_of_their_own_colour(watched, tmp_path):
    cells = tuple(Cell(value, 7) for value in (0.0, 100.0, None))
    warm = Breakdown("By letter", HOSTILE, ("a", "b", "c"), {HOSTILE: cells}, heat=True, note="n counts letters.")
    tasks = known(toy(breakdowns=lambda scores, scoring: (warm,)))
    run = write_run(tmp_path / "run", [record(0)], tasks=tasks)
    page = watched.open(write_page(run, tmp_path / "page.html", tasks=tasks))
    page.locator("#breakdowns summary").first.click()
    assert page.locator("#breakdowns h3").all_inner_texts() == ["Toy: By letter"]
    assert page.locator("#breakdowns tbody td").all_inner_texts()[1:] == ["0.0\nn 7", "100.0\nn 7", "–"]
    grounds = page.locator("#breakdowns tbody .shade").evaluate_all(
        "all => all.map(one => getComputedStyle(one).backgroundColor)"
    )
    assert len(set(grounds)) == 2
    assert page.locator("#breakdowns .legend").inner_text().split() == [
        "0",
        "%",
        "25",
        "%",
        "50",
        "%",
        "75",
        "%",
        "100",
        "%",
    ]
    assert page.evaluate("window.hurt") is None


def test_the_table_of_cases_sorts_turns_and_filters(watched, page_file):
    page = watched.open(page_file)
    page.get_by_role("button", name="sample").click()
    assert samples(page)[:3] == [NAME, "never", "s0"]
    page.get_by_role("button", name="sample").click()
    assert samples(page)[:2] == ["s119", "s118"]
    page.get_by_role("button", name="After →").click()
    assert "page 2 of 7" in page.locator("#pager").inner_text() and samples(page)[0] == "s99"
    page.locator("#status").select_option("wrong")
    page.locator("#words").fill("toy S11")
    assert sorted(samples(page)) == ["s11", "s111", "s113", "s115", "s117", "s119"]
    page.get_by_role("button", name="Clear").click()
    page.locator("#found", has_text="122 of 122").wait_for()
    page.locator("nav a[href='#statuses']").click()
    page.locator("#heat button", has_text="61").click()
    assert page.locator("#found").inner_text() == "61 of 122 cases"
    page.locator("#fault-bars button").first.click()
    assert page.locator("#kind").input_value() == "wrong_answer"


@pytest.mark.parametrize("embed", [False, True], ids=["beside", "embedded"])
def test_a_picture_is_visible_in_its_transcript(watched, run, embed):
    page = watched.open(write_page(run, run / f"{embed}.html", tasks=TASKS, embed=embed))
    page.get_by_role("link", name="s0", exact=True).first.click()
    image = page.locator("#case-body img")
    image.wait_for()
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") == 10
    assert page.evaluate("location.hash") == "#case=toy.say/s0/1"


def test_keys_open_a_case_go_on_and_close(watched, page_file):
    page = watched.open(page_file)
    page.get_by_role("link", name="s0", exact=True).last.focus()
    page.keyboard.press("Enter")
    page.locator("#case-title", has_text="s0").wait_for()
    page.keyboard.press("ArrowRight")
    page.locator("#case-title", has_text="s1").wait_for()
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "#case" not in url)  # a dialog tells of its end a moment after it
    assert not page.locator("#case").is_visible()


def test_a_deep_link_opens_the_case_and_shows_the_gold_beside_it(watched, page_file):
    page = watched.open(page_file, "#case=toy.say/s2/1")
    page.locator("table.gold").wait_for()
    assert page.locator("table.gold .differs").count() == 2
    assert page.locator("table.gold td.off").all_inner_texts() == ["b", "b"]
    assert "expected 'a', got 'b'" in page.locator(".verdict").inner_text()


def test_a_case_that_was_not_attempted_says_so(watched, page_file):
    page = watched.open(page_file, "#case=toy.say/never/1")
    page.locator("#case-body", has_text="was not attempted").wait_for()
    assert page.locator("#case-body .step").count() == 0


def test_hostile_content_does_nothing_and_can_be_read(watched, page_file):
    page = watched.open(page_file, "#case=toy.say/s1/1")
    page.locator(".step.tool").first.wait_for()
    assert page.evaluate("window.hurt") is None
    assert page.locator("#case-body script, #case-body img, #case-body iframe, #model script").count() == 0
    shown = page.locator("#case-body").inner_text()
    assert (
        "<script>window.hurt = 1</script>" in shown and "U+202E" in shown and "U+0000" in shown and "__proto__" in shown
    )
    assert "\u202e" not in shown and "\x1b" not in shown
    page.get_by_role("button", name="Show all 1,000,000 characters").click()
    assert page.evaluate("document.querySelector('#case-body').textContent.length") > 1_000_000


def test_scripts_that_are_not_the_pages_own_do_not_run(browser, page_file):
    watched = Watched(browser)
    page = watched.open(page_file)
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=data:, onerror=\"window.hurt = 1\">')")
    page.evaluate("fetch('https://example.org/').catch(() => {})")
    page.wait_for_timeout(200)
    assert page.evaluate("window.hurt") is None
    assert any("Content Security Policy" in line for line in watched.said)
    page.close()


def test_transcripts_that_are_gone_are_told(browser, run, tmp_path):
    source = run / "beside.html"
    copy = tmp_path / "moved.html"
    write_page(run, source, tasks=TASKS)
    shutil.copyfile(source, copy)
    page = Watched(browser).open(copy, "#case=toy.say/s2/1")
    page.locator("#case-body", has_text="keep this page and that folder together").wait_for()
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_all_of_it_in_both_colours(browser, page_file, scheme):
    watched = Watched(browser, viewport={"width": 360, "height": 740}, color_scheme=scheme)
    page = watched.open(page_file)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    light = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(251, 251, 250)"
    assert light == (scheme == "light")
    page.evaluate("location.hash = '#case=toy.say/s2/1'")
    page.locator("table.gold").wait_for()
    assert page.evaluate("document.querySelector('#case-body').scrollWidth <= innerWidth")
    assert watched.said == []
    page.close()


# -- axe-core, where npm has installed it


@pytest.fixture(scope="module")
def axe_page(tmp_path_factory):
    asked = {"messages": [{"role": "user", "content": "What is 1 + 2?"}], "reply": "3", "reasoning": "one, two, three"}
    events = [
        Event("model", "m", 0, 0.1, asked),
        Event("tool", "Add", 0, 1.5, {"arguments": {"a": 1}, "result": [{"type": "text", "content": "3"}]}),
        Event("tool", "Add", 0, 1.5, {"arguments": {"a": 1}, "result": []}, "no such argument"),
    ]
    acts = (
        [{"role": "assistant", "tool_calls": [{"function": {"name": "Add", "arguments": {"a": 1, "b": b}}}]}]
        for b in (2, 3)
    )
    output = dict(zip(("gold", "prediction"), acts, strict=True))
    cases = [
        record(number, attempt=attempt, events=events, passed=bool(number % 3), output=output)
        for number in range(60)
        for attempt in (1, 2)
    ]
    run = write_run(tmp_path_factory.mktemp("run") / "run", cases, missing=[("toy.say", "never")])
    return write_page(run, run / "report.html", tasks=TASKS)


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1280)])
@pytest.mark.parametrize(
    ("link", "ready"),
    [("", "button.fold"), ("#case=toy.say/s0/1", "table.gold"), ("#case=no/1/1", "#problem")],
    ids=["page", "case", "wrong link"],
)
def test_nothing_keeps_a_reader_out(axe, watched, axe_page, scheme, width, link, ready):
    watched.page.emulate_media(color_scheme=scheme)
    watched.page.set_viewport_size({"width": width, "height": 800})
    page = watched.open(axe_page, link)
    page.locator(ready).first.wait_for()
    if not link:
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        page.locator("button.fold").first.click()
    assert faults(page, axe) == []
