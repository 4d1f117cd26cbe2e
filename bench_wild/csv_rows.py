"""A run as the earlier release's ``data_with_details.csv``: one row per task (wild spec 7.6).

Texts are written as they are and everything else as JSON, as there, but on one line. What a model wrote is always inside
JSON, so that no cell begins with a sign that a spreadsheet takes for a formula.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bench_wild.data import Session, WildTask, sample_id
from bench_wild.labels import FIRST_TURN, UNKNOWN_SUBTYPE
from bench_wild.metrics import ACTION, DONE, ERROR_CLASSES
from bench_wild.run import with_inputs
from bench_wild.steps import CORRECT, ERROR
from harness.types import Json, Score

FILE = "data_with_details.csv"

COLUMNS = (
    "id",
    "idx",
    "type",
    "single_type",
    "turn_type",
    "turn_subtype",
    "messages_length",
    "tools",
    "messages",
    "answer_list",
    "answer_result",
    "predict_result",
    "complete_rate",
    "error_type",
    "param_predict_label",
    "predict_is_optimal",
    "predict_label",
    # ours
    "sample",
    "labels",
)


def write_csv(path: Path, results: Iterable[tuple[Session, WildTask, Json, Score]], *, tolerant: bool = False) -> None:
    """Write a row for each result of ``run.solve`` with its score, in the order given. ``tolerant`` is as in the run."""
    # half a surrogate pair, which a model may write, stays an escape
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for session, task, result, score in results:
            found = row(session, task, result, score, tolerant=tolerant)
            writer.writerow([value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in found.values()])


def row(session: Session, task: WildTask, result: Json, score: Score, *, tolerant: bool = False) -> dict[str, Json]:
    """Column → value. ``result`` is a text where the session failed during inference; it has no messages and no replies then."""
    log: Mapping[str, Any] = with_inputs(session, task, result, tolerant=tolerant)["inference_log"] if isinstance(result, Mapping) else {}
    steps = [(int(key.removeprefix("step_")), step) for key, step in log.items() if key.startswith("step_")]
    sent = steps and "inference_input" in steps[0][1]  # what was asked under the other scoring cannot always be asked again
    pseudo = task.subtype in (FIRST_TURN, UNKNOWN_SUBTYPE)
    cells = (
        session.id,
        task.position,
        [one.type for one in session.tasks],
        task.type,
        str(not pseudo),
        None if pseudo else task.subtype,
        len(steps[0][1]["inference_input"]["messages"]) - 1 if sent else None,
        list(session.tools),
        _messages(steps[-1][1]) if sent else None,
        [_node(task, place) for place in range(len(task.answer_list))],
        [_expected(number, step) for number, step in steps if step["inference_output"]["current_action_name_label"] == CORRECT],
        [{"step": number, **{name: step["inference_output"][name] for name in ("content", "tool_calls")}} for number, step in steps],
        next((value for name, value in score.values.items() if name.startswith("steps ") and name.endswith(DONE)), None),
        next((name for name in ERROR_CLASSES if score.values.get(f"error {name}")), None),
        CORRECT if score.passed else ERROR,
        str(bool(steps and result["is_optimal"])),
        CORRECT if score.values[ACTION] else ERROR,
        sample_id(session.id, task.position),
        list(score.labels),
    )
    return dict(zip(COLUMNS, cells, strict=True))


def _messages(last: Mapping[str, Any]) -> list[Json]:
    """Those of the last request without the system message, which is not in the earlier release's files, and the last reply if right."""
    said = [{"role": "assistant", "content": last["inference_output"]["content"]}]
    right = last["inference_output"]["current_action_name_label"] == CORRECT
    return [*last["inference_input"]["messages"][1:], *(said if right else ())]


def _node(task: WildTask, place: int) -> dict[str, Json]:
    """An action of the gold as the data has it."""
    node = task.answer_list[place]
    action = {"name": node.name, "arguments": node.arguments}
    asked = {} if node.user_input is None else {"user_input": node.user_input}
    return {"idx": place, "action": action, "observation": node.observation, **asked, "dependency_list": list(node.dependencies)}


def _expected(number: int, step: Mapping[str, Any]) -> dict[str, Json]:
    """The actions that a right step was matched with."""
    (answer,) = step["inference_answer"].values()
    action = [{"name": one["name"], "arguments": json.loads(one["arguments"])} for one in answer["action"]]
    return {"step": number, "answer_function_list": {**answer, "action": action}}
