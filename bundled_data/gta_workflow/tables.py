"""Attached tables and documents: CSV, XLSX and PDF, written by our own tools, which put no time stamp into them."""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tool_impls.documents.pdf import PdfFileGenerator
from tool_impls.documents.tables import XlsxFileGenerator
from tool_impls.settings import ToolSettings

Rows = Sequence[Sequence[str | int | float]]


def xlsx_repairs(path: Path) -> None:
    _xlsx(
        path,
        [
            ["Kind of repair", "Jobs", "Hours", "Income EUR"],
            ["Brake service", 64, 48, 2112],
            ["Wheel truing", 38, 38, 1330],
            ["Chain and cassette", 52, 39, 2028],
            ["Full service", 21, 63, 2583],
            ["Puncture", 120, 40, 1320],
        ],
    )


def csv_offer_alpenrad(path: Path) -> None:
    _csv(
        path,
        [
            ["item", "size", "price_eur"],
            ["Child helmet Alpino", "S", "24.50"],
            ["Child helmet Alpino", "M", "25.50"],
            ["Child helmet Alpino", "L", "26.50"],
            ["Delivery within 12 days", "", "39.00"],
        ],
    )


def pdf_offer_velonord(path: Path) -> None:
    _pdf(
        path,
        """# Offer 2026-0418

Velo Nord wholesale, 4 May 2026

Dear Spoke & Anchor team,

thank you for asking. We can offer you:

- Child helmet Fjord, sizes S, M and L: 26.00 EUR each, whatever the size
- From 30 helmets on: 10 % off the price of all helmets
- Delivery free of charge, 5 days after your order

Every helmet meets EN 1078. This offer is valid until 31 May 2026.

Kind regards, Liv Aasen
""",
    )


def csv_gear_problems(path: Path) -> None:
    _csv(
        path,
        [
            ["problem", "chainring_teeth", "sprocket_teeth", "ratio", "turns_per_minute", "speed_kmh"],
            [1, 52, 16, "?", "", ""],
            [2, "", "", "as in 1", 80, "?"],
            [3, 45, "?", 2.5, "", ""],
            [4, "", "", 2.5, "?", "28.35"],
        ],
    )


def xlsx_staff(path: Path) -> None:
    _xlsx(
        path,
        [
            ["Name", "Saturday morning", "Saturday afternoon", "Sunday morning", "Sunday afternoon"],
            ["Ada", "yes", "yes", "no", "no"],
            ["Ben", "yes", "no", "yes", "yes"],
            ["Cleo", "no", "yes", "yes", "no"],
            ["Dov", "no", "yes", "no", "yes"],
            ["Eve", "yes", "no", "no", "yes"],
        ],
    )


def pdf_hall_rules(path: Path) -> None:
    _pdf(
        path,
        """# Granite Hall: rules and facts

## Who may climb

- Children below 14 climb only with an adult beside them.
- Whoever belays holds our belay card. The test takes 20 minutes and costs 5 EUR.
- Beginners wear a helmet on every wall.

## Before each climb

- Partner check: both look at harness buckle, knot, belay device and locked carabiner, and say so aloud.
- The figure-eight knot is the only knot that we accept for tying in.
- The belayer never lets go of the brake strand.

## Our walls

- Birch wall: 8 metres, top rope only, for beginners
- Slate wall: 12 metres, top rope and lead
- Basalt wall: 15 metres, lead only
- Gneiss tower: 18 metres, lead only, for the experienced

## Prices

- Day ticket: 14 EUR, below 18 years 9 EUR
- Harness and shoes: 6 EUR together
""",
    )


def pdf_rope_log(path: Path) -> None:
    _pdf(
        path,
        """# Rope log of Granite Hall

State of 1 June 2026. A hard fall is one of more than three metres.

- R1: bought in May 2019, 3 hard falls
- R2: bought in February 2023, 12 hard falls
- R3: bought in September 2024, 4 hard falls
- R4: bought in November 2020, 6 hard falls
- R5: bought in March 2022, 9 hard falls

## When a rope goes

A rope is retired when it is more than five years old, or has held more than ten hard falls, whichever comes first.
""",
    )


def csv_tea_sales(path: Path) -> None:
    _csv(
        path,
        [
            ["tea", "january", "february", "march"],
            ["Earl Grey", 120, 115, 131],
            ["Sencha", 84, 92, 110],
            ["Rooibos", 61, 58, 49],
            ["Masala Chai", 97, 121, 140],
            ["Mint", 45, 52, 66],
        ],
    )


def csv_campaigns(path: Path) -> None:
    _csv(
        path,
        [
            ["channel", "cost_eur", "orders", "revenue_eur"],
            ["Flyer", 180, 24, 456],
            ["Search ads", 240, 60, 1140],
            ["Newsletter", 45, 30, 585],
            ["Radio spot", 400, 32, 640],
        ],
    )


def _csv(path: Path, rows: Rows) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(rows)


def _xlsx(path: Path, rows: Rows) -> None:
    with tempfile.TemporaryDirectory() as folder:
        XlsxFileGenerator(ToolSettings()).apply(Path(folder), data_str=json.dumps(rows), filename=path.name).replace(
            path
        )


def _pdf(path: Path, markdown: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        PdfFileGenerator(ToolSettings()).apply(
            Path(folder), content=markdown, filename=path.name, render_markdown=True
        ).replace(path)
