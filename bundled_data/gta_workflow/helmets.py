"""A task of Spoke & Anchor: two offers are compared, and one is taken."""

from __future__ import annotations

from bundled_data.gta_workflow.plan import Plan
from bundled_data.gta_workflow.task import Task, answer, every, file, group, leaf, said
from bundled_data.gta_workflow.words import DECIDED


def _helmets(plan: Plan) -> None:
    plan.user(
        "For our cycling course at the school we need child helmets: 14 in size S, 18 in M and 8 in L, within ten days."
        " files/offer_alpenrad.csv and files/offer_velonord.pdf are the two offers. Compare what each would cost in"
        " all, delivery included, and write me a memo of at most one page as a Word document with the two totals, the"
        " difference, the delivery times and your decision."
    )
    plan.call("The first offer.", "ReadCSV", csv_file="files/offer_alpenrad.csv", shows=["24.50", "39.00"])
    plan.call("The second offer.", "ReadPDF", file="files/offer_velonord.pdf", shows=["26.00", "10 %", "5 days"])
    plan.call("Alpenrad in all.", "Calculator", expression="14 * 24.5 + 18 * 25.5 + 8 * 26.5 + 39", shows=["1053.0"])
    plan.call(
        "Velo Nord in all: 40 helmets, ten percent off.", "Calculator", expression="40 * 26 * 0.9", shows=["936.0"]
    )
    plan.call(
        "Velo Nord is cheaper by 117 and comes in time; Alpenrad would not.",
        "DocxFileGenerator",
        content="""# Memo: helmets for the school course

To: the owners of Spoke & Anchor

## What we need

40 child helmets (14 S, 18 M, 8 L), here within ten days.

## The two offers

- Alpenrad: 343.00 + 459.00 + 212.00 EUR for the helmets and 39.00 EUR for delivery, in all **1,053.00 EUR**. Delivery \
within 12 days.
- Velo Nord: 40 helmets at 26.00 EUR less 10 %, delivery free, in all **936.00 EUR**. Delivery in 5 days.

Velo Nord costs 117.00 EUR less.

## Decision

We order from **Velo Nord**: it is cheaper, and Alpenrad cannot promise delivery within ten days.
""",
        filename="helmets_memo.docx",
        render_markdown=True,
    )
    plan.answer(
        "Order from Velo Nord: 936.00 EUR instead of 1,053.00 EUR at Alpenrad, and it delivers in 5 days. The memo is"
        " helmets_memo.docx."
    )


FOR_VELO_NORD = said(
    "Velo Nord",
    DECIDED,
    none=["not", "Alpenrad", "against", "don't", "never", "cannot", "avoid", "reject"],
)

HELMETS = Task(
    "Planning & Decision",
    ("files/offer_alpenrad.csv", "files/offer_velonord.pdf"),
    _helmets,
    (
        leaf(
            "The answer and the memo decide for Velo Nord.",
            every(answer(says=[FOR_VELO_NORD]), file("*.docx", says=[FOR_VELO_NORD])),
            0.3,
        ),
        group(
            leaf(
                "The memo gives Alpenrad's total as 1,053.00 EUR.",
                file("*.docx", contains=["Alpenrad"], numbers=[1053]),
            ),
            leaf(
                "The memo gives Velo Nord's total as 936.00 EUR, the discount included.", file("*.docx", numbers=[936])
            ),
            leaf("The memo gives the difference of 117.00 EUR.", file("*.docx", numbers=[117])),
            leaf("The memo gives both delivery times, 12 and 5 days.", file("*.docx", contains=["12 days", "5 days"])),
            weight=0.5,
        ),
        leaf("The memo is a Word document of at most one page.", file("*.docx", words={"min": 40, "max": 400}), 0.2),
    ),
)
