"""axe-core finds no fault of accessibility in the page and in an opened case. Skipped where npm did not install it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from agentgauge_reports.page import write_page

from agentgauge.core.task_registry import known_tasks
from agentgauge.core.types import Event
from tests.plugin.toy import Toy
from tests.reports.page_runs import record, write_run

pytestmark = pytest.mark.slow

AXE = Path(sys.prefix) / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    if not AXE.exists():
        pytest.skip(f"axe-core is not installed; install it with: npm install --prefix {sys.prefix} axe-core@4")
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("link", "ready"), [("", "#reliability svg"), ("#case=toy.say/s0/1", "table.gold"), ("#case=no/1/1", "#problem")]
)
def test_nothing_keeps_a_reader_out(watched, page_file, scheme, link, ready):
    watched.page.emulate_media(color_scheme=scheme)
    page = watched.open(page_file, link)
    page.locator(ready).first.wait_for()
    for fold in page.locator("button.fold").all()[:1] if not link else ():
        fold.click()
    page.evaluate(AXE.read_text(encoding="utf-8"))
    faults = page.evaluate(
        "axe.run().then(found => found.violations.map(one => [one.id, one.nodes.map(node => node.html)]))"
    )
    assert faults == []
