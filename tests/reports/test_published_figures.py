"""Published figures recomputed from published parts: exactly those that have a footnote are inconsistent.

A new table, a changed figure or a removed footnote fails here. Figures are printed with two digits, some with one, and
some are cut rather than rounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import pytest
from agentgauge_reports.figures import Headline, Yardstick, neighbours, yardstick

from agentgauge.core.published import Column, Leaderboard
from bench_mmau.metrics import CAPABILITIES, DOMAINS, TOOL_EXECUTION, average
from tests.reports.test_footnotes import FILES

Finding = tuple[str, str, str]
"""Table, model (empty: every row), key of a column (empty: the row, or the whole table)."""

WILD, ATOMIC, WORKFLOW, MMAU = (FILES[name] for name in ("wild", "gta_atomic", "gta_workflow", "mmau"))
TOTALS = ("task_accuracy", "session_accuracy")
POSITIONS = tuple(f"task_{number}" for number in range(1, 5))
TYPES = ("single_tool", "multi_tool", "clarify", "chat")

NOT_ARITHMETIC = (
    "Printed with a star",
    "One table of the paper calls this model",
    "The model had no end to end results",
    "The headers of the last six columns are lost",
    "All figures but Problem parsing are pass@5",
)
"""Beginnings of footnotes that say something else about figures."""


def noted(file: Mapping[str, Any]) -> set[Finding]:
    return {
        (table, model, key)
        for note in file["footnotes"]
        if not note["note"].startswith(NOT_ARITHMETIC)
        for table in note["tables"]
        for model in note.get("models", [""])
        for key in note.get("columns", [""])
    }


def is_whole(percent: float, of: int) -> bool:
    """Whether a printed percentage is a whole number of ``of``."""
    digits = 0.0101 if round(percent, 1) != percent else 0.051
    return any(
        abs(100 * count / of - percent) <= digits for count in (int(percent * of / 100) + more for more in (0, 1))
    )


def counted(percent: float, of: int) -> int:
    return round(percent * of / 100)


def by_model(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["model"]: row for row in rows}


# -- WildToolBench


def agrees(row: Mapping[str, float]) -> bool:
    """Task is the mean of the positions, and of the types."""
    total = counted(row["task_accuracy"], 1024)
    return all(sum(counted(row[key], 256) for key in part) == total for part in (POSITIONS, TYPES))


def main_results(table: str, rows: list[dict[str, Any]]) -> Iterator[Finding]:
    wrong = [row for row in rows if not agrees(row)]
    for one, other in combinations(wrong, 2):
        for key in (*POSITIONS, *TYPES):
            if agrees({**one, key: other[key]}) and agrees({**other, key: one[key]}):
                yield from ((table, row["model"], key) for row in (one, other))
                wrong = [row for row in wrong if row not in (one, other)]
    yield from ((table, row["model"], "") for row in wrong)
    for row in rows:
        wholes = {key: 1024 if key == "task_accuracy" else 256 for key in (*POSITIONS, *TYPES, *TOTALS)}
        yield from ((table, row["model"], key) for key, of in wholes.items() if not is_whole(row[key], of))


def orchestration(table: str, rows: list[dict[str, Any]], main: Mapping[str, Any]) -> Iterator[Finding]:
    whole = WILD["denominators_implied_by_full_table"] | {"optimal_parallel": 157, "optimal_mixed": 84}
    parts = [f"{kind}_accuracy" for kind in ("parallel", "sequential", "mixed")]
    if sum(whole[key] for key in parts) != whole["multi_tool_accuracy"]:
        yield from ((table, "", key) for key in parts)
    for row in rows:
        count = {key: counted(row[key], of) for key, of in whole.items()}
        yield from ((table, row["model"], key) for key, of in whole.items() if not is_whole(row[key], of))
        for total in ("optimal", "progress"):
            of_parts = [key for key in whole if key.startswith(total) and not key.endswith("overall")]
            if sum(count[key] for key in of_parts) != count[f"{total}_overall"]:
                yield table, row["model"], f"{total}_overall"
        if sum(count[key] for key in parts) - count["multi_tool_accuracy"] not in (0, 1):
            yield table, row["model"], "multi_tool_accuracy"
        same = main.get(row["model"].casefold())
        if same and same["multi_tool"] != row["multi_tool_accuracy"]:
            yield table, row["model"], "multi_tool_accuracy"


def wild() -> Iterator[Finding]:
    for edition in ("full", "main_body"):
        tables = WILD[edition]
        yield from main_results(f"{edition}.main", tables["main"])
        main = {row["model"].casefold(): row for row in tables["main"]}
        yield from orchestration(f"{edition}.tool_orchestration", tables["tool_orchestration"], main)
        for name in ("tool_orchestration", "error_distribution"):
            table = f"{edition}.{name}"
            yield from ((table, row["model"], "") for row in tables[name] if row["model"].casefold() not in main)
            if main.keys() - {row["model"].casefold() for row in tables[name]}:
                yield table, "", ""
        for row in tables["error_distribution"]:
            shares = [value for key, value in row.items() if key not in ("model", "group")]
            if abs(sum(shares) - 100) > 0.05:
                yield f"{edition}.error_distribution", row["model"], ""
    for name, rows in WILD["full"].items():
        for row in rows:
            other = by_model(WILD["main_body"][name]).get(row["model"], row)
            for key in (key for key in row if row[key] != other[key]):
                yield f"full.{name}", row["model"], key
                if name != "main":  # there the full table is wrong: see its swapped figures
                    yield f"main_body.{name}", row["model"], key
    yield from subtypes()


def subtypes() -> Iterator[Finding]:
    table, main = "turn_subtypes_from_figure", by_model(WILD["main_body"]["main"])
    shares = WILD["dataset_statistics"]["turn_subtype_share_percent"]
    parts = {name.lower().replace(" ", "_").replace("-", "_"): share / 100 for name, share in shares.items()}
    for row in WILD[table]:
        if abs(sum(main[row["model"]][key] for key in POSITIONS[1:]) / 3 - row["overall"]) > 0.06:
            yield table, row["model"], "overall"
        if abs(sum(row[key] * share for key, share in parts.items()) - row["overall"]) > 0.11:
            first, second, _ = sorted(parts, key=lambda key: -parts[key])
            yield from ((table, "", key) for key in (first, second))


# -- GTA


def atomic() -> Iterator[Finding]:
    before: dict[str, Any] = {}
    for board in ATOMIC["leaderboards"]:
        table = board["id"]
        for row in board["rows"]:
            for key, of in (("Inst", 729), ("Tool", 557), ("Arg", 557)):
                if not is_whole(row[key], of):
                    yield table, row["model"], key
            if row["Ans"] is not None and row["Ans+I"] * 229 + 1 < row["Ans"] * 172:
                yield from ((table, row["model"], key) for key in ("Ans", "Ans+I"))
            if before.get(row["model"]) == row:
                yield table, row["model"], ""
        before |= by_model(board["rows"])


def workflow() -> Iterator[Finding]:
    whole = WORKFLOW["implied_denominators"]
    for row in WORKFLOW["main_results"]:
        for key, count in row["implied_successes"].items():
            if abs(100 * count / whole[key] - row[key]) > 0.0051:
                yield "main_results", row["model"], key
        if max(row["implied_successes"][f"{kind}_sr"] for kind in "polc") > row["implied_successes"]["root_sr"]:
            yield "main_results", row["model"], "root_sr"
    combinations_ = WORKFLOW["statistics"]["tool_category_combinations"]
    for kind in "polc":
        if (
            sum(count for name, count in combinations_.items() if kind.upper() in name.split("+"))
            != whole[f"{kind}_sr"]
        ):
            yield "main_results", "", f"{kind}_sr"
    for row in WORKFLOW["harness_results_30_task_subset"]:
        if not is_whole(row["root_sr"], 30) or not is_whole(row["leaf_sr"], 276):
            yield "harness", row["harness"], ""
        if abs(row["root_score"] / row["total_cost_usd"] - row["score_per_cost"]) > 0.0006:
            yield "harness", row["harness"], "score_per_cost"


# -- Apple MMAU

TABLE = {
    name: by_model(table["rows"])
    for name, table in MMAU["tables"].items()
    if "columns" in table and isinstance(table["rows"][0], dict)
}
TWO, THREE, SEVEN, EIGHT, NINE, TEN = (
    TABLE[name]
    for name in (
        "table_2_domain",
        "table_3_capability",
        "table_7_math",
        "table_8_tool_use",
        "table_9_ds_ml",
        "table_10_code_contests",
    )
)
OF_TASKS = {
    "ds_e2e": (NINE, "e2e"),
    "ds_codegen": (NINE, "gpt4_qa"),
    "ds_oracle": (NINE, "oracle_execution"),
    "ds_retry": (NINE, "retry"),
    "dag_reasoning": (TWO, "dag_qa"),
    "contest_standard": (TEN, "e2e_standard"),
    "contest_parsing": (TEN, "problem_parsing"),
    "contest_planner": (TEN, "planner_shift"),
    "contest_solver": (TEN, "solver_shift"),
    "contest_retry": (TEN, "retry"),
    "math_standard": (SEVEN, "standard"),
    "math_comprehend": (SEVEN, "comprehend_plus"),
    "math_planner": (SEVEN, "planner_shift"),
    "math_solver": (SEVEN, "solver_shift"),
}
SPELLED = {"GPT-4o": "GPT-4o-2024-05-13"}
SETS = dict(zip(("single_step", "parallel", "multi_step_double", "multi_step_triple"), TOOL_EXECUTION, strict=True))


def scores(model: str) -> dict[str, float | None]:
    detail = {name.replace("Claude 3", "Claude3"): row for name, row in EIGHT.items()}.get(
        SPELLED.get(model, model), {}
    )
    percent = {task: None if detail.get(key) is None else 100 * detail[key] for key, task in SETS.items()}
    return {**percent, **{task: table[model][key] for task, (table, key) in OF_TASKS.items()}}


def weighted() -> Iterator[Finding]:
    """Tables 2 and 3, as the means of their tasks. Scores of two tasks, and so two capabilities, cannot be checked."""
    for model in TWO:
        known, starred = scores(model), "partial" in TWO[model]
        several = {"tool_double": 0.0, "tool_triple": 0.0} if starred else {}
        for name, weights in DOMAINS.items():
            value, printed = average({**known, **several}, weights).value, TWO[model][name]
            if printed is not None and (value is None or abs(value - printed) > 0.06):
                yield "table_2_domain", model, name
        for name, weights in CAPABILITIES.items():
            used = {task: weight for task, weight in weights.items() if not (starred and task in several)}
            if {"dag_planning", "tool_self_correct"} & used.keys():
                continue
            value, printed = average(known, used).value, THREE[model][name]
            if printed is not None and (value is None or abs(value - printed) > 0.06):
                yield "table_3_capability", model, name


def wholes() -> Iterator[Finding]:
    """The judge of mathematics leaves prompts out, and notebooks are means over runs: these cannot be checked."""
    contests = [key for key in next(iter(TEN.values())) if key not in ("model", "retry")]
    for model, row in TWO.items():
        if not is_whole(row["dag_qa"], DOMAINS["dag_qa"]["dag_reasoning"]):
            yield "table_2_domain", model, "dag_qa"
        yield from (("table_10_code_contests", model, key) for key in contests if not is_whole(TEN[model][key], 261))
        if not is_whole(TEN[model]["retry"], 261 - counted(TEN[model]["e2e_standard"], 261)):
            yield "table_10_code_contests", model, "retry"
    for model, row in EIGHT.items():
        for key, of in MMAU["tables"]["table_8_tool_use"]["samples"].items():
            if row[key] is not None and abs(round(row[key] * of) / of - row[key]) > 0.00051:
                yield "table_8_tool_use", model, key


def mmau() -> Iterator[Finding]:
    found = [*weighted(), *wholes()]
    yield from found
    printed = [row[key] for row in SEVEN.values() for key in row if key != "model"]
    for _, model, key in found:  # a figure that is printed twice, below a capability that does not follow
        value = SEVEN[model]["planner_shift"]
        if key == "reasoning" and printed.count(value) > 1:
            yield "table_7_math", model, "planner_shift"
    prompts = {row[2]: row[3] for row in MMAU["tables"]["table_4_dataset"]["rows"]}
    weights = MMAU["derived"]["weights"]
    used = {
        "single-tool": TOOL_EXECUTION["tool_single"] + TOOL_EXECUTION["tool_parallel"],
        "multi-tool": TOOL_EXECUTION["tool_double"] + TOOL_EXECUTION["tool_triple"],
        "DAG QA": weights["reasoning"]["dag_qa_with_reasoning"],
        "self-correct": weights["self_correction"]["tool_use_self_correction"],
        "textual QA": weights["self_correction"]["ds_ml_retry"] - prompts["visual QA"],
        "Comprehend+": weights["understanding"]["math_comprehend_plus"],
    }
    yield from (("table_4_dataset", task, "") for task, count in used.items() if prompts[task] != count)
    for row in MMAU["tables"]["leaderboard_readme"]["rows"]:
        four = [row[key] for key in ("tool_use_plan", "tool_use_execution", "math", "code_contests")]
        if None not in four and abs(sum(four) / 4 - row["mean_of_four"]) > 0.0051:
            yield "leaderboard_readme", row["model"], "mean_of_four"


@pytest.mark.parametrize(
    ("found", "file"), [(wild, WILD), (atomic, ATOMIC), (workflow, WORKFLOW), (mmau, MMAU)], ids=[*"WAFM"]
)
def test_exactly_the_figures_with_footnotes_do_not_follow_from_their_parts(found: Any, file: Any) -> None:
    assert set(found()) == noted(file)


def test_what_footnotes_give_in_place_of_a_figure_follows() -> None:
    main = by_model(WILD["full"]["main"])
    assert agrees({**main["Claude-3.7-Sonnet"], "task_2": 50.0}) and agrees({**main["Grok-4"], "task_2": 52.34})
    reasoning = CAPABILITIES["reasoning"]
    for model, task, value in (
        ("Command R", "dag_reasoning", 23.28),
        ("Llama2-13B", "math_planner", 9.32),
        ("Llama2-7B", "math_planner", 9.70),
    ):
        found = average({**scores(model), task: value}, reasoning).value
        assert found == pytest.approx(THREE[model]["reasoning"], abs=0.01)
    assert is_whole(23.28, 451) and not is_whole(22.28, 451)
    for one in MMAU["derived"]["published_inconsistencies"]:
        found = average(scores(one["model"]), CAPABILITIES[one["column"]]).value
        assert found == pytest.approx(one["recomputed"], abs=0.011)
        assert THREE[one["model"]][one["column"]] == one["published"]


def test_a_yardstick_is_of_the_newest_table_with_the_figure() -> None:
    columns = (Column("acc", "Acc", "toy.say", "Acc"),)
    rows = [{"model": name, "acc": value} for name, value in (("a", 0.2), ("b", None), ("c", 0.9), ("d", 0.4))]
    newer = Leaderboard("newer", "", "2026", (Column("other", "Other", "toy.say", "Other"),), rows)
    older = Leaderboard("older", "", "2025", columns, rows, factor=100)
    figure = Headline("Acc", 50.0, 40.0, 60.0, 10, column=("toy.say", "Acc"))
    assert yardstick(figure, [newer, older]) == Yardstick("older", 3, 90.0, "c", 40.0)
    assert yardstick(figure, [newer]) is None


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (50.0, "Acc 50.00 lies between c (90.00) and d (40.00)"),
        (40.0, "Acc 40.00 lies between d (40.00) and a (20.00)"),
        (95.0, "Acc 95.00 is above all of them, next to c (90.00)"),
        (10.0, "Acc 10.00 is below a (20.00)"),
        (None, ""),
    ],
)
def test_a_row_of_ours_is_put_between_its_neighbours(value: float | None, sentence: str) -> None:
    rows = [{"model": name, "acc": value} for name, value in (("a", 0.2), ("b", None), ("c", 0.9), ("d", 0.4))]
    board = Leaderboard("table", "", "2025", (Column("acc", "Acc", "toy.say", "Acc"),), rows, factor=100)
    assert neighbours(Headline("Acc", value, None, None, 10, column=("toy.say", "Acc")), board) == sentence
