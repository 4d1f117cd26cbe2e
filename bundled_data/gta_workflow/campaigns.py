"""A task of Leaf & Kettle: slides about what its campaigns cost and brought in."""

from __future__ import annotations

import json

from bundled_data.gta_workflow.plan import Plan
from bundled_data.gta_workflow.task import Task, answer, either, every, file, group, leaf, said

COSTS = """```python
def solution():
    channels = ["Newsletter", "Search ads", "Flyer", "Radio spot"]
    costs = [1.50, 4.00, 7.50, 12.50]
    figure, axis = plt.subplots(figsize=(5, 3.4), layout="constrained")
    bars = axis.bar(channels, costs, color=["#2f6f73", "#2f6f73", "#d9a441", "#b5532a"])
    axis.bar_label(bars, fmt="%.2f", padding=3)
    axis.set_ylabel("Cost per order (EUR)")
    axis.set_ylim(0, 14.5)
    axis.spines[["top", "right"]].set_visible(False)
    return figure
```"""


def _campaigns(plan: Plan) -> None:
    plan.user(
        "files/campaigns.csv has what our four campaigns cost and brought in. I need three slides for our meeting on"
        " Monday, as campaigns.pptx: what an order cost in each channel, with a chart; what each channel earned after"
        " its cost; and how many orders 600 EUR would bring next month, half of it in each of the two channels where an"
        " order is cheapest, and which channel you would stop. Say in a sentence where an order was cheapest and which"
        " channel I should stop."
    )
    plan.call("The table.", "ReadCSV", csv_file="files/campaigns.csv", shows=["Radio spot,400,32,640"])
    plan.call(
        "Cost per order.",
        "Calculator",
        expression="[180 / 24, 240 / 60, 45 / 30, 400 / 32]",
        shows=["[7.5, 4.0, 1.5, 12.5]"],
    )
    plan.call(
        "Revenue after cost.",
        "Calculator",
        expression="[456 - 180, 1140 - 240, 585 - 45, 640 - 400]",
        shows=["[276, 900, 540, 240]"],
    )
    plan.call(
        "Orders for 300 EUR each.",
        "Calculator",
        expression="[300 / 1.5, 300 / 4, 300 / 1.5 + 300 / 4]",
        shows=["[200.0, 75.0, 275.0]"],
    )
    chart = plan.call("The chart.", "Plot", command=COSTS)
    slides = [
        {
            "title": "What an order cost us",
            "content": "Newsletter 1.50 EUR, search ads 4.00 EUR\nFlyer 7.50 EUR, radio spot 12.50 EUR\n{{image_1}}",
        },
        {
            "title": "What was left after the cost",
            "content": (
                "Search ads: 900 EUR from 60 orders\nNewsletter: 540 EUR from 30 orders\n"
                "Flyer: 276 EUR from 24 orders\nRadio spot: 240 EUR from 32 orders"
            ),
        },
        {
            "title": "600 EUR for next month",
            "content": (
                "Newsletter: 300 EUR for 200 orders\nSearch ads: 300 EUR for 75 orders\n"
                "Together 275 orders, if an order goes on costing what it does\nRadio spot: stop it"
            ),
        },
    ]
    plan.call(
        "Three slides.",
        "PptxFileGenerator",
        slides_content_str=json.dumps(slides),
        filename="campaigns.pptx",
        image_paths=chart,
    )
    plan.answer(
        "An order was cheapest through the newsletter (1.50 EUR); stop the radio spot, where an order cost 12.50 EUR."
        " The three slides are in campaigns.pptx."
    )


STOP_RADIO = said(
    ["radio spot", "radio spots", "radio"],
    ["stop", "stopped", "stopping", "no more", "drop", "end", "cut", "pause", "cancel", "quit", "discontinue"],
    none=["not", "don't", "never", "keep", "no reason", "flyer", "newsletter", "search ads"],
)

CAMPAIGNS = Task(
    "Marketing Strategy",
    ("files/campaigns.csv",),
    _campaigns,
    (
        group(
            leaf("A presentation campaigns.pptx of three slides was delivered.", file("campaigns.pptx", slides=3), 2),
            leaf("Every slide of the presentation has a title.", file("campaigns.pptx", headings=3)),
            weight=2,
        ),
        group(
            leaf(
                "The slides give the cost of an order: flyer 7.50, search ads 4.00, newsletter 1.50, radio spot 12.50"
                " EUR.",
                file("campaigns.pptx", numbers=[7.5, 4, 1.5, 12.5]),
                2,
            ),
            leaf(
                "A chart of the cost of an order is on a slide.",
                every(
                    either(file("campaigns.pptx", pictures={"min": 1}), file("campaigns.pptx", charts={"min": 1})),
                    file("campaigns.pptx", shows=[["12.50", "12.5", "12,50", "12,5"], ["7.50", "7.5", "7,50", "7,5"]]),
                ),
            ),
            leaf(
                "The chart names the four channels: flyer, search ads, newsletter and radio spot.",
                file("campaigns.pptx", shows=["Newsletter", "Search ads", "Flyer", "Radio spot"]),
            ),
            weight=3,
        ),
        leaf(
            "The slides give what each channel earned after its cost: flyer 276, search ads 900, newsletter 540, radio"
            " spot 240 EUR.",
            file("campaigns.pptx", numbers=[276, 900, 540, 240]),
            3,
        ),
        group(
            leaf(
                "The slides say what 600 EUR would bring: 200 orders by the newsletter and 75 by search ads, 275 in"
                " all.",
                file("campaigns.pptx", numbers=[200, 75, 275]),
            ),
            leaf(
                "The slides propose to stop the radio spot.",
                file("campaigns.pptx", says=[STOP_RADIO]),
            ),
            weight=1,
        ),
        leaf(
            "The answer names the newsletter as the cheapest and the radio spot as the one to stop.",
            answer(says=[said("newsletter", ["cheapest", "lowest", "least"], none=["not"]), STOP_RADIO], numbers=[1.5]),
            1,
        ),
    ),
)
