"""Conditions of the bundled tasks tell answers that meet a requirement from those that only use its words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench_gta.workflow import rules, tree
from bench_gta.workflow.facts import Facts, facts

MINI = Path(__file__).parents[2] / "bench_gta" / "workflow" / "mini"
CHECKS: dict[str, Any] = {
    f"{key}/{leaf.id}": leaf.raw["check"]
    for key, task in json.loads((MINI / "end.json").read_text(encoding="utf-8")).items()
    for leaf in tree.leaves(tree.parse(task["sub_tasks"]))
}
HOURS = "09:00: 12 came\n10:00: 19 came\n11:00: 27 came\n12:00: 8 came\n"
FIRM = Facts("helmets_memo.docx", "Word document", 9, text="Decision: we order from Velo Nord.")


@pytest.mark.parametrize(
    ("place", "answer", "met"),
    [
        ("0/1.1", "Chain and cassette pays best (52 EUR per hour).", True),
        ("0/1.1", "- **Best:** chain and cassette, 52", True),
        ("0/1.1", "Brake service pays best with 52, before chain and cassette.", False),
        ("0/1.2", "The best is chain and cassette, the worst is puncture (33).", True),
        ("0/1.2", "Puncture brings 33, wheel truing is worst.", False),
        ("2/1", "I would order from Velo Nord.", True),
        ("2/1", "Take Velo Nord, not Alpenrad: 936 instead of 1,053 EUR.", True),
        ("2/1", "Take Alpenrad, not Velo Nord.", False),
        ("2/1", "Do not order from Velo Nord.", False),
        ("4/1", "About 1,400 kcal.", True),
        ("4/1", "About 140 kcal.", False),
        ("4/2", "That takes 6.7 bars.", True),
        ("4/2", "Seven bars.", True),
        ("4/2", "It takes 12.7 bars.", False),
        ("4/2", "It takes 7.5 bars.", False),
        ("4/3", "The source, 'Energy used by cycling', gives 560 kcal an hour.", True),
        ("4/3", "I made it up: 560 kcal an hour, from me.", False),
        ("8/3", "The chime lasts 3 seconds, the gong 2.5.", True),
        ("8/3", "opening.mp3 and closing.mp3 are ready.", False),
        ("10/2", "Most came between 10:00 and 11:00, just more than from 13:00 to 14:00.", True),
        ("10/2", "The busiest hour, from 10:00 to 11:00, had 27 visitors.", True),
        ("10/2", f"{HOURS}The busiest hour was from 13:00 to 14:00.", False),
        ("10/2", f"{HOURS}Most came between 13:00 and 14:00, then 10:00 to 11:00.", False),
        ("11/1.1", "Best seller: Earl Grey (366 packs).", True),
        ("11/1.1", "Masala Chai sold most with 366, then Earl Grey.", False),
        ("14/5", "The newsletter is cheapest with 1.50 EUR. Stop the radio spot.", True),
        ("14/5", "The newsletter is cheapest with 1.50 EUR. Do not stop the radio spot.", False),
    ],
)
def test_an_answer_meets_a_requirement_by_what_it_says(place: str, answer: str, met: bool) -> None:
    score, analysis = rules.judge(CHECKS[place], answer=answer, files=[FIRM])
    assert (score == 10) is met, analysis


@pytest.mark.parametrize(
    ("place", "file", "met"),
    [
        ("14/4.2", Facts("campaigns.pptx", "presentation", 9, text="Radio spot: stop it"), True),
        ("14/4.2", Facts("campaigns.pptx", "presentation", 9, text="We do not stop the radio spot"), False),
        ("14/4.2", Facts("campaigns.pptx", "presentation", 9, text="Stop the flyer, keep the radio spot"), False),
        ("12/5", Facts("a.html", "HTML page", 9, {"links": 1}, links=("mailto:hello@leaf-and-kettle.example",)), True),
        ("12/5", Facts("a.html", "HTML page", 9, {"links": 1}, links=("https://elsewhere.example",)), False),
        ("0/3.4", Facts("a.pdf", "PDF", 9, text=f"Recommendations\n{'word ' * 40}"), False),
        (
            "0/3.4",
            Facts("a.pdf", "PDF", 9, text="Recommendations\n1. Offer full service.\n2. Charge more for a puncture."),
            True,
        ),
        ("13/1", Facts("tea_week.png", "picture", 9, {"width": 720, "height": 540}, look="80" * 64), False),
    ],
)
def test_a_file_meets_a_requirement_by_what_is_in_it(place: str, file: Facts, met: bool) -> None:
    score, analysis = rules.judge(CHECKS[place], answer="", files=[file])
    assert (score == 10) is met, analysis


def slides(path: Path) -> None:
    """A chart that PowerPoint draws itself."""
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    presentation = Presentation()
    data = CategoryChartData()
    data.categories = ["Newsletter", "Search ads", "Flyer", "Radio spot"]
    data.add_series("EUR", (1.5, 4, 7.5, 12.5))
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, Inches(4), Inches(3), data)
    presentation.save(str(path))


def report(path: Path) -> None:
    """A chart of lines and areas, without a picture."""
    from reportlab.graphics.charts.barcharts import VerticalBarChart
    from reportlab.graphics.shapes import Drawing
    from reportlab.platypus import SimpleDocTemplate

    chart = VerticalBarChart()
    chart.data = [(52, 44, 41, 35, 33)]
    chart.categoryAxis.categoryNames = [
        "Chain and cassette",
        "Brake service",
        "Full service",
        "Wheel truing",
        "Puncture",
    ]
    chart.width = 400
    drawing = Drawing(450, 200)
    drawing.add(chart)
    SimpleDocTemplate(str(path)).build([drawing])


def workbook(path: Path) -> None:
    """Formulas as a library writes them, without their results."""
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(["tea", "january", "february", "march", "total", "growth"])
    rows = [
        ["Earl Grey", 120, 115, 131],
        ["Masala Chai", 97, 121, 140],
        ["Sencha", 84, 92, 110],
        ["Rooibos", 61, 58, 49],
        ["Mint", 45, 52, 66],
    ]
    for number, row in enumerate(rows, start=2):
        book.active.append([*row, f"=SUM(B{number}:D{number})", f"=D{number}/B{number}-1"])
    book.save(path)


@pytest.mark.parametrize(
    ("name", "make", "places"),
    [
        ("campaigns.pptx", slides, ["14/2.2", "14/2.3"]),
        ("repairs_report.pdf", report, ["0/2", "0/3.3"]),
        ("sales.xlsx", workbook, ["11/2.1", "11/2.2", "11/2.3"]),
    ],
)
def test_a_deliverable_made_by_other_means_meets_the_requirement_too(
    name: str, make: Callable[[Path], None], places: list[str], tmp_path: Path
) -> None:
    for needed in ("pptx", "reportlab", "openpyxl", "pypdf"):
        pytest.importorskip(needed, reason="documents need agentgauge[tools]")
    make(tmp_path / name)
    found = facts([tmp_path / name], folder=tmp_path, read=True)
    judged = {place: rules.judge(CHECKS[place], answer="", files=found) for place in places}
    assert {place: verdict for place, verdict in judged.items() if verdict[0] < 10} == {}
