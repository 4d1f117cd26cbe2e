"""The original benchmark's own files: result files of both releases are read, ours are written like those of April
2026.

See docs/benchmarks/wild.md#task-results, and docs/benchmarks/wild.md#reports-of-2025 for the earlier release.

``data_with_details.csv`` is the earlier release's table, one row per task (docs/benchmarks/wild.md#reports-of-2025).
There texts are written as they are and everything else as JSON, on one line. What a model wrote is always inside JSON,
so that no cell begins with a sign that a spreadsheet takes for a formula.
"""

from __future__ import annotations

import copy
import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentgauge.core.errors import DataProblem
from agentgauge.core.estimate import totals
from agentgauge.core.text import json_lines, parse_json
from agentgauge.core.types import Json, Sample, Score, Scoring
from bench_wild import data
from bench_wild.data import Session, WildTask, read_sessions, sample_id
from bench_wild.evaluator2025 import CallsReply, judge_softly
from bench_wild.fixes import fixes_of
from bench_wild.labels import FIRST_TURN, UNKNOWN_SUBTYPE
from bench_wild.metrics import ACTION, DONE, ERROR_CLASSES, TASKS_PER_SESSION, Values, formula, official, session_values
from bench_wild.options import WildOptions
from bench_wild.prompts import ORIGINAL, Release, Sending, as_asked, messages_of
from bench_wild.run import FAILED, with_inputs
from bench_wild.score import score_soft, score_task
from bench_wild.source import WildData
from bench_wild.steps import CORRECT, ERROR, read_calls, read_steps

RESULTS = "Wild-Tool-Bench_result.jsonl"

_NUMBER = re.compile(r"_(\d+)$")

_WITHOUT_UNANSWERED = (
    "2025-02-11-10:28:34_61612c_deepseekr1_en_remove_role_contain_context.jsonl",
    "2025-02-11-11:49:57_b6a245_deepseekv3_en_remove_role_contain_context.jsonl",
)
"""The published result files of which the earlier evaluator leaves out tasks that the endpoint did not answer."""

_UNKNOWN_SHAPE = (KeyError, TypeError, IndexError, AttributeError, ValueError)


@dataclass(frozen=True, slots=True)
class _ScoredSession:
    """One line of a result file, or the lines of one session."""

    session: Session
    tasks: tuple[tuple[WildTask, Score], ...]
    note: str = ""  # why the published evaluator stops here


def score_files(
    samples: Path,
    predictions: Path,
    *,
    scoring: Scoring = "parity",
    similarity: str = "",
    options: WildOptions = WildOptions(),  # noqa: B008 - frozen
) -> dict[str, Any]:
    """Score a result file of either release, or the folder of one.

    ``metrics`` are the tables' columns in percent, None where there is nothing to count; ``official`` the content of
    the original metric file (evaluator 2026); ``samples`` the result of each task; ``stops`` the places where the
    published evaluator would have stopped, with the reasons. Sessions are those of the result file; with
    ``skip_invalid`` sessions whose data breaks a rule are left out, and ``left_out`` names them. No texts are compared:
    ``similarity`` changes nothing. Raises DataProblem, and RecordProblem without ``skip_invalid``.
    """
    evaluator = options.evaluator
    file = samples if samples.is_file() else data.find(WildData().find(samples) or samples)
    if file is None:
        raise DataProblem(f"{samples} holds no sessions; give {' or '.join(data.FILES)}, or the folder of one")
    found = predictions / RESULTS if predictions.is_dir() else predictions
    sessions: dict[str, tuple[int, Session]] = {}
    left_out: list[str] = []
    for place, session in enumerate(read_sessions(file, options.language)):
        if isinstance(session, Session):
            sessions[session.id] = (place, session)
        elif options.skip_invalid:
            left_out.append(session.session)
        else:
            raise session
    lines = [(where, line) for where, line in _lines(found) if line["id"] in sessions or line["id"] not in left_out]
    earlier = bool(lines) and "predict_result" in lines[0][1]
    if earlier and evaluator != "2025":
        raise DataProblem(
            f"{found} holds predictions of the earlier release, which lack what {evaluator} scores; give"
            " --wild-evaluator 2025"
        )
    score = (
        _earlier(found, sessions, lines)
        if earlier
        else _later(sessions, len(sessions) + len(left_out), lines, scoring, evaluator)
    )
    scored = list(score)
    fixes = fixes_of(scoring)
    values: list[Values] = [session_values([score.values for _, score in one.tasks], fixes) for one in scored]
    result: dict[str, Any] = {"metrics": dict(formula(scoring).compute(totals(values)))}
    if evaluator == "2026":
        result["official"] = official(values, str(lines[0][1].get("model_name", "")) if lines else "")
    result["samples"] = [_sample(one.session, task, score) for one in scored for task, score in one.tasks]
    result["stops"] = [{"session": one.session.id, "reason": one.note} for one in scored if one.note]
    result["left_out"] = left_out
    return result


def _sample(session: Session, task: WildTask, score: Score) -> dict[str, Any]:
    return {
        "id": sample_id(session.id, task.position),
        "passed": score.passed,
        "values": dict(score.values),
        "labels": list(score.labels),
        "explanation": score.explanation,
    }


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Where each line stands, for messages, and its object."""
    try:
        lines = json_lines(path)
    except (OSError, UnicodeDecodeError) as error:
        raise DataProblem(
            f"{path} cannot be read: {error}; give a result file of WildToolBench, or the folder of a {RESULTS}"
        ) from None
    for number, line in lines:
        where = f"{path}, line {number}"
        try:
            entry = parse_json(line)
        except ValueError as error:
            raise DataProblem(
                f"{where} is not JSON: {error}; give a result file as it was written, one object a line"
            ) from None
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
            raise DataProblem(
                f"{where} must be an object with the string 'id'; give a result file in the original layout"
            )
        yield where, entry


def _number_of(session: str) -> int:
    found = _NUMBER.search(session)
    return int(found[1]) if found else -1


def _session_of(
    where: str, line: Mapping[str, Any], sessions: Mapping[str, tuple[int, Session]]
) -> tuple[int, Session]:
    """Line of the data set, from 0, and session."""
    if line["id"] not in sessions:
        raise DataProblem(
            f"{where}: the data set has no session {line['id']!r}; both files must be of the same data set"
        )
    return sessions[line["id"]]


# -- the release of April 2026


def _later(
    sessions: Mapping[str, tuple[int, Session]],
    count: int,
    lines: Sequence[tuple[str, Mapping[str, Any]]],
    scoring: Scoring,
    evaluator: Release,
) -> Iterator[_ScoredSession]:
    for where, line in sorted(lines, key=lambda line: _number_of(line[1]["id"])):
        (place, session), results = _session_of(where, line, sessions), line.get("result")
        if not isinstance(results, str) and not (isinstance(results, list) and len(results) <= len(session.tasks)):
            raise DataProblem(
                f"{where}: 'result' must be a list of at most {TASKS_PER_SESSION} task results, or the text of a"
                " failure"
            )
        outputs: Sequence[Json] = [results] * len(session.tasks) if isinstance(results, str) else results
        tasks = []
        for task, output in zip(session.tasks, outputs, strict=False):
            try:
                tasks.append((task, score_task(session, task, output, scoring, evaluator)))
            except _UNKNOWN_SHAPE as error:
                what = f"{type(error).__name__}: {error}"
                raise DataProblem(
                    f"{where}, task {task.position + 1}: the result has an unknown shape ({what}); give a file in the"
                    " original layout"
                ) from None
        yield _ScoredSession(
            session, tuple(tasks), reference_stop(session.id, place, count, results, [score for _, score in tasks])
        )


def reference_stop(session: str, place: int, count: int, results: Json, scores: Sequence[Score]) -> str:
    """Why the published evaluator stops on a session or scores it wrongly; empty if it does neither. ``place`` is its
    line, from 0.

    It takes the number at the end of an id for the line of the data set (docs/benchmarks/wild.md#records); here
    sessions are found by id.
    """
    number = _number_of(session)
    if not 0 <= number < count:
        return f"IndexError: the id stands for line {number}, and the data set has {count}"
    if number != place:
        return f"the id stands for line {number}, so that another session's gold is taken"
    if isinstance(results, str):
        return f"TypeError: the session failed ({results})"
    return _first_stop(scores)


def _first_stop(scores: Sequence[Score]) -> str:
    """The sentence about the first task on which the published evaluator stops."""
    return next((score.explanation.splitlines()[-1] for score in scores if score.stops), "")


# -- the earlier release


def _earlier(
    path: Path, sessions: Mapping[str, tuple[int, Session]], lines: Sequence[tuple[str, Mapping[str, Any]]]
) -> Iterator[_ScoredSession]:
    """One line is one task. Lines of a task that is already known are left out, as upstream does.

    The path as it was given decides two things, as upstream, whatever its folders are called.
    """
    scored: dict[str, dict[int, tuple[WildTask, Score]]] = {}
    known: set[tuple[str, int]] = set()
    xlam = "xlam" in str(path) and "xlam2" not in str(path)
    answered_only = any(name in str(path) for name in _WITHOUT_UNANSWERED)
    for where, line in lines:
        try:
            (_, session), place = _session_of(where, line, sessions), line["idx"]
            task = session.tasks[place]
            if (session.id, place) in known:
                continue
            known.add((session.id, place))
            if not (answered_only and _unanswered(line["predict_result"])):
                scored.setdefault(session.id, {})[place] = _earlier_task(session, task, line, xlam=xlam)
        except _UNKNOWN_SHAPE as error:
            what = f"{type(error).__name__}: {error}"
            raise DataProblem(
                f"{where}: the prediction has an unknown shape ({what}); give a file in the original layout"
            ) from None
    for id, tasks in scored.items():
        found = tuple(tasks[place] for place in sorted(tasks))
        yield _ScoredSession(sessions[id][1], found, _first_stop([score for _, score in found]))


def _unanswered(replies: Sequence[Mapping[str, Json]]) -> bool:
    """Whether an endpoint gave up, filtered the prompt, or sent nothing in the end."""
    text = json.dumps(replies)
    if "time out" in text:
        return True
    return (replies[-1]["content"] is None and replies[-1]["tool_calls"] is None) or "filter_by_prompt" in text


def _earlier_task(session: Session, task: WildTask, line: Mapping[str, Any], *, xlam: bool) -> tuple[WildTask, Score]:
    """Gold and tools are those of the line, where it has them."""
    if nodes := line.get("answer_list"):
        task = replace(task, answer_list=data.gold_nodes(nodes))
    if tools := line.get("tools"):
        session = replace(session, tools=tuple(tools))
    replies = [CallsReply(tuple(read_calls(reply.get("tool_calls")))) for reply in line["predict_result"]]
    correct = line["predict_label"] == CORRECT
    if xlam and len(replies) == len(task.answer_list) - 1 and replies and replies[0].calls:
        # xLAM 1 gives no final answer, so that upstream lets its tasks pass without one
        correct = correct or replies[0].calls[0].name == task.answer_list[0].name
    optimal = line.get("predict_is_optimal") == "True"
    return task, score_soft(session, task, replies, action_correct=correct, optimal=optimal)


# -- writing


Results = Iterable[tuple[Sample, Json, Path]]
"""Of a run: samples, results, folders of files."""


def export(results: Results, folder: Path, *, model: str, scoring: Scoring, sending: Sending) -> list[str]:
    """Write a run as an original result file. Returns notes for a reader."""
    place = folder / "result" / model.replace("/", "_")
    place.mkdir(parents=True, exist_ok=True)
    resolved = ((*data.resolve(sample), output) for sample, output, _ in results)
    missing = write_result_lines(place / RESULTS, resolved, model, sending=sending, tolerant=scoring == "strict")
    return [f"session {session} is left out: one of its tasks is missing before another" for session in missing]


def export_csv(
    results: Results,
    folder: Path,
    *,
    model: str,
    scoring: Scoring,
    sending: Sending,
    score: Callable[[Sample, Json, Scoring], Score],
) -> list[str]:
    """Write a run as a row for each task, scored by the run's evaluator, in the order of the data."""
    folder.mkdir(parents=True, exist_ok=True)
    finished = sorted(results, key=lambda result: result[0].position)
    rows = ((*data.resolve(sample), output, score(sample, output, scoring)) for sample, output, _ in finished)
    write_csv(folder / FILE, rows, sending=sending, tolerant=scoring == "strict")
    return []


def write_result_lines(
    path: Path,
    results: Iterable[tuple[Session, WildTask, Json]],
    model: str,
    *,
    sending: Sending = ORIGINAL,
    tolerant: bool = False,
) -> list[str]:
    """Write task results as an original result file, by session, in the order of the ids' numbers.

    A result is that of ``run.solve``; a text is a failure's. ``sending`` and ``tolerant`` are as in the run. As in the
    original, a session of which a task failed has that text for a result. Returns the sessions that are left out: those
    with a task that is missing before another, which the layout cannot express.
    """
    sessions: dict[str, Session] = {}
    tasks: dict[str, dict[int, Json]] = {}
    for session, task, result in results:
        sessions[session.id] = session
        tasks.setdefault(session.id, {})[task.position] = result
    left_out, lines = [], []
    for id in sorted(sessions, key=lambda id: (_number_of(id), id)):
        found = tasks[id]
        failed = next((one for _, one in sorted(found.items()) if not isinstance(one, Mapping)), None)
        if failed is not None:
            lines.append({"id": id, "result": failed if str(failed).startswith(FAILED) else f"{FAILED}{failed}"})
        elif sorted(found) != list(range(len(found))):
            left_out.append(id)
        else:
            complete = [
                with_inputs(sessions[id], sessions[id].tasks[place], found[place], sending=sending, tolerant=tolerant)
                for place in sorted(found)
            ]
            lines.append({"id": id, "model_name": model, "result": complete})
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    # half a surrogate pair, which a model may write, stays an escape
    path.write_text(text, encoding="utf-8", errors="backslashreplace")
    return left_out


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
        [CallsReply(step.calls) for step in steps],
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
