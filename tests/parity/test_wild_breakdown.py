"""The earlier release's tables on the golden replies, against tables counted from the golden verdicts."""

from __future__ import annotations

from collections import Counter
from typing import Any

from agentgauge.core.presentation import Breakdown
from bench_wild.labels import MIXED, PARALLEL, SEQUENTIAL
from bench_wild.score import score_task
from bench_wild.tables import breakdowns
from tests.parity.golden import listed, load, needs
from tests.parity.test_wild_score import result_of, sessions
from tests.parity.wild_runs import RUNS

pytestmark = needs("wild", *RUNS, "earlier_release_scores.json")


def tables() -> dict[str, Breakdown]:
    scores = []
    for entry in listed("wild", "earlier_release_scores.json", "tasks"):
        session, position = sessions()[entry["id"]], entry["task_idx"]
        result = result_of(session.id, position)
        scores.append(score_task(session, session.tasks[position], result, evaluator="2025"))
    return {one.title: one for one in breakdowns(scores, "parity")}


def counted(label: Any) -> Counter[tuple[str, int | str, bool]]:
    """How many golden tasks have an action type and a position, and whether ``label`` says that they are right."""
    found: Counter[tuple[str, int | str, bool]] = Counter()
    for entry in listed("wild", "earlier_release_scores.json", "tasks"):
        type, position = sessions()[entry["id"]].tasks[entry["task_idx"]].type, entry["task_idx"]
        for kind in ("Multi-Tool" if "Multi-Tool" in type else type, "all"):
            for place in (position, "all"):
                found[kind, place, label(entry)] += 1
    return found


def share(right: float, of: int) -> tuple[float | None, int]:
    return 100 * right / of if of else None, of


def matrix(label: Any) -> dict[str, list[tuple[float | None, int]]]:
    found, rows = counted(label), {}
    for kind in ("Single-Tool", "Multi-Tool", "Clarify", "Chat", "all"):
        pairs = [(found[kind, place, True], found[kind, place, False]) for place in (0, 1, 2, 3, "all")]
        rows[kind] = [share(right, right + wrong) for right, wrong in pairs]
    return rows


def figures(table: Breakdown) -> dict[str, list[tuple[float | None, int]]]:
    return {name: [(cell.value, cell.n) for cell in cells] for name, cells in table.rows.items()}


def test_both_matrices() -> None:
    found = tables()
    both = matrix(lambda task: task["final_label"] == "correct")
    assert figures(found["Accuracy by action type and position"]) == both
    # where scoring the arguments raises, the action counts as wrong
    action = matrix(lambda task: task["action_label"] == "correct" and not task["scoring_exception"])
    assert figures(found["Accuracy by action type and position, actions only"]) == action


def test_multi_tool_calls_and_error_types() -> None:
    expected, found = load("wild", "earlier_release_scores.json")["aggregate"], tables()
    rows = figures(found["Multi-tool calls"])
    names = {"combine": PARALLEL, "serial": SEQUENTIAL, "cs": MIXED, "sum": "all"}
    for column, pairs in ((0, expected["accuracy_by_structure"]), (1, expected["progress"]), (2, expected["optimal"])):
        for name, (done, of) in pairs.items():
            assert rows[names[name]][column] == share(done, of)
    errors = {name: cells[0][0] for name, cells in figures(found["Error types"]).items() if cells[0][0]}
    assert errors == {**expected["error_counts"], **({"all": expected["errors"]} if expected["errors"] else {})}
