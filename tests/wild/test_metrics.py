"""The tables: what they count, by session, and their intervals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentgauge.core.estimate import estimate
from agentgauge.core.types import Metric, Score, Scoring
from bench_wild.fixes import PARITY, STRICT
from bench_wild.metrics import (
    COLUMNS,
    ERROR_COLUMNS,
    PARAMETER_KINDS,
    PUBLISHED_AS,
    formula,
    official,
    session_values,
)
from bench_wild.score import score_task
from tests.wild.scoring import ANSWER, call, perfect, run, session


def scores(*ids: str, evaluator: str = "2026", scoring: str = "parity") -> list[Score]:
    found = []
    for id in ids:
        one = session(id)
        found += [
            score_task(one, task, result, scoring, evaluator)  # type: ignore[arg-type]
            for task, result in zip(one.tasks, perfect(id), strict=True)
        ]
    return found


def table(scores: list[Score], scoring: Scoring) -> dict[str, Metric]:
    return estimate(scores, formula(scoring))


def failed(score: Score) -> Score:
    return replace(
        score,
        passed=False,
        values={name: 0.0 if name.endswith(" done") else value for name, value in score.values.items()},
    )


@pytest.mark.parametrize(("evaluator", "scoring"), [("2026", "strict"), ("2025", "parity")])
def test_a_perfect_run_has_100_everywhere(evaluator: str, scoring: str) -> None:
    found = table(scores("a_0", "a_1", evaluator=evaluator, scoring=scoring), scoring)  # type: ignore[arg-type]
    assert {found[name].value for name in COLUMNS} <= {100, None}
    assert {name for name in COLUMNS if found[name].value is None} >= {
        "Parallel",
        "Sequential",
        "Optimal Parallel",
        "Progress Sequential",
    }


def test_parity_s_progress_counts_messages_over_nodes() -> None:
    found = table(scores("a_0"), "parity")
    assert found["Progress"].value == 75  # three messages, four nodes
    assert found["Completed Nodes"].value == 100


def test_columns_and_counts() -> None:
    one, two = scores("a_0", "a_1")[:4], scores("a_0", "a_1")[4:]
    found = table([*one, *two[:3], failed(two[3])], "parity")
    assert found["Task"].value == pytest.approx(100 * 7 / 8)
    assert found["Session"].value == 50
    assert found["Chat"].value == 50
    assert found["Task 4"].value == 50
    assert found["First Turn"].value == 100
    assert found["Subsequent Turn"].value == pytest.approx(100 * 5 / 6)
    assert (found["Task"].n, found["Session"].n, found["Chat"].n, found["Multi-Tool"].n) == (8, 2, 2, 2)
    assert tuple(found) == COLUMNS


def test_the_order_of_tasks_and_sessions_does_not_matter() -> None:
    given = scores("a_0", "a_1", "a_2")
    given[5] = failed(given[5])
    one, other = table(given, "parity"), table(given[::-1], "parity")
    assert {name: metric.value for name, metric in one.items()} == {
        name: metric.value for name, metric in other.items()
    }


def test_intervals_are_wider_where_faults_come_together() -> None:
    """Four wrong tasks in one session say less than one in each of four: tasks of a session hang together."""
    ids = [f"a_{number}" for number in range(8)]
    together, apart = scores(*ids), scores(*ids)
    for place in range(4):
        together[place] = failed(together[place])
        apart[4 * place] = failed(apart[4 * place])
    one, other = table(together, "parity")["Task"], table(apart, "parity")["Task"]
    assert one.value == other.value
    assert one.low is not None and other.low is not None and one.low < other.low


def test_attempts_of_a_task_are_means_and_a_session_s_is_their_product() -> None:
    given = scores("a_0")
    halves = [replace(score, values={**score.values, "task done": 0.5}) for score in given[:2]]
    assert table([*halves, *given[2:]], "parity")["Session"].value == 25


def test_a_session_without_all_its_results_counts_in_a_file_only_under_parity() -> None:
    values = [score.values for score in scores("a_0")[:2]]
    assert session_values(values, PARITY)["session done"] == 1
    assert "session" not in session_values(values, STRICT)
    assert session_values([], PARITY) == {"session": 1.0, "session done": 1.0}


@pytest.mark.parametrize("scoring", ["parity", "strict"])
def test_a_session_that_is_not_whole_counts_in_no_run(scoring: Scoring) -> None:
    given = [*scores("a_0", scoring=scoring)[:2], *scores("a_1", scoring=scoring)]
    found = estimate(given, formula(scoring), incomplete={"a_0"})
    assert (found["Session"].value, found["Session"].n, found["Task"].n) == (100, 1, 6)
    none = estimate(given, formula(scoring), incomplete={"a_0", "a_1"})
    assert (none["Session"].value, none["Session"].n, none["Task"].value) == (None, 0, 100)


def test_nothing_at_all() -> None:
    assert {metric.value for metric in table([], "parity").values()} == {None}
    assert official([], "m")["total_info"]["task"] == {"accuracy": 0.0, "correct_count": 0, "total_count": 0}


def test_errors_of_the_earlier_evaluator() -> None:
    one = session("a_0")
    given = [
        score_task(one, one.tasks[0], run(0, "no", id="a_0"), "parity", "2025"),
        score_task(
            one, one.tasks[2], run(2, "Which?", [call("plant", bed="B4", rows=9.5)], ANSWER, id="a_0"), "parity", "2025"
        ),
    ]
    found = table(given, "parity")
    assert found["Refusal"].value == found["Param Value Error"].value == 50
    assert sum(found[name].value or 0 for name in ERROR_COLUMNS) == 100
    assert found["Wrong Values, float"].value == 1
    assert {f"Wrong Values, {kind}" for kind in PARAMETER_KINDS} <= found.keys()
    assert not set(ERROR_COLUMNS) & table(scores("a_0"), "parity").keys()


def test_published_columns_are_ours() -> None:
    assert set(PUBLISHED_AS.values()) <= set(COLUMNS)
