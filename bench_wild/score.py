"""From a task's log to a score: the evaluator of April 2026 (docs/benchmarks/wild.md#order-of-checks), and the entry to
the earlier one.

Pure: everything comes from a task result in the original layout (docs/benchmarks/wild.md#task-results), the tools and
the gold. A step's ``inference_input`` is ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentgauge.core.types import Json, Sample, Score, Scoring
from bench_wild.arguments import check, find_tool
from bench_wild.data import Session, WildTask, resolve
from bench_wild.evaluator2025 import (
    CallsReply,
    SoftVerdict,
    explain_softly,
    judge_softly,
    wrong_parameters,
    wrong_types,
)
from bench_wild.fixes import Fix, Fixes, fixes_of
from bench_wild.labels import PSEUDO, TYPE_OF
from bench_wild.metrics import (
    DONE,
    ERROR_CLASSES,
    PARAMETER_KINDS,
    PARAMETER_TYPE,
    STRUCTURED,
    situation_values,
    task_values,
)
from bench_wild.prompts import Release, as_asked, convert_tools, messages_of
from bench_wild.steps import CORRECT, ERROR, LoggedCall, Step, explain, labels_of, read_steps

BROKEN = "broken"
"""Label of a task without a result, which counts as wrong. Whether a case is broken is the run's to decide."""


@dataclass(frozen=True, slots=True)
class TurnVerdict:
    """The evaluator's verdict on one task."""

    action: str  # "correct" or "error"
    arguments: str | None  # the same; None where the action is wrong
    optimal: bool  # correct, in as few replies as possible
    steps: tuple[Step, ...]  # what is left of the log
    stops: str = ""  # the exception with which the published evaluator stops on this task; empty: it does not

    @property
    def correct(self) -> bool:
        return ERROR not in (self.action, self.arguments)


FAILED = TurnVerdict(ERROR, None, False, (), "TypeError")
"""A task of a session that failed during inference: upstream stops on its result, which is a text."""


def score_task(
    session: Session, task: WildTask, output: Json, scoring: Scoring = "parity", evaluator: Release = "2026"
) -> Score:
    """Score a task, one user turn of a session, by its result in the original layout. The score's group is the session.

    None is a case that broke, and a text the result of a session that failed: both are wrong.
    """
    result = output if isinstance(output, Mapping) else None
    if evaluator == "2025":
        return _score_softly(session, task, result)
    fixes = fixes_of(scoring)
    verdict = judge(result, session.tools, fixes) if result is not None else FAILED
    values = task_values(
        type=task.type,
        position=task.position,
        subtype=task.subtype,
        structure=task.type if task.type in STRUCTURED else None,
        correct=verdict.correct,
        optimal=verdict.optimal,
        steps=(len(verdict.steps), task.gold_nodes),
        nodes=(_completed(verdict, result, session), len(task.answer_list)),
        action=verdict.action == CORRECT,
    )
    if result is None:
        return Score(False, values, (BROKEN,), output or "there is no result", session.id)
    if verdict.correct:
        return Score(True, values, group=session.id)
    offered = _offered(session)
    labels = labels_of(verdict.steps, offered) or ("unscorable",)
    # after a wrong argument the published evaluator looks at no step; a reader wants to know of them, too
    whole = judge(result, session.tools, fixes | {Fix.EVERY_STEP}) if verdict.arguments == ERROR else verdict
    words = filter(None, (explain(whole.steps, offered), _note(verdict.stops)))
    return Score(False, values, labels, "\n".join(words), session.id, verdict.stops)


def score_sample(
    sample: Sample, output: Json | None, scoring: Scoring, similarity: str = "", *, evaluator: Release, context: bool
) -> Score:
    """Score the result of a case. ``context``: earlier tasks are sent before it. No texts are compared: ``similarity``
    changes nothing."""
    session, task = resolve(sample)
    if isinstance(output, str):
        # upstream loses the session with this task; the session's accuracy says the same, its other tasks stand
        lost = score_task(session, task, None, scoring, evaluator)
        text = f"the published protocol stops here: {output!r}"
        score = Score(False, lost.values, ("session_fails",), text, lost.group, output)
    else:
        score = score_task(session, task, output, scoring, evaluator)
    return situated(score, session, task, messages_of(session, task, context=context))


def situated(score: Score, session: Session, task: WildTask, messages: int) -> Score:
    """The score with the counters for the tables by sequence of types and by number of messages."""
    types = [one.type for one in session.tasks[: task.position + 1]]
    return replace(score, values={**score.values, **situation_values(types, messages, score.values["task" + DONE])})


def score_soft(
    session: Session, task: WildTask, replies: Sequence[CallsReply], *, action_correct: bool, optimal: bool
) -> Score:
    """Score a task's replies by the earlier evaluator."""
    verdict = judge_softly(replies, task.answer_list, session.tools, action_correct=action_correct, optimal=optimal)
    values = _soft_values(session, task, verdict)
    labels = () if verdict.error is None else (verdict.error.replace(" ", "_"),)
    words = filter(None, (explain_softly(verdict.error, verdict.bad), _note(verdict.stops)))
    return Score(verdict.correct, values, labels, "\n".join(words), session.id, verdict.stops)


def _score_softly(session: Session, task: WildTask, output: Mapping[str, Json] | None) -> Score:
    if output is None:
        return Score(False, _soft_values(session, task, None), (BROKEN,), "there is no result", session.id)
    session = as_asked(session, output)
    steps = read_steps(output["inference_log"])
    correct, optimal = output["action_name_label"] == CORRECT, bool(output["is_optimal"])
    score = score_soft(
        session, task, [CallsReply(step.calls) for step in steps], action_correct=correct, optimal=optimal
    )
    details = explain(steps, _offered(session))
    first, *rest = score.explanation.split("\n")
    return replace(score, explanation="\n".join([first, details, *rest])) if details else score


def _soft_values(session: Session, task: WildTask, verdict: SoftVerdict | None) -> dict[str, float]:
    progress = (verdict.progress if verdict else 0, len(task.answer_list))
    values = task_values(
        type=task.type,
        position=task.position,
        subtype=task.subtype,
        structure=TYPE_OF[task.structure] if task.structure else None,
        correct=verdict is not None and verdict.correct,
        optimal=verdict is not None and verdict.optimal,
        steps=progress,
        nodes=progress,
        action=verdict is not None and verdict.scores is not None,
    )
    error = verdict.error if verdict else None
    wrong = wrong_parameters(verdict, session.tools) if verdict else {}
    values |= {f"error {name}": float(name == error) for name in ERROR_CLASSES}
    values |= {"errors": float(error is not None)} | {
        f"parameter {kind}": float(wrong.get(kind, 0)) for kind in PARAMETER_KINDS
    }
    types = wrong_types(verdict, session.tools) if verdict else {}
    return values | {f"{PARAMETER_TYPE}{name}": float(count) for name, count in types.items()}


def _completed(verdict: TurnVerdict, result: Mapping[str, Json] | None, session: Session) -> int:
    """Gold nodes that were done right, by the paper's definition: steps after a wrong argument are looked at as
    well."""
    if verdict.arguments == ERROR and result is not None:
        verdict = judge(result, session.tools, frozenset({Fix.EVERY_STEP}))
    done = 0
    for step in verdict.steps:
        if step.action == CORRECT:
            done += sum(outcome == CORRECT for outcome in step.outcomes) if step.outcomes else _is_pseudo(step)
    return done


def _offered(session: Session) -> Collection[str]:
    return {tool["function"]["name"] for tool in session.tools}


def _note(stops: str) -> str:
    return f"the published evaluator stops on this task ({stops}); it counts as wrong" if stops else ""


def judge(result: Mapping[str, Json], tools: Sequence[Mapping[str, Any]], fixes: Fixes) -> TurnVerdict:
    """Walk the steps of a task result.

    Where the published evaluator stops, the task is an action error, and ``stops`` of the verdict has the reason.
    """
    steps: list[Step] = []
    action, arguments, stops = result["action_name_label"], CORRECT, ""
    for step in read_steps(result["inference_log"]):
        if arguments == ERROR and Fix.EVERY_STEP not in fixes:
            # the step after a wrong argument leaves the log, later ones stay, and their actions no longer matter: as
            # upstream
            action = CORRECT
            steps += [later for later in read_steps(result["inference_log"]) if later.place > step.place]
            break
        if not step.answered:
            stops = "KeyError"
        if step.action == CORRECT and _is_pseudo(step):
            if Fix.PSEUDO_CALLS in fixes and step.calls:
                step, action = replace(step, action=ERROR, reason="a pseudo action was emitted as a call"), ERROR
        elif step.action == CORRECT and not stops:
            step, stops = _check_step(step, tools, fixes)
            arguments = ERROR if stops or step.arguments == ERROR else arguments
        steps.append(step)
        if stops or step.action == ERROR:
            # the rest, if any, is counted as it stands
            steps += [later for later in read_steps(result["inference_log"]) if later.place > step.place]
            break
    if stops:
        return TurnVerdict(ERROR, None, False, tuple(steps), stops)
    if action == ERROR:
        return TurnVerdict(ERROR, arguments if arguments == ERROR else None, False, tuple(steps))
    return TurnVerdict(action, arguments, bool(result["is_optimal"]) and arguments == CORRECT, tuple(steps))


def _is_pseudo(step: Step) -> bool:
    return bool(step.candidates and step.candidates[0] and step.candidates[0][0].name in PSEUDO)


def _check_step(step: Step, tools: Sequence[Mapping[str, Any]], fixes: Fixes) -> tuple[Step, str]:
    """The step with its outcomes, and the exception with which upstream stops."""
    calls = tuple(sorted(step.calls, key=lambda call: (call.name, _text(call.arguments))))
    wanted = tuple(sorted(step.candidates[0], key=lambda call: (call.name, call.arguments)))
    step = replace(step, calls=calls, candidates=(wanted,))
    if Fix.ARGUMENT_OBJECTS not in fixes and any(not isinstance(call.arguments, str) for call in calls):
        return step, "TypeError"
    used: dict[str, Mapping[str, Any]] = {}
    for name in {call.name for call in wanted}:
        tool = find_tool(tools, name)
        if tool is None:
            return step, "KeyError"
        used[name] = convert_tools([tool])[0]  # arguments are held against the schemas that were sent

    def outcome(call: LoggedCall, gold: LoggedCall) -> str:
        return check(used[gold.name], call.arguments, json.loads(gold.arguments), fixes)

    try:
        outcomes = tuple(map(outcome, calls, wanted))
    except (RecursionError, TypeError, ValueError) as error:
        return step, type(error).__name__
    if Fix.BEST_PAIRS in fixes and any(one != CORRECT for one in outcomes):
        calls = _best_order(calls, wanted, outcome)
        outcomes = tuple(map(outcome, calls, wanted))
    return replace(step, calls=calls, outcomes=outcomes), ""


def _best_order(
    calls: Sequence[LoggedCall], wanted: Sequence[LoggedCall], outcome: Callable[[LoggedCall, LoggedCall], str]
) -> tuple[LoggedCall, ...]:
    """The calls in an order in which as many as possible are right, each facing a gold call of its name."""
    fits = [
        [place for place, call in enumerate(calls) if call.name == gold.name and outcome(call, gold) == CORRECT]
        for gold in wanted
    ]
    taken: dict[int, int] = {}  # place of a call → place of its gold call

    def place_it(gold: int, tried: set[int]) -> bool:
        for call in fits[gold]:
            if call not in tried:
                tried.add(call)
                if call not in taken or place_it(taken[call], tried):
                    taken[call] = gold
                    return True
        return False

    for gold in range(len(wanted)):
        place_it(gold, set())
    chosen = {gold: call for call, gold in taken.items()}
    left = [place for place in range(len(calls)) if place not in taken]
    for gold, one in enumerate(wanted):
        if gold not in chosen:
            chosen[gold] = next(place for place in left if calls[place].name == one.name)
            left.remove(chosen[gold])
    return tuple(calls[chosen[gold]] for gold in range(len(wanted)))


def _text(arguments: Json) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
