"""Tasks of Leaf & Kettle, a tea shop."""

from __future__ import annotations

import json

from bundled_data.gta_workflow.plan import Plan
from bundled_data.gta_workflow.task import Task, answer, either, file, group, leaf, said

SALES_ROWS = [
    ["tea", "january", "february", "march", "total", "growth_percent"],
    ["Earl Grey", 120, 115, 131, 366, 9.2],
    ["Masala Chai", 97, 121, 140, 358, 44.3],
    ["Sencha", 84, 92, 110, 286, 31.0],
    ["Rooibos", 61, 58, 49, 168, -19.7],
    ["Mint", 45, 52, 66, 163, 46.7],
]


def _sales(plan: Plan) -> None:
    plan.user(
        "files/tea_sales.csv says how many packs of each tea we sold from January to March. Make an Excel file"
        " sales.xlsx out of it with two more columns: the total of each tea, and its growth from January to March in"
        " percent with one decimal. Best seller first. Which tea sold most in all, and which grew fastest?"
    )
    plan.call("The numbers.", "ReadCSV", csv_file="files/tea_sales.csv", shows=["Masala Chai,97,121,140"])
    plan.call(
        "Totals.",
        "Calculator",
        expression="[120 + 115 + 131, 84 + 92 + 110, 61 + 58 + 49, 97 + 121 + 140, 45 + 52 + 66]",
        shows=["[366, 286, 168, 358, 163]"],
    )
    plan.call(
        "Growth in percent.",
        "Calculator",
        expression=(
            "[round(100 * (last / first - 1), 1) for first, last in ((120, 131), (84, 110), (61, 49), (97, 140), (45,"
            " 66))]"
        ),
        shows=["[9.2, 31.0, -19.7, 44.3, 46.7]"],
    )
    plan.call("Sorted by the total.", "XlsxFileGenerator", data_str=json.dumps(SALES_ROWS), filename="sales.xlsx")
    plan.answer(
        "Earl Grey sold most with 366 packs. Mint grew fastest, by 46.7 percent from January to March, just before"
        " Masala Chai with 44.3. All of it is in sales.xlsx."
    )


GROWTH = (9.2, 44.3, 31.0, -19.7, 46.7)

SALES = Task(
    "Data Analysis",
    ("files/tea_sales.csv",),
    _sales,
    (
        group(
            leaf(
                "The answer names Earl Grey, with 366 packs, as the best seller.",
                answer(
                    says=[
                        said("Earl Grey", ["most", "best", "top", "highest", "largest"], none=["not", "Masala Chai"])
                    ],
                    numbers=[366],
                ),
            ),
            leaf(
                "The answer names Mint as the tea that grew fastest, by 46.7 percent.",
                answer(
                    says=[
                        said(
                            "Mint",
                            ["fastest", "most", "highest", "strongest", "largest", "quickest"],
                            none=["not", "Masala Chai"],
                        )
                    ],
                    numbers=[{"value": 46.7, "tolerance": 0.05}],
                ),
            ),
            weight=0.5,
        ),
        group(
            leaf(
                "A workbook sales.xlsx with a heading and five teas was delivered.",
                file("sales.xlsx", rows=6, columns={"min": 6}),
            ),
            leaf(
                "The workbook has the totals: Earl Grey 366, Masala Chai 358, Sencha 286, Rooibos 168, Mint 163.",
                file("sales.xlsx", numbers=[366, 358, 286, 168, 163]),
            ),
            leaf(
                "The workbook has the growth in percent: Earl Grey 9.2, Masala Chai 44.3, Sencha 31.0, Rooibos -19.7,"
                " Mint 46.7.",
                either(  # cells in the format of percentages hold hundredths
                    file("sales.xlsx", numbers=[{"value": value, "tolerance": 0.06} for value in GROWTH]),
                    file(
                        "sales.xlsx",
                        numbers=[{"value": round(value / 100, 4), "tolerance": 0.0006} for value in GROWTH],
                    ),
                ),
            ),
            weight=0.5,
        ),
    ),
)

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Leaf &amp; Kettle: tea by the pot</title>
<style>
  body { margin: 0; font-family: Georgia, serif; background: #f4ecdc; color: #2c3430; }
  header { background: #2c3430; color: #f4ecdc; padding: 3rem 1rem; text-align: center; }
  main { max-width: 40rem; margin: 2rem auto; padding: 0 1rem; }
  table { width: 100%; border-collapse: collapse; font-size: 1.2rem; }
  td, th { padding: .6rem; border-bottom: 1px solid #b9ad94; text-align: left; }
  td:last-child, th:last-child { text-align: right; }
  .offer { background: #d9824b; color: white; padding: 1rem; border-radius: .5rem; text-align: center; font-size: \
1.2rem; }
  footer { text-align: center; padding: 2rem 1rem; }
</style>
</head>
<body>
<header><h1>Leaf &amp; Kettle</h1><p>Tea by the pot, made while you watch.</p></header>
<main>
<p class="offer">Rainy day offer: a pot of Masala Chai and a scone with jam for 5.50 EUR</p>
<h2>Our teas</h2>
<table>
<tr><th>Tea</th><th>Pot, EUR</th></tr>
<tr><td>Earl Grey</td><td>3.20</td></tr>
<tr><td>Sencha</td><td>3.60</td></tr>
<tr><td>Masala Chai</td><td>3.90</td></tr>
<tr><td>Mint</td><td>2.80</td></tr>
<tr><td>Scone with jam</td><td>2.50</td></tr>
</table>
<h2>Opening hours</h2>
<p>Tuesday to Sunday, 10:00 to 18:00</p>
</main>
<footer><a href="mailto:hello@leaf-and-kettle.example">Book a table</a></footer>
</body>
</html>
"""


def _page(plan: Plan) -> None:
    plan.user(
        "Please make a web page for our tea shop from the chalkboard in files/menu_board.jpg: one HTML file, without"
        " anything from other servers, with our name as heading, a table of all prices, the opening hours, a link to"
        " book a table (hello@leaf-and-kettle.example), and our new offer, which should catch the eye: on rainy days a"
        " pot of Masala Chai and a scone with jam for 0.90 EUR less than both cost together. Give its price, too."
    )
    plan.call("What is on the board?", "OCR", image="files/menu_board.jpg", shows=["Masala Chai", "3.90", "2.80"])
    plan.call("What the offer costs.", "Calculator", expression="3.9 + 2.5 - 0.9", shows=["5.5"])
    plan.call("The page.", "HtmlFileGenerator", html_code=PAGE, filename="leaf_and_kettle.html")
    plan.answer(
        "The page is leaf_and_kettle.html. It has your four teas and the scone with their prices, the opening hours,"
        " the link for bookings, and the rainy day offer at the top."
    )


WEB_PAGE = Task(
    "Marketing Strategy",
    ("files/menu_board.jpg",),
    _page,
    (
        group(
            leaf("An HTML page was delivered.", file("*.html", words={"min": 20})),
            leaf(
                "The page has the shop's name, Leaf & Kettle, as a heading.",
                file("*.html", headings={"min": 1}, contains=[["Leaf & Kettle", "Leaf and Kettle"]]),
            ),
            weight=0.2,
        ),
        group(
            leaf(
                "The page has a table of prices with at least five rows.",
                file("*.html", tables={"min": 1}, rows={"min": 5}),
            ),
            leaf(
                "All four teas have their price on the page: Earl Grey 3.20, Sencha 3.60, Masala Chai 3.90, Mint 2.80.",
                file("*.html", contains=["Earl Grey", "Sencha", "Masala Chai", "Mint"], numbers=[3.2, 3.6, 3.9, 2.8]),
                3,
            ),
            leaf(
                "The scone is on the page with its price of 2.50.",
                file("*.html", contains=[["scone", "scones"]], numbers=[2.5]),
            ),
            weight=0.4,
        ),
        leaf(
            "The offer for rainy days is on the page with its price of 5.50 EUR.",
            file("*.html", contains=[["rainy", "rain"]], numbers=[5.5]),
            0.2,
        ),
        leaf(
            "The opening hours are on the page: Tuesday to Sunday, 10:00 to 18:00.",
            file("*.html", contains=[["Tuesday", "Tue"], ["Sunday", "Sun"], ["10:00", "10"], ["18:00", "18", "6 pm"]]),
            0.1,
        ),
        leaf("The page has a link for bookings.", file("*.html", links_to=["hello@leaf-and-kettle.example"]), 0.1),
    ),
)


def _poster(plan: Plan) -> None:
    plan.user(
        "Turn files/teapot.jpg into a poster for our window: TEA WEEK at the top in dark green, and 20 % OFF UNTIL"
        " SUNDAY at the bottom in white. As tea_week.png."
    )
    first = plan.call(
        "The words at the top.",
        "AddText",
        image="files/teapot.jpg",
        text="TEA WEEK",
        position="mt",
        color="#0b4f3c",
        filename="tea_week_top.png",
    )
    plan.call(
        "And those at the bottom.",
        "AddText",
        image=first,
        text="20 % OFF UNTIL SUNDAY",
        position="mb",
        color="white",
        filename="tea_week.png",
    )
    plan.answer("The poster is tea_week.png, with TEA WEEK above and 20 % OFF UNTIL SUNDAY below the teapot.")


TEAPOT = "files/teapot.jpg"

POSTER = Task(
    "Creative Design",
    ("files/teapot.jpg",),
    _poster,
    (
        leaf(
            "A picture tea_week.png of the teapot was delivered, as large as the original.",
            file("tea_week.png", width=720, height=540, resembles=TEAPOT),
            2,
        ),
        leaf(
            "TEA WEEK can be read in the picture of the teapot.",
            file("tea_week.png", shows=[["TEA WEEK", "TEAWEEK"]], resembles=TEAPOT),
            2,
        ),
        leaf(
            "20 % OFF UNTIL SUNDAY can be read in the picture of the teapot.",
            file(
                "tea_week.png",
                shows=[
                    ["20 % OFF UNTIL SUNDAY", "20% OFF UNTIL SUNDAY", "20%OFF UNTIL SUNDAY", "20 %OFF UNTIL SUNDAY"]
                ],
                resembles=TEAPOT,
            ),
            2,
        ),
    ),
)

TASKS = (SALES, WEB_PAGE, POSTER)
