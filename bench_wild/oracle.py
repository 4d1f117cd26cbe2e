"""Answers with the gold: the upper bound, and a check of the data and of the scoring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentgauge.core.chat import ChatReply, ChatRequest, Message, ToolCall
from agentgauge.core.types import Sample
from bench_wild.data import GoldNode, Session, WildTask, resolve
from bench_wild.graph import Graph
from bench_wild.prompts import HistoryError, as_json, opening
from bench_wild.run import ModelAnswer, Result, at_once, solve

DONE = "It is done."
"""The reply if the gold has no text."""


def answers(task: WildTask, *, one_call: bool = False) -> list[ModelAnswer]:
    """A reply for each step: the first shortest path of the gold, or the first of single calls.

    If the path groups a pseudo action with tools, which no message can contain together, the pseudo action follows in a
    message of its own.
    """
    replies: list[ModelAnswer] = []
    graph = Graph(task.answer_list)
    for group in next(graph.paths()) if one_call else graph.optimal():
        nodes = [task.answer_list[place] for place in group]
        if tools := [node for node in nodes if node.is_tool]:
            replies.append(ModelAnswer(None, [_call(node, len(replies)) for node in tools]))
        replies += [ModelAnswer(_said(node), None) for node in nodes if not node.is_tool]
    return replies


def _call(node: GoldNode, step: int) -> dict[str, Any]:
    function = {"name": node.name, "arguments": as_json(node.arguments)}
    return {"id": f"call_{step}_{node.position}", "type": "function", "function": function}


def _said(node: GoldNode) -> str:
    return node.observation if isinstance(node.observation, str) and node.observation else DONE


def answer(sample: Sample, turn: int, *, one_call: bool = False) -> ModelAnswer:
    """The gold's reply to a task's request number ``turn``, from 0."""
    _, task = resolve(sample)
    replies = answers(task, one_call=one_call)
    return replies[min(turn, len(replies) - 1)]


def gold_reply(sample: Sample, request: ChatRequest, *, one_call: bool = False) -> ChatReply:
    return native_reply(answer(sample, request.case.turn if request.case else 0, one_call=one_call))


def native_reply(answer: ModelAnswer) -> ChatReply:
    calls = tuple(
        ToolCall(call["function"]["name"], call["function"]["arguments"], call["id"])
        for call in answer.tool_calls or ()
    )
    return ChatReply(text=answer.content or "", tool_calls=calls, finish_reason="tool_calls" if calls else "stop")


# -- checking the data


def play(session: Session, task: WildTask, replies: Sequence[ModelAnswer]) -> Result | str:
    """The result of a task with these replies. A reply beyond the last is empty."""
    left = iter(replies)

    async def ask(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> ModelAnswer:
        return next(left, ModelAnswer(None, None))

    return at_once(solve(session, task, ask))


def unreachable(session: Session) -> list[str]:
    """The parts of a session that the evaluator rejects even from a model that answers with the gold, one sentence
    each."""
    from bench_wild.score import score_task

    found: list[str] = []
    for task in session.tasks:
        where = f"session {session.id!r}, task {task.position + 1}"
        try:
            opening(session, task)
        except HistoryError as problem:
            found.append(f"{where}: its history cannot be built, because {problem}")
            continue
        result = play(session, task, answers(task))
        if isinstance(result, str):
            found.append(f"{where}: the gold cannot be followed: {result}")
            continue
        score = score_task(session, task, result, "parity")
        if not score.passed:
            found.append(f"{where}: no path that the evaluator accepts: {', '.join(score.labels)}; {score.explanation}")
        elif not result["is_optimal"]:
            found.append(f"{where}: the shortest path groups a pseudo action with a tool, which no message can be")
    return found
