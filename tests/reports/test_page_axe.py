"""axe-core finds no fault of accessibility in the page, in an opened case and in a comparison.

Skipped where npm did not install axe-core.
"""

from __future__ import annotations

import pytest
from agentgauge_reports.page import write_page

from agentgauge.cli.main import main
from agentgauge.core.task_registry import known_tasks
from agentgauge.core.types import Event
from tests.plugin.toy import Toy
from tests.reports.browsers import faults
from tests.reports.page_runs import record, write_run
from tests.reports.runs import PLANS, written

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
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
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(known_tasks(), Toy.name, Toy())
        run = write_run(tmp_path_factory.mktemp("run") / "run", cases, missing=[("toy.say", "never")])
        return write_page(run, run / "report.html")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("link", "ready"),
    [("", "#reliability svg"), ("#case=toy.say/s0/1", "table.gold"), ("#case=no/1/1", "#problem")],
    ids=["page", "case", "wrong link"],
)
def test_nothing_keeps_a_reader_out(axe, watched, page_file, scheme, width, link, ready):
    watched.page.emulate_media(color_scheme=scheme)
    watched.page.set_viewport_size({"width": width, "height": 800})
    page = watched.open(page_file, link)
    page.locator(ready).first.wait_for()
    if not link:
        page.locator("button.fold").first.click()
    assert faults(page, axe) == []


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_comparison_keeps_no_reader_out(axe, watched, tmp_path, scheme, width):
    for name, right, scoring in (("a", False, "parity"), ("b", True, "strict")):
        written(
            tmp_path / name,
            {PLANS: {f"s{number}": [right or number == 9] for number in range(10)}},
            ("run/scoring", scoring),
        )
    target = tmp_path / "comparison.html"
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--format", "html", "--output", str(target)]) == 0
    watched.page.emulate_media(color_scheme=scheme)
    watched.page.set_viewport_size({"width": width, "height": 800})
    page = watched.open(target)
    assert page.locator(".warning").count() == 1 and page.locator("svg .sure").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert faults(page, axe) == []
