"""A run as the earlier release's ``data_with_details.csv``: one row per task (wild spec 7.6).

Texts are written as they are and everything else as JSON, as there, but on one line. What a model wrote is always
inside JSON, so that no cell begins with a sign that a spreadsheet takes for a formula.
"""

from __future__ import annotations

import copy
import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.types import Json, Score
from bench_wild.data import Session, WildTask, sample_id
from bench_wild.labels import FIRST_TURN, UNKNOWN_SUBTYPE
from bench_wild.metrics import ACTION, DONE, ERROR_CLASSES
from bench_wild.prompts import ORIGINAL, Sending, messages_of
from bench_wild.release2025.azure import as_asked
from bench_wild.release2025.evaluator import Reply, judge_softly
from bench_wild.run import with_inputs
from bench_wild.steps import CORRECT, ERROR, read_steps

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


def write_csv(
    path: Path,
    results: Iterable[tuple[Session, WildTask, Json, Score]],
    *,
    sending: Sending = ORIGINAL,
    tolerant: bool = False,
) -> None:
    """Write a row for each result of ``run.solve`` and its score, in the order given. ``sending``, ``tolerant``: as
    in the run."""
    # half a surrogate pair, which a model may write, stays an escape
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for session, task, result, score in results:
            cells = row(session, task, result, score, sending=sending, tolerant=tolerant).values()
            writer.writerow([one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in cells])


def row(
    session: Session, task: WildTask, result: Json, score: Score, *, sending: Sending = ORIGINAL, tolerant: bool = False
) -> dict[str, Json]:
    """Column → value. ``result`` is a text where the session failed; there are no messages and no replies then."""
    log: Mapping[str, Any] = {}
    tools = session.tools
    if isinstance(result, Mapping):
        tools = as_asked(session, result).tools
        log = with_inputs(session, task, result, sending=sending, tolerant=tolerant)["inference_log"]
    steps = [(int(key.removeprefix("step_")), step) for key, step in log.items() if key.startswith("step_")]
    replies = [(number, step["inference_output"]) for number, step in steps]
    # under another scoring than the run's the requests cannot always be made again
    sent = [step["inference_input"]["messages"] for _, step in steps if "inference_input" in step]
    progress = [name for name in score.values if name.startswith("steps ") and name.endswith(DONE)]
    pseudo = task.subtype in (FIRST_TURN, UNKNOWN_SUBTYPE)
    cells = (
        session.id,
        task.position,
        [one.type for one in session.tasks],
        task.type,
        str(not pseudo),
        None if pseudo else task.subtype,
        messages_of(session, task, context=sending.context) if sent else None,
        list(tools),
        [*sent[-1][1:], *_last(replies[-1][1])] if sent else None,
        [_node(task, place) for place in range(len(task.answer_list))],
        [_expected(number, step) for number, step in steps if _right(step["inference_output"])],
        _replies(tools, task, result) if steps else [],
        int(score.values[progress[0]]) if progress else None,
        next((name for name in ERROR_CLASSES if score.values.get(f"error {name}")), None),
        CORRECT if score.passed else ERROR,
        str(bool(steps and result["is_optimal"])),
        CORRECT if score.values[ACTION] else ERROR,
        sample_id(session.id, task.position),
        list(score.labels),
    )
    return dict(zip(COLUMNS, cells, strict=True))


def _right(reply: Mapping[str, Any]) -> bool:
    return bool(reply["current_action_name_label"] == CORRECT)


def _last(reply: Mapping[str, Any]) -> list[Json]:
    """The last reply as a message: one that is right is the final answer, a wrong one ends the dialogue before it."""
    return [{"role": "assistant", "content": reply["content"]}] if _right(reply) else []


def _node(task: WildTask, place: int) -> dict[str, Json]:
    """An action of the gold as the data has it."""
    node = task.answer_list[place]
    action = {"name": node.name, "arguments": node.arguments}
    depends = list(node.dependencies)
    found = {"idx": place, "action": action, "observation": node.observation, "dependency_list": depends}
    return found if node.user_input is None else {**found, "user_input": node.user_input}


def _expected(number: int, step: Mapping[str, Any]) -> dict[str, Json]:
    """The actions that a right step was matched with. Pseudo actions that were called have no observation: as
    upstream."""
    (answer,) = step["inference_answer"].values()
    action = [{"name": one["name"], "arguments": json.loads(one["arguments"])} for one in answer["action"]]
    text = {} if step["inference_output"]["tool_calls"] else answer
    return {"step": number, "answer_function_list": {**text, "action": action}}


def _replies(tools: Sequence[Mapping[str, Any]], task: WildTask, result: Mapping[str, Any]) -> list[Json]:
    """What came in each step. Arguments are as the earlier evaluator leaves them: decoded, where it scored the call."""
    steps = read_steps(result["inference_log"])
    verdict = judge_softly(
        [Reply(step.calls) for step in steps],
        task.answer_list,
        tools,
        action_correct=result["action_name_label"] == CORRECT,
        optimal=bool(result["is_optimal"]),
    )
    found: list[Json] = []
    for place, step in enumerate(steps):
        output = result["inference_log"][step.key]["inference_output"]
        calls = copy.deepcopy(output["tool_calls"])
        for (reply, number), arguments in verdict.decoded.items():
            if reply == place:
                calls[number]["function"]["arguments"] = arguments
        found.append({"step": step.place, "content": output["content"], "tool_calls": calls})
    return found
