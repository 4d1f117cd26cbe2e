"""A task's breakdowns in the summary, in ``report --table`` and on the page: no report knows the benchmark."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from agentgauge_reports.tables import rows

from agentgauge.cli.main import main
from agentgauge.core.presentation import Breakdown, Cell
from tests.plugin.project import run_wild
from tests.plugin.toy import toy
from tests.reports.runs import known, page_data, record, write_run

pytestmark = pytest.mark.slow

HEAT = Breakdown(
    "By evenness",
    "sample",
    ("small", "large"),
    {"even|odd": (Cell(12.3456, 81), Cell(None, 0))},
    heat=True,
    note="n counts samples.",
)
COUNTS = Breakdown("Faults", "kind", ("cases", "per cent"), {"late": (Cell(3.0, 4), Cell(75.0, 4))}, counts=("cases",))


TASKS = known(toy(breakdowns=lambda scores, scoring: (HEAT, COUNTS) if scores else ()))


@pytest.fixture
def run(tmp_path) -> Path:
    return write_run(tmp_path / "run", [record(0)], tasks=TASKS)


def test_markdown_has_a_section_for_each(run):
    assert rows(run, "md", tasks=TASKS).endswith(
        "## Toy: By evenness\n\nn counts samples.\n\n"
        "| sample | small | large |\n|---|---:|---:|\n| even\\|odd | 12.35 (n 81) | – |\n\n"
        "## Toy: Faults\n\n| kind | cases | per cent |\n|---|---:|---:|\n| late | 3 | 75.00 |"
    )


def test_csv_has_a_block_for_each(run):
    blocks = [list(csv.reader(io.StringIO(block))) for block in rows(run, "csv", tasks=TASKS).split("\n\n")]
    assert blocks[-2:] == [
        [
            ["benchmark", "table", "model", "sample", "small", "large", "n small", "n large"],
            ["Toy", "By evenness", "m", "even|odd", "12.35", "", "81", "0"],
        ],
        [
            ["benchmark", "table", "model", "kind", "cases", "per cent", "n cases", "n per cent"],
            ["Toy", "Faults", "m", "late", "3.00", "75.00", "4", "4"],
        ],
    ]


@pytest.mark.uses("page")
def test_the_page_holds_them(run):
    from agentgauge_reports.page.page import write_page

    found = page_data(write_page(run, run / "report.html", tasks=TASKS))["breakdowns"]
    assert [(one["table"], one["heat"], one["rows"][0]["values"]) for one in found] == [
        ("By evenness", True, {"small": 12.3456, "large": None}),
        ("Faults", False, {"cases": 3, "per cent": 75}),
    ]


@pytest.mark.uses("page")
def test_summaries_of_earlier_versions_have_none(run):
    from agentgauge_reports.page.page import write_page

    summary = json.loads((run / "summary.json").read_text())
    del summary["tasks"]["toy.say"]["breakdowns"]
    (run / "summary.json").write_text(json.dumps(summary))
    assert page_data(write_page(run, run / "report.html", tasks=TASKS))["breakdowns"] == []
    assert "## Toy: By evenness" not in rows(run, "md", tasks=TASKS)


def test_a_run_of_wildtoolbench_writes_its_tables_and_its_csv(tmp_path, capsys):
    chosen = ("-k", "wild_tool_bench_0- or wild_tool_bench_1-", "--attempts=2", "--run-dir=run")
    run_wild("--model=baseline", "--wild-evaluator=2025", *chosen, cwd=tmp_path)
    run, out = tmp_path / "run", tmp_path / "out"
    assert main(["report", str(run), "--table", "md"]) == 0
    printed = capsys.readouterr().out
    for title in ("Accuracy by action type and position", "Multi-tool calls", "Error types", "Parameter error types"):
        assert f"## WildToolBench: {title}\n" in printed
    assert main(["report", str(run), "--format", "wild-csv", "--output", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}/attempt-2/data_with_details.csv\n{out}/data_with_details.csv\n"
    with (out / "data_with_details.csv").open(encoding="utf-8", newline="") as stream:
        found = list(csv.DictReader(stream))
    first = [f"wild_tool_bench_0-t{place}" for place in (1, 2, 3, 4)]
    assert [one["sample"] for one in found[:5]] == [*first, "wild_tool_bench_1-t1"]
    summary = json.loads((run / "summary.json").read_text())["tasks"]["wild"]
    assert len(found) == summary["planned"] / 2
    assert 2 * sum(one["param_predict_label"] == "correct" for one in found) == summary["passed"]
