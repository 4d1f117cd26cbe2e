"""Golden sessions of WildToolBench run with their scripted replies: what the scoring vectors start from."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench_wild.data import Session, WildTask
from bench_wild.run import Answer, solve

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

    async def ask(messages: Sequence[Any], tools: Sequence[Mapping[str, Any]]) -> Answer:
        sent.append(copy.deepcopy(list(messages)))
        reply = next(replies)
        if "raise" in reply:
            raise RequestFails(reply["raise"])
        return Answer(
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
