"""Plain formulas are worked out as a spreadsheet program would; all others stay as they are written."""

from __future__ import annotations

from typing import Any

import pytest

from bench_gta.workflow.inside.sheets import Formulas

CELLS: dict[str, list[list[Any]]] = {
    "Data": [[1, 2, 3], [4, None, "text"], ["=A1+1", "=A3*2", "=C3"]],
    "My sheet": [[10]],
}


def worked_out(formula: str) -> Any:
    return Formulas({**CELLS, "Test": [[formula]]}).value("Test", 1, 1)


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("=1+2*3", 7),
        ("=(1+2)*3", 9),
        ("=2^3^2", 64),
        ("=-2^2", 4),
        ("=10-4-3", 3),
        ("=8/4/2", 1),
        ("=50%*4", 2),
        ("= 1.5e2 + .5", 150.5),
        ("=Data!A1 + Data!$B$1", 3),
        ("='My sheet'!A1/4", 2.5),
        ("=SUM(Data!A1:C1)", 6),
        ("=sum(Data!A1:C2, 5)", 15),
        ("=AVERAGE(Data!A1:C1)*MAX(1;2)", 4),
        ("=MIN(3,2)+COUNT(Data!A1:C2)+ABS(-1)", 7),
        ("=ROUND(100*(66/45-1),1)", 46.7),
        ("=ROUND(2.345,2)", 2.35),
        ("=Data!B2+1", 1),
        ("=Data!B3", 4),
        ("plain", "plain"),
        (7, 7),
        (None, None),
    ],
    ids=str,
)
def test_a_formula_is_worked_out(formula: str, value: Any) -> None:
    assert worked_out(formula) == value


MORE_THAN_PLAIN = (
    *(
        "=",
        "=1/0",
        "=1+",
        "=(1",
        "=1)",
        "=Data!C2+1",
        "=Data!C3",
        "=A1",
        "=NOW()",
        '="a"&"b"',
        "=SUM(A",
        "=AVERAGE(Data!B2:B2)",
        "=9^999",
    ),
    *("=(-8)^0.5", "=ROUND(1)", "=SUM(Data!A1:ZZ9999999)", f"={'(' * 9_000}", "=#REF!"),
)


@pytest.mark.parametrize("formula", MORE_THAN_PLAIN, ids=lambda formula: str(formula[:30]))
def test_a_formula_that_needs_more_stays_as_it_is(formula: str) -> None:
    assert worked_out(formula) == formula


def test_a_running_total_over_many_rows_is_worked_out() -> None:
    rows = [["=1"], *([f"=A{row}+1"] for row in range(1, 3_000))]
    formulas = Formulas({"Test": rows})
    assert [formulas.value("Test", 1, row) for row in range(1, 3_001)] == list(range(1, 3_001))
