"""WildToolBench: scoring stored results, and the tool-call graphs against plain enumeration."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from bench_wild.data import GoldNode, Session, WildTask, load_sessions
from bench_wild.oracle import answers, play
from bench_wild.score import score_task
from bench_wild.task import WildData
from tests.wild.graphs import distinct, enumerate_paths

STORED = 1024
CALLS = 8
FASTER = 20
LIMIT = 1.0  # ms a task


def test_scoring_stored_results(benchmark, figure):
    """Results of the bundled tasks, once with the gold and once with a wrong argument in every call."""
    sessions = load_sessions(WildData.bundled / "Wild-Tool-Bench.jsonl")
    stored = [
        (session, task, result) for session in sessions for task in session.tasks for result in _results(session, task)
    ]
    stored = (stored * -(-STORED // len(stored)))[:STORED]

    def score_all() -> int:
        return sum(score_task(session, task, result, "parity").passed for session, task, result in stored)

    assert 0 < benchmark.pedantic(score_all, rounds=3, warmup_rounds=1) < STORED
    each = 1000 * benchmark.stats.stats.min / STORED
    figure("WildToolBench: scoring a stored task", each, "ms", most=LIMIT)
    assert each < LIMIT


def _results(session: Session, task: WildTask) -> list[Any]:
    right = answers(task)
    wrong = [
        type(one)(one.content, [_spoiled(call) for call in one.tool_calls]) if one.tool_calls else one for one in right
    ]
    return [play(session, task, right), play(session, task, wrong)]


def _spoiled(call: Any) -> dict[str, Any]:
    return {**call, "function": {**call["function"], "arguments": '{"never": "declared"}'}}


def test_a_graph_of_eight_parallel_calls(benchmark, figure):
    """A whole task, solved and scored, against listing the paths of its graph."""
    nodes = distinct(CALLS)
    session, task = _session_of(nodes)

    def solve_and_score() -> bool:
        return score_task(session, task, play(session, task, answers(task)), "parity").passed

    assert benchmark.pedantic(solve_and_score, rounds=5, warmup_rounds=1)
    began = time.perf_counter()
    paths = enumerate_paths([node.name for node in nodes], [node.dependencies for node in nodes])
    enumerated = time.perf_counter() - began
    assert len(paths) == 545_835
    ratio = enumerated / benchmark.stats.stats.min
    figure(
        f"WildToolBench: listing all paths of {CALLS} parallel calls / solving and scoring the task",
        ratio,
        least=FASTER,
    )
    assert ratio >= FASTER


def _session_of(nodes: list[GoldNode]) -> tuple[Session, WildTask]:
    session = load_sessions(WildData.bundled / "Wild-Tool-Bench.jsonl")[0]

    tools = tuple(
        {
            "type": "function",
            "function": {"name": node.name, "description": "", "parameters": {"type": "object", "properties": {}}},
        }
        for node in nodes
        if node.is_tool
    )
    task = replace(session.tasks[0], answer_list=tuple(nodes), type="Parallel Multi-Tool")
    return replace(session, tools=tools, tasks=(task, *session.tasks[1:])), task
