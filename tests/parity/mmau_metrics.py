"""The published metrics of Apple MMAU, from what the product makes of verdicts: the columns of ``bench_mmau.metrics``
and the counters below them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentgauge.core.estimate import totals
from bench_mmau import metrics
from bench_mmau.contests.score import ContestVerdict, needs_retry
from bench_mmau.metrics import RecordVerdict, average
from bench_mmau.score import retry_values

Row = Mapping[str, float | None]


class NoValue(Exception):
    """There is no value where the original stops: nothing is reported in silence."""


def summed(verdicts: Iterable[RecordVerdict]) -> dict[str, float]:
    return totals({**one.values, metrics.RECORDS: 1.0} for one in verdicts)


def row(columns: Sequence[metrics.TableColumn], verdicts: Iterable[RecordVerdict]) -> Row:
    return metrics.formula(columns).compute(summed(verdicts))


def share(value: float | None) -> float:
    """A column in per cent as a rate."""
    if value is None:
        raise NoValue
    return value / 100


def tool_use_execution(verdicts: Sequence[RecordVerdict]) -> dict[str, float]:
    found, sums = row(metrics.TOOLS, verdicts), summed(verdicts)
    rates = {name: 0.0 if found[name] is None else share(found[name]) for name, _, below in metrics.TOOLS if below}
    if not verdicts:  # another set of keys [Q2]
        return {
            "accuracy": rates["Accuracy"],
            "number_of_examples": 0,
            "number_of_errors": found["Parsing Errors"] or 0,
        }
    return {
        "accuracy": rates["Accuracy"],
        "number_of_examples": len(verdicts),
        "number_of_parsing_errors": found["Parsing Errors"] or 0,
        "number_of_generation_errors": found["Generation Errors"] or 0,
        "func_name_accuracy": rates["Function Name"],
        "strict_accuracy": rates["Strict"],
        "lenient_accuracy": rates["Lenient"],
        "bow_accuracy": rates["Bag of Words"],
        "number_of_expected_tool_calls": sums["expected_calls"],
        "number_of_func_call_intents_ground_truth": sums["target_intents"],
        "number_of_func_call_intents_pred": sums["predicted_intents"],
        "func_intent_recall": rates["Intent Recall"],
        "func_intent_precision": rates["Intent Precision"],
    }


def tool_use_plan(verdicts: Sequence[RecordVerdict]) -> dict[str, float]:
    found = row(metrics.PLANS, verdicts)
    return {
        "accuracy": share(found["Accuracy"]),
        "instruction_following_error": share(found["Format Errors"]),
        "number_of_examples": len(verdicts),
    }


def math_metric(verdicts: Sequence[RecordVerdict]) -> dict[str, Any]:
    found, sums = row(metrics.MATH, verdicts), summed(verdicts)
    return {
        "number_of_examples": len(verdicts),
        "accuracy": 0.0 if found["Accuracy"] is None else share(found["Accuracy"]),
        "total_valid_answers": found["Valid Answers"],
        "correct_judgments": sums.get("correct", 0),
        "invalid_judgments": found["Invalid Judgments"],
        "incorrect_judgments": found["Wrong"],
    }


def code_contests(verdicts: Sequence[ContestVerdict], ids: Sequence[str], *, debug: bool) -> dict[str, Any]:
    """``ids``: those of the verdicts' records."""
    found = row(metrics.CONTESTS, verdicts)
    result: dict[str, Any] = {
        "pass_rate": share(found["Pass Rate"]),
        "average_score": share(found["Average Score"]),
        "candidates_per_example": summed(verdicts)["candidates"] / len(verdicts),
        "number_of_examples": len(verdicts),
    }
    if debug:
        pairs = list(zip(ids, verdicts, strict=True))
        result["errors"] = {
            id: {f"candidate_{place}": log for place, log in enumerate(one.errors)} for id, one in pairs
        }
        result["global_stats"] = {
            str(place): {
                "id": id,
                "total_candidates": one.values["candidates"],
                "passed_candidates": one.values["passed_candidates"],
                "avg_score": one.values["score"],
            }
            for place, (id, one) in enumerate(pairs)
        }
    return result


def code_contests_retry(
    first: Sequence[ContestVerdict], retried: Sequence[ContestVerdict], ids: Sequence[str], *, debug: bool
) -> dict[str, Any]:
    """Over the retried problems only. Without debug output the original stops, which ours does not need [Q21]."""
    if not debug:
        raise NoValue
    tries = iter(retried)
    values = [retry_values(one.values["solved"], next(tries) if needs_retry(one) else None) for one in first]
    found = metrics.formula(metrics.RETRY).compute(totals(values))
    return {
        **code_contests(retried, ids, debug=True),
        "pass_rate": share(found["Pass Rate"]),
        "average_score": share(found["Average Score"]),
        "number_of_examples": found["Retried"],
    }


def code_contests_understand(verdicts: Sequence[RecordVerdict]) -> dict[str, float]:
    found = row(metrics.PARSING, verdicts)
    return {
        "accuracy": share(found["Accuracy"]),
        "valid_ans_rate": share(found["Valid Answers"]),
        "number_of_examples": len(verdicts),
    }


def code_kaggle(verdicts: Sequence[RecordVerdict]) -> dict[str, float]:
    """The original has NaN where ours has no value, and where a turn has no questions [Q31]."""
    found, sums = row(metrics.NOTEBOOKS, verdicts), summed(verdicts)
    parts = {
        "": verdicts,
        "text_": [one for one in verdicts if not one.values["image"]],
        "image_": [one for one in verdicts if one.values["image"]],
    }
    columns = {"": "Accuracy", "text_": "Text", "image_": "Image"}
    return {
        "execution_success_rate": share(found["Executed"]),
        **{f"{name}overall_accuracy": _or_nan(found[column]) for name, column in columns.items()},
        **{f"{name}per_response_accuracy": _per_response(part) for name, part in parts.items()},
        "execution_success_count": sums["executed"],
        **{
            f"total_{name}{word}": sums.get(f"{name}{word}", 0) for name in columns for word in ("questions", "correct")
        },
    }


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else share(value)


def _per_response(verdicts: Sequence[RecordVerdict]) -> float:
    if not all(one.values["questions"] for one in verdicts):
        return math.nan
    return _or_nan(row(metrics.NOTEBOOKS, verdicts)["Per Response"])


def aggregate(metrics: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of the metrics' headlines: the pass rate where there is one, else the accuracy."""
    headlines = {str(place): one.get("pass_rate", one.get("accuracy")) for place, one in enumerate(metrics)}
    found = average(headlines, dict.fromkeys(headlines, 1)).value
    if found is None:
        raise NoValue
    return {"score": found}
