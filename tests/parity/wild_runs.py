"""Golden sessions of WildToolBench run with their scripted replies: what the scoring vectors start from."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench_wild.data import Session, WildTask
from bench_wild.fixes import PARITY
from bench_wild.run import ModelAnswer, solve
from bench_wild.score import TurnVerdict, judge
from bench_wild.steps import CORRECT, ERROR, LoggedCall

RUNS = ("sessions.json", "model_scripts.json")
"""The sessions and the replies that the other files' results come from."""

SECONDS, PROMPT_TOKENS, COMPLETION_TOKENS = 0.5, 100, 10
"""Of every scripted reply, by the golden README."""


class RequestFails(Exception):
    """A scripted request that raises."""


def run_scripted(
    session: Session, task: WildTask, script: Sequence[Mapping[str, Any]], *, tolerant: bool = False
) -> tuple[dict[str, Any] | str, list[list[Any]]]:
    """The task's result, and the message lists that were sent. Raises RequestFails where the script says so."""
    sent: list[list[Any]] = []
    replies: Iterator[Mapping[str, Any]] = iter(script)

    async def ask(messages: Sequence[Any], tools: Sequence[Mapping[str, Any]]) -> ModelAnswer:
        sent.append(copy.deepcopy(list(messages)))
        reply = next(replies)
        if "raise" in reply:
            raise RequestFails(reply["raise"])
        return ModelAnswer(
            reply["content"], reply["tool_calls"], reply["reasoning_content"], SECONDS, PROMPT_TOKENS, COMPLETION_TOKENS
        )

    try:
        solve(session, task, ask, tolerant=tolerant).send(None)
    except StopIteration as done:  # nothing in it waits, so no event loop is needed
        return done.value, sent
    raise AssertionError("a scripted run does not wait for anything")


def run_session(
    session: Session, scripts: Sequence[Sequence[Mapping[str, Any]]], *, tolerant: bool = False
) -> list[Any] | str:
    """The session's result as in an original result line: task results, or the text of the first failure."""
    results: list[Any] = []
    for task, script in zip(session.tasks, scripts, strict=True):
        try:
            result, _ = run_scripted(session, task, script, tolerant=tolerant)
        except RequestFails as error:
            return f"Error during inference: {error}"
        if isinstance(result, str):
            return result
        results.append(result)
    return results


def score_line(session: Session, line: Mapping[str, Any]) -> dict[str, Any]:
    """A line of the original's score file from one of its result file: ``{"id", "results"}``."""
    return {
        "id": line["id"],
        "results": [_with_labels(result, judge(result, session.tools, PARITY)) for result in line["result"]],
    }


def _with_labels(result: Mapping[str, Any], verdict: TurnVerdict) -> dict[str, Any]:
    log = {key: value for key, value in result["inference_log"].items() if not key.startswith("step_")}
    for step in verdict.steps:
        entry = dict(result["inference_log"][step.key])
        if step.outcomes:
            output = {**entry["inference_output"], "current_action_arguments_label": step.arguments}
            left = list(output["tool_calls"])
            output["tool_calls"] = [
                left.pop(next(n for n, one in enumerate(left) if _call(one) == call)) for call in step.calls
            ]
            if step.arguments == ERROR:
                output["current_action_arguments_check_result"] = list(step.outcomes)
            entry["inference_output"] = output
            action = [{"arguments": call.arguments, "name": call.name} for call in step.candidates[0]]
            name, answer = next(iter(entry["inference_answer"].items()))
            entry["inference_answer"] = {name: {**answer, "action": action}}
        log[step.key] = entry
    labels = {"label": CORRECT if verdict.correct else ERROR, "action_name_label": verdict.action}
    if verdict.arguments is not None:
        labels["action_arguments_label"] = verdict.arguments
    rest = {key: value for key, value in result.items() if key not in labels}
    return {**labels, **rest, "is_optimal": verdict.optimal, "inference_log": log}


def _call(call: Mapping[str, Any]) -> LoggedCall:
    return LoggedCall(call["function"]["name"], call["function"]["arguments"])
