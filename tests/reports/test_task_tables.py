"""``report --table`` of a benchmark that nobody has published figures of: its figures, and its keywords."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from agentgauge_reports.load import Omitted
from agentgauge_reports.tables import rows

from tests.reports.runs import TASKS, record, write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Four samples, of which the even ones passed, and one that was not attempted."""
    cases = [record(number, passed=number % 2 == 0, tags=("even",) if number % 2 == 0 else ()) for number in range(4)]
    return write_run(tmp_path / "run", cases, missing=[("toy.say", "s9")])


def test_markdown_has_the_figures_and_the_keywords(run: Path) -> None:
    assert rows(run, "md", tasks=TASKS) == (
        "## Toy: Figures, say it\n\nWith the 95 % interval.\n\n"
        "| metric | value | low | high | samples |\n|---|---:|---:|---:|---:|\n"
        "| Acc | 50.00 | 15.00 | 85.00 | 4 |\n\n"
        "## Toy: Passed by keyword, say it\n\nFinished samples that passed, with the 95 % interval.\n\n"
        "| keyword | samples | per cent | low | high |\n|---|---:|---:|---:|---:|\n"
        "| even | 2 | 100.00 | 34.24 | 100.00 |"
    )


def test_csv_has_a_block_for_each(run: Path) -> None:
    figures, keywords = ([*csv.reader(io.StringIO(block))] for block in rows(run, "csv", tasks=TASKS).split("\n\n"))
    assert [row[:8] for row in figures] == [
        ["benchmark", "table", "model", "metric", "value", "low", "high", "samples"],
        ["Toy", "Figures, say it", "m", "Acc", "50.00", "15.00", "85.00", "4.00"],
    ]
    assert [row[3:5] for row in keywords] == [["keyword", "samples"], ["even", "2.00"]]


def test_json_says_what_each_value_rests_on(run: Path) -> None:
    figures, _ = json.loads(rows(run, "json", tasks=TASKS))
    (row,) = figures["rows"]
    assert (row["row"], row["values"]["value"], row["n"]["value"]) == ("Acc", 50.0, 4)


def test_without_keywords_there_are_figures_alone(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [record(0)])  # a keyword of all samples tells nothing apart
    assert [table["table"] for table in json.loads(rows(run, "json", tasks=TASKS))] == ["Figures, say it"]


def test_a_figure_with_broken_cases_stands_beside_the_clean_one(run: Path) -> None:
    summary = json.loads((run / "summary.json").read_text())
    summary["tasks"]["toy.say"]["metrics"]["Acc"] |= {"value_clean": 66.6667}
    (run / "summary.json").write_text(json.dumps(summary))
    assert "| metric | value | low | high | clean | samples |" in rows(run, "md", tasks=TASKS)
    assert "| Acc | 50.00 | 15.00 | 85.00 | 66.67 | 4 |" in rows(run, "md", tasks=TASKS)


def test_a_damaged_record_is_told_and_the_others_are_counted(run: Path) -> None:
    lines = (run / "records.jsonl").read_text().splitlines(keepends=True)
    (run / "records.jsonl").write_text("".join([*lines[:3], "{damaged\n"]))
    omitted = Omitted()
    assert "| even | 2 |" in rows(run, "md", tasks=TASKS, omitted=omitted)
    assert len(omitted.problems) == 1


def test_several_attempts_have_a_table_of_their_reliability(tmp_path: Path) -> None:
    cases = [record(number, passed=number == 0) for number in range(2)]
    run = write_run(tmp_path / "run", [*cases, *(replace(case, attempt=2) for case in cases)])
    table = next(
        one for one in json.loads(rows(run, "json", tasks=TASKS)) if one["table"] == "Reliability over attempts, say it"
    )
    assert [row["row"] for row in table["rows"]] == ["1", "2"]
    assert [row["values"]["pass@k"] for row in table["rows"]] == [50, 50]
    low, high = (table["rows"][1]["values"][f"pass^k {end}"] for end in ("low", "high"))
    assert 0 < low < 50 < high < 100 and table["rows"][1]["values"]["samples"] == 2
    assert "| attempts | pass@k | pass@k low | pass@k high | pass^k |" in rows(run, "md", tasks=TASKS)
