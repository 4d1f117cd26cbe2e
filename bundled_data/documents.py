"""Writes the workbooks and PDFs of GTA-Workflow's bundled data: ``python -m bundled_data.documents [FOLDER]``.

AgentGauge's own tools write them, which put no time stamp into them: the bytes are the same each time.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tool_impls.documents.pdf import PdfFileGenerator
from tool_impls.documents.tables import XlsxFileGenerator
from tool_impls.settings import ToolSettings

PROJECT = Path(__file__).parents[1]
WORKFLOW = Path("bench_gta", "workflow", "mini", "files")

WORKBOOKS: dict[str, list[list[str | int]]] = {
    "repairs.xlsx": [
        ["Kind of repair", "Jobs", "Hours", "Income EUR"],
        ["Brake service", 64, 48, 2112],
        ["Wheel truing", 38, 38, 1330],
        ["Chain and cassette", 52, 39, 2028],
        ["Full service", 21, 63, 2583],
        ["Puncture", 120, 40, 1320],
    ],
    "staff.xlsx": [
        ["Name", "Saturday morning", "Saturday afternoon", "Sunday morning", "Sunday afternoon"],
        ["Ada", "yes", "yes", "no", "no"],
        ["Ben", "yes", "no", "yes", "yes"],
        ["Cleo", "no", "yes", "yes", "no"],
        ["Dov", "no", "yes", "no", "yes"],
        ["Eve", "yes", "no", "no", "yes"],
    ],
}

PDFS = {
    "offer_velonord.pdf": """# Offer 2026-0418

Velo Nord wholesale, 4 May 2026

Dear Spoke & Anchor team,

thank you for asking. We can offer you:

- Child helmet Fjord, sizes S, M and L: 26.00 EUR each, whatever the size
- From 30 helmets on: 10 % off the price of all helmets
- Delivery free of charge, 5 days after your order

Every helmet meets EN 1078. This offer is valid until 31 May 2026.

Kind regards, Liv Aasen
""",
    "hall_rules.pdf": """# Granite Hall: rules and facts

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
    "rope_log.pdf": """# Rope log of Granite Hall

State of 1 June 2026. A hard fall is one of more than three metres.

- R1: bought in May 2019, 3 hard falls
- R2: bought in February 2023, 12 hard falls
- R3: bought in September 2024, 4 hard falls
- R4: bought in November 2020, 6 hard falls
- R5: bought in March 2022, 9 hard falls

## When a rope goes

A rope is retired when it is more than five years old, or has held more than ten hard falls, whichever comes first.
""",
}
"""The text of each PDF in Markdown."""


def write(folder: Path) -> None:
    """Write the files into their place below ``folder``."""
    target = folder / WORKFLOW
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        for file, rows in WORKBOOKS.items():
            made = XlsxFileGenerator(ToolSettings()).apply(scratch, data_str=json.dumps(rows), filename=file)
            (target / file).write_bytes(made.read_bytes())
        for file, text in PDFS.items():
            made = PdfFileGenerator(ToolSettings()).apply(scratch, content=text, filename=file, render_markdown=True)
            (target / file).write_bytes(made.read_bytes())


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else PROJECT)
