"""Tasks of Spoke & Anchor, a bicycle workshop."""

from __future__ import annotations

from bundled_data.gta_workflow import helmets
from bundled_data.gta_workflow.plan import Plan
from bundled_data.gta_workflow.task import Task, answer, either, file, group, leaf, said
from bundled_data.gta_workflow.words import DANGER, DEARER, MORE

CHART = """```python
def solution():
    kinds = ["Chain and cassette", "Brake service", "Full service", "Wheel truing", "Puncture"]
    values = [52, 44, 41, 35, 33]
    figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
    bars = axis.barh(kinds[::-1], values[::-1], color="#2f6f73")
    axis.bar_label(bars, padding=4)
    axis.set_xlim(0, 60)
    axis.set_xlabel("Income per hour of work (EUR)")
    axis.set_title("Which repairs pay best")
    axis.spines[["top", "right"]].set_visible(False)
    return figure
```"""


def _repairs(plan: Plan) -> None:
    plan.user(
        "files/repairs.xlsx holds last quarter's repairs of our bicycle workshop. Work out the income per hour of work"
        " for every kind of repair, draw it as a bar chart, and write a report of one page as a PDF: the five figures,"
        " the chart, and a section called Recommendations with two ideas. Tell me in your answer which kind of repair"
        " pays best and which worst."
    )
    plan.call(
        "I look at the table first.", "ReadXLSX", file="files/repairs.xlsx", shows=["Chain and cassette,52,39,2028"]
    )
    plan.call(
        "Income divided by hours for each row.",
        "Calculator",
        expression="[2112 / 48, 1330 / 38, 2028 / 39, 2583 / 63, 1320 / 40]",
        shows=["[44.0, 35.0, 52.0, 41.0, 33.0]"],
    )
    chart = plan.call("Now the chart, best first.", "Plot", command=CHART)
    plan.call(
        "The chart goes into the report.",
        "PdfFileGenerator",
        content=f"""# Income per hour of work

Spoke & Anchor, last quarter. All figures in EUR per hour of work.

- Chain and cassette: 52
- Brake service: 44
- Full service: 41
- Wheel truing: 35
- Puncture: 33

![Income per hour]({chart})

## Recommendations

1. Offer a look at chain and cassette with every brake service: it pays best, and the bicycle is on the stand already.
2. Take 2 EUR more for a puncture. With 120 jobs in 40 hours that brings it from 33 to 39 EUR per hour.
""",
        filename="repairs_report.pdf",
        render_markdown=True,
    )
    plan.answer(
        "The report is repairs_report.pdf. Chain and cassette pays best with 52 EUR per hour of work, puncture worst"
        " with 33 EUR. In between are brake service (44), full service (41) and wheel truing (35)."
    )


KINDS = ["Chain and cassette", "Brake service", "Full service", "Wheel truing", "Puncture"]

REPAIRS = Task(
    "Data Analysis",
    ("files/repairs.xlsx",),
    _repairs,
    (
        group(
            leaf(
                "The answer names chain and cassette as the kind of repair that pays best, with 52 EUR per hour of"
                " work.",
                answer(
                    says=[
                        said(
                            "chain and cassette",
                            ["best", "most", "highest", "top"],
                            none=["not", "worst", "brake service"],
                        )
                    ],
                    numbers=[52],
                ),
                2,
            ),
            leaf(
                "The answer names puncture as the kind of repair that pays worst, with 33 EUR per hour of work.",
                answer(
                    says=[
                        said(
                            ["puncture", "punctures"],
                            ["worst", "least", "lowest", "last"],
                            none=["not", "best", "wheel truing"],
                        )
                    ],
                    numbers=[33],
                ),
            ),
            weight=3,
        ),
        leaf(
            "A bar chart was drawn that names the five kinds of repair.",
            either(file("*.png", shows=KINDS), file("*.pdf", shows=KINDS)),
            2,
        ),
        group(
            leaf("A report was delivered as a PDF that has one page.", file("*.pdf", pages=1)),
            leaf(
                "The PDF gives the hourly income: chain and cassette 52, brake service 44, full service 41, wheel"
                " truing 35, puncture 33.",
                file("*.pdf", numbers=[52, 44, 41, 35, 33]),
                3,
            ),
            leaf("The bar chart is in the PDF.", file("*.pdf", shows=["Puncture", "Wheel truing"]), 2),
            leaf(
                "The PDF has a section called Recommendations with two ideas that fit the figures.",
                file(
                    "*.pdf",
                    contains=[["recommendations", "recommendation"]],
                    says=[
                        said(["chain and cassette", "brake service", "full service"], MORE),
                        said(["puncture", "punctures", "wheel truing"], DEARER),
                    ],
                ),
                2,
            ),
            weight=5,
        ),
    ),
)


def _pressure(plan: Plan) -> None:
    plan.user(
        "files/pressure_card.jpg is the card at our compressor. Mark the line for 40 mm tyres in the picture with a box"
        " labelled MOST ASKED, save it as marked_card.png, and write a hand-out for apprentices as a Word document: all"
        " four tyre widths with their pressure in bar and in psi (1 bar = 14.5 psi), a short warning about too much"
        " pressure, and the marked picture."
    )
    read = plan.call(
        "What does the card say?", "OCR", image="files/pressure_card.jpg", shows=["25 mm", "6.8 bar", "2.6 bar"]
    )
    box = _row(read, "40 mm")
    marked = plan.call(
        "The line for 40 mm lies there.",
        "DrawBox",
        image="files/pressure_card.jpg",
        bbox=box,
        annotation="MOST ASKED",
        filename="marked_card.png",
    )
    plan.call(
        "From bar to psi.",
        "Calculator",
        expression="[round(bar * 14.5, 1) for bar in (6.8, 5.2, 3.8, 2.6)]",
        shows=["[98.6, 75.4, 55.1, 37.7]"],
    )
    plan.call(
        "Everything for the hand-out is there.",
        "DocxFileGenerator",
        content=f"""# Tyre pressure

Hand-out for apprentices of Spoke & Anchor. The values hold for a rider of 75 kg.

## The values

- 25 mm, road: 6.8 bar or 98.6 psi
- 32 mm, city: 5.2 bar or 75.4 psi
- 40 mm, gravel: 3.8 bar or 55.1 psi
- 50 mm, forest: 2.6 bar or 37.7 psi

## Warning

Never go beyond the **maximum on the side of the tyre**, whatever the card says. With too much pressure a tyre can \
jump off the rim and burst. Wear glasses when you inflate.

## Where to find it

The line for 40 mm is the one that customers ask for most:

![The card, with the line for 40 mm marked]({marked})
""",
        filename="tyre_pressure.docx",
        render_markdown=True,
    )
    plan.answer(
        "The hand-out is tyre_pressure.docx, and the marked card is in it and in marked_card.png. 40 mm tyres take 3.8"
        " bar, that is 55.1 psi."
    )


def _row(ocr: str, word: str) -> str:
    """The box around the texts in the row of ``word`` of an OCR result, a few pixels wider."""
    from bundled_data.gta_atomic.dialog import box_text, row_box

    return box_text(row_box(ocr, word))


PRESSURE = Task(
    "Education & Instruction",
    ("files/pressure_card.jpg",),
    _pressure,
    (
        group(
            leaf(
                "The picture of the card was saved as marked_card.png, in its original size.",
                file("marked_card.png", width=620, height=570, resembles="files/pressure_card.jpg"),
            ),
            leaf(
                "In marked_card.png a box around the line for 40 mm is labelled MOST ASKED.",
                file("marked_card.png", shows=[["MOST ASKED", "MOSTASKED"]], resembles="files/pressure_card.jpg"),
            ),
            leaf(
                "In marked_card.png the rest of the card can still be read.",
                file("marked_card.png", shows=["TYRE PRESSURE", "6.8 bar", "2.6 bar"]),
            ),
            weight=2,
        ),
        group(
            leaf("A hand-out was delivered as a Word document.", file("*.docx", words={"min": 40}), 0.5),
            leaf(
                "The Word document gives the pressures in bar: 6.8 for 25 mm, 5.2 for 32 mm, 3.8 for 40 mm and 2.6 for"
                " 50 mm.",
                file("*.docx", numbers=[6.8, 5.2, 3.8, 2.6]),
                2,
            ),
            leaf(
                "The Word document gives the pressures in psi: about 98.6, 75.4, 55.1 and 37.7.",
                file("*.docx", numbers=[{"value": psi, "tolerance": 0.6} for psi in (98.6, 75.4, 55.1, 37.7)]),
                2,
            ),
            leaf(
                "The Word document warns of too much pressure and says what may happen, or where the limit stands.",
                file("*.docx", contains=[DANGER]),
            ),
            leaf(
                "The marked picture is in the Word document.",
                file("*.docx", shows=[["MOST ASKED", "MOSTASKED"], "6.8 bar", "2.6 bar"]),
            ),
            leaf("The Word document is structured by headings.", file("*.docx", headings={"min": 2}), 0.5),
            weight=4,
        ),
    ),
)


def _wheel(plan: Plan) -> None:
    plan.user(
        "files/wheel.mp4 shows a wheel in our truing stand. Cut out the first three seconds and write TRUE WHEELS over"
        " it, large and in red, for the screen in the shop window. I need an MP4 of three seconds called"
        " shop_window.mp4."
    )
    clip = plan.call(
        "The first three seconds.",
        "VideoClip",
        video="files/wheel.mp4",
        start_time=0,
        end_time=3,
        filename="first_seconds.mp4",
    )
    plan.call(
        "The words in red, low in the picture.",
        "AddTextVideoTool",
        video=clip,
        text="TRUE WHEELS",
        position="56,233",
        font_scale=1.0,
        color="40,40,210",
        thickness=2,
        filename="shop_window.mp4",
    )
    plan.answer("shop_window.mp4 shows the first three seconds of your video with TRUE WHEELS in red below the wheel.")


WHEEL = Task(
    "Creative Design",
    ("files/wheel.mp4",),
    _wheel,
    (
        leaf(
            "A video called shop_window.mp4 was delivered that shows the wheel in the truing stand.",
            file("shop_window.mp4", resembles="files/wheel.mp4"),
            2,
        ),
        leaf(
            "The video shop_window.mp4 is three seconds long.",
            file("shop_window.mp4", seconds={"min": 2.8, "max": 3.2}),
            1,
        ),
        leaf(
            "TRUE WHEELS can be read in the video.", file("shop_window.mp4", shows=[["TRUE WHEELS", "TRUEWHEELS"]]), 2
        ),
        leaf(
            "The video is as large as the original, 320 by 240 pixels.",
            file("shop_window.mp4", width=320, height=240),
            1,
        ),
    ),
)


TASKS = (REPAIRS, PRESSURE, helmets.HELMETS, WHEEL)
