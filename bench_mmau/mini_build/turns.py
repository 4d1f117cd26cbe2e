"""Notebook turns over two small tables of ours. Outputs are what the cells really show; answers come from the same cells.

Pictures depend on the version of matplotlib to the byte; everything else is the same everywhere.
"""

# Long texts stay on one line.
# ruff: noqa: E501
from __future__ import annotations

import base64
import contextlib
import csv
import io
import os
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_INPUT = Path("code_kaggle_source") / "input"
_LOAD = "import pandas as pd\nimport matplotlib.pyplot as plt\n{name} = pd.read_csv('../input/{name}.csv')\nprint({name}.shape)"


@dataclass(frozen=True, slots=True)
class Turn:
    """``code`` answers the request. Each question: text, expression for the true option, expressions or texts for the others."""

    request: str
    code: str
    questions: tuple[tuple[str, str, tuple[str, ...]], ...]
    image: bool = False


def _figure(body: str) -> str:
    return f"figure, axes = plt.subplots(figsize=(3.2, 2.4), dpi=72)\n{body}\nplt.show()"


CONVERSATIONS: dict[str, tuple[Turn, ...]] = {
    "sales": (
        Turn(
            "Show the first five rows, and how many rows there are.",
            "print(sales.head())\nprint(len(sales), 'rows')",
            (("How many rows does the table have?", "len(sales)", ("len(sales) + 10", "len(sales) - 5", "2 * len(sales)")),),
        ),
        Turn(
            "Print the total amount sold per shop, the largest first.",
            "totals = sales.groupby('shop')['amount'].sum().sort_values(ascending=False)\nprint(totals)",
            (
                ("Which shop sold most?", "totals.index[0]", ("totals.index[1]", "totals.index[2]", "'none of them'")),
                ("Which shop sold least?", "totals.index[-1]", ("totals.index[0]", "totals.index[1]", "'all the same'")),
                ("What did the best shop sell in all?", "int(totals.iloc[0])", ("int(totals.iloc[0]) + 100", "int(totals.iloc[-1])", "0")),
            ),
        ),
        Turn(
            "Draw a bar chart of the total amount per product.",
            "by_product = sales.groupby('product')['amount'].sum()\n"
            + _figure("axes.bar(by_product.index, by_product.values)\naxes.set_title('amount per product')"),
            (
                ("Which product has the tallest bar?", "by_product.idxmax()", ("by_product.idxmin()", "'bread and butter'", "'no bar'")),
                ("How many bars are there?", "len(by_product)", ("len(by_product) + 2", "1", "12")),
            ),
            image=True,
        ),
        Turn(
            "What is the mean price of each product, rounded to two decimals?",
            "print(sales.groupby('product')['price'].mean().round(2))",
            (
                (
                    "What is the mean price of tea?",
                    "round(float(sales[sales['product'] == 'tea']['price'].mean()), 2)",
                    ("99.5", "0.01", "round(float(sales['price'].max()), 2) + 1"),
                ),
            ),
        ),
    ),
    "plants": (
        Turn(
            "Print the number of plants of each kind.",
            "print(plants['kind'].value_counts().sort_index())",
            (("How many ferns are there?", "int((plants['kind'] == 'fern').sum())", ("0", "int((plants['kind'] == 'fern').sum()) + 7", "60")),),
        ),
        Turn(
            "Draw height against age as a scatter plot.",
            _figure("axes.scatter(plants['age'], plants['height'], s=8)\naxes.set_xlabel('age')\naxes.set_ylabel('height')"),
            (("What stands on the horizontal axis?", "'age'", ("'height'", "'kind'", "'water'")),),
            image=True,
        ),
        Turn(
            "Print the correlation of age and height, with three decimals.",
            "print(round(plants['age'].corr(plants['height']), 3))",
            (
                ("What sign does the correlation have?", "'positive'", ("'negative'", "'it is zero'", "'it is not defined'")),
                (
                    "What is the correlation?",
                    "round(float(plants['age'].corr(plants['height'])), 3)",
                    ("-0.5", "0.0", "1.5"),
                ),
            ),
        ),
        Turn(
            "Draw a histogram of the heights with ten bins.",
            _figure("axes.hist(plants['height'], bins=10)\naxes.set_title('heights')"),
            (("What is the title of the picture?", "'heights'", ("'ages'", "'kinds'", "'water'")),),
            image=True,
        ),
    ),
    "water": (
        Turn(
            "Print the mean water per kind, the most thirsty kind first, with one decimal.",
            "thirst = water.groupby('kind')['water'].mean().sort_values(ascending=False).round(1)\nprint(thirst)",
            (("Which kind needs most water?", "thirst.index[0]", ("thirst.index[-1]", "thirst.index[1]", "'all the same'")),),
        ),
        Turn(
            "Print how many plants are older than ten and get less than 200.",
            "few = water[(water['age'] > 10) & (water['water'] < 200)]\nprint(len(few))",
            (("How many plants are that?", "len(few)", ("len(few) + 3", "len(few) + 9", "len(water)")),),
        ),
        Turn(
            "Draw a pie chart of the kinds.",
            "kinds = water['kind'].value_counts().sort_index()\n" + _figure("axes.pie(kinds.values, labels=kinds.index)"),
            (
                ("How many slices are there?", "len(kinds)", ("len(kinds) + 3", "1", "20")),
                ("Which kind has the largest slice?", "kinds.idxmax()", ("kinds.idxmin()", "'moss'", "'none'")),
            ),
            image=True,
        ),
    ),
    "days": (
        Turn(
            "Print the amount sold on each weekday, in the order of the week.",
            "week = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']\nper_day = days.groupby('day')['amount'].sum().reindex(week)\nprint(per_day)",
            (("On which day was most sold?", "per_day.idxmax()", ("per_day.idxmin()", "'Sun'", "'every day the same'")),),
        ),
        Turn(
            "Draw the amount per weekday as a line.",
            _figure("axes.plot(week, per_day.values, marker='o')\naxes.set_title('per weekday')"),
            (
                ("On which day does the line reach its lowest point?", "per_day.idxmin()", ("per_day.idxmax()", "'Sun'", "'there is none'")),
                ("How many points does the line have?", "len(week)", ("7", "5", "31")),
            ),
            image=True,
        ),
        Turn(
            "Print the median price and the highest price.",
            "print('median', days['price'].median())\nprint('highest', days['price'].max())",
            (("What is the highest price?", "float(days['price'].max())", ("0.0", "float(days['price'].max()) + 2", "float(days['price'].min())")),),
        ),
    ),
}  # fmt: skip
_SOURCES = {"sales": "sales", "plants": "plants", "water": "plants", "days": "sales"}
"""The table of each conversation; it is read under the conversation's name."""


def _tables() -> dict[str, list[dict[str, Any]]]:
    draw = random.Random(20240712)
    sales = [
        {
            "day": draw.choice(("Mon", "Tue", "Wed", "Thu", "Fri", "Sat")),
            "shop": draw.choice(("harbour", "station", "market")),
            "product": draw.choice(("bread", "butter", "tea", "jam")),
            "price": draw.choice((1.5, 2.0, 2.75, 3.2, 4.1)),
            "amount": draw.randint(1, 40),
        }
        for _ in range(120)
    ]
    plants = []
    for _ in range(60):
        age = draw.randint(1, 20)
        plants.append(
            {
                "kind": draw.choice(("cactus", "fern", "ivy")),
                "age": age,
                "height": round(4.0 * age + draw.uniform(-12, 12) + 15, 1),
                "water": draw.randint(50, 400),
            }
        )
    return {"sales": sales, "plants": plants}


def write_more(folder: Path) -> list[Path]:
    """The tables, where the cells read them."""
    written = []
    for name, rows in _tables().items():
        path = folder / _INPUT / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        written.append(path)
    return written


def files() -> dict[str, list[dict[str, Any]]]:
    """The file of notebook turns."""
    records = []
    with tempfile.TemporaryDirectory() as scratch:
        write_more(Path(scratch))
        (Path(scratch) / "code_kaggle_source" / "tmp").mkdir()
        before = Path.cwd()
        os.chdir(Path(scratch) / "code_kaggle_source" / "tmp")
        try:
            for name, turns in CONVERSATIONS.items():
                records += _conversation(name, turns)
        finally:
            os.chdir(before)
    return {"code_kaggle_20240712.jsonl": records}


_PROMPT = """You work on a data science notebook, turn by turn.

#DATA FILES#
../input/{source}.csv

#NOTEBOOK SO FAR#
{so_far}

#REQUEST#
{request}

Reply with a JSON list of the notebook cells that fulfil the request, and nothing else: objects with "cell_type" ("code" or "markdown"), "metadata" (an empty object) and "source" (a list of lines, each ending with a line break). The cells so far have been run."""


def _conversation(name: str, turns: tuple[Turn, ...]) -> list[dict[str, Any]]:
    import matplotlib

    matplotlib.use("Agg")
    draw = random.Random(name)
    source = _SOURCES[name]
    names: dict[str, Any] = {}
    load = _LOAD.format(name=source) + (f"\n{name} = {source}" if name != source else "")
    cells = [_cell(load, _run(load, names))]
    records = []
    for number, turn in enumerate(turns, 1):
        outputs = _run(turn.code, names)
        last = _cell(turn.code, outputs)
        questions, answers = [], []
        for text, right, others in turn.questions:
            options = [str(eval(one, names)) for one in (right, *others)]
            order = list(range(len(options)))
            draw.shuffle(order)
            letters = "ABCD"[: len(order)]
            questions.append(text + "".join(f" {letter}. {options[place]}" for letter, place in zip(letters, order, strict=True)))
            answers.append(letters[order.index(0)])
        so_far = "\n\n".join("".join(cell["source"]) for cell in cells)
        records.append(
            {
                "id": f"notebook_{name}_{number}",
                "messages": [{"role": "user", "content": _PROMPT.format(source=source, so_far=so_far, request=turn.request)}],
                "notebook": {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5},
                "image_expected": turn.image,
                "questions": questions,
                "gt_answers": answers,
                "oracle_response": [{"cell_type": "code", "metadata": {}, "source": turn.code.splitlines(keepends=True)}],
                "last_cell": last,
            }
        )
        # pictures are shown once; in the notebook so far they would only be heavy
        cells.append(_cell(turn.code, [output for output in outputs if output["output_type"] == "stream"]))
    return records


def _cell(code: str, outputs: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "metadata": {},
        "execution_count": None,
        "id": f"{random.Random(code).getrandbits(32):08x}",
        "source": code.splitlines(keepends=True),
        "outputs": outputs,
    }


def _run(code: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """What a cell of ours shows, as a notebook keeps it."""
    import matplotlib.pyplot as plt

    plt.close("all")
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(code.replace("plt.show()", ""), names)
    shown: list[dict[str, Any]] = []
    if text := output.getvalue():
        shown.append({"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)})
    for number in plt.get_fignums():
        picture = io.BytesIO()
        plt.figure(number).savefig(picture, format="png")
        data = {"image/png": base64.b64encode(picture.getvalue()).decode(), "text/plain": ["<Figure size 230x172 with 1 Axes>"]}
        shown.append({"output_type": "display_data", "data": data, "metadata": {}})
    return shown
