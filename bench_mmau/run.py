"""Solves one record with requests to one or several models (docs/benchmarks/mmau.md).

An output has ``responses``, the tested model's replies as a response file keeps them, and other values that scoring
needs. Programs run again whenever they are scored; notebooks run here, because a model is asked about their output.

A reply on which the published evaluator stops does not end the case: the run goes on as after an empty reply, and
scoring finds the stop in the stored reply.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentgauge.agent.dialect import ask as put
from agentgauge.agent.dialects.registry import format_of
from agentgauge.agent.native import parse_reply
from agentgauge.core.agents import Agent, AgentTask
from agentgauge.core.case import Case
from agentgauge.core.chat import ChatReply, Message, Sampling
from agentgauge.core.errors import ModelFault, SandboxFault
from agentgauge.core.types import Json
from agentgauge.run.thread_pools import in_thread_pool
from bench_mmau import mathematics as math_task
from bench_mmau import prompts
from bench_mmau.contests import score as contest_score
from bench_mmau.contests.execute import shared_pool
from bench_mmau.data import NOTEBOOK_DATA
from bench_mmau.fixes import Fixes, fixes_of
from bench_mmau.notebooks import cells, execute
from bench_mmau.notebooks import score as notebook_score
from bench_mmau.replies import StopsOnReply, contents
from bench_mmau.score import usable, usable_contents

JUDGE, SOLVER, PLANNER, QA = "--mmau-judge", "--mmau-solver", "--mmau-planner", "--mmau-qa"
"""The options that name models of their own."""

_ROLES = {JUDGE: "judge", SOLVER: "solver", PLANNER: "planner", QA: "QA model"}

GREEDY = Sampling(temperature=0.0, max_tokens=1024)
"""The reference's sampling for records that name none (docs/benchmarks/mmau.md#sampling)."""

SAMPLED = Sampling(temperature=prompts.SOLVER_TEMPERATURE, max_tokens=1024)
SAMPLES = prompts.REPEATS

CONTESTS = "contests"
"""Threads in which a record waits for its programs."""

Output = dict[str, Json]


async def direct(case: Case, agent: Agent | None = None) -> Output:
    """Send the stored messages once, to the model or to an agent program."""
    messages = case.sample.payload["messages"]
    if agent:
        task = AgentTask(messages, functions=case.sample.payload.get("tools") or ())
        return {"responses": [stored((await agent(case, task)).reply)]}
    return {"responses": [stored(await _ask(case, messages))]}


async def _ask(
    case: Case,
    messages: Sequence[Message],
    *,
    role: str = "",
    usual: Sampling = GREEDY,
    draw: int | None = None,
) -> ChatReply:
    """Raises ModelFault as ``Case.ask``, and where a model other than the tested one has the role and is silent."""
    if not role and (tools := case.sample.payload.get("tools")):
        return await _ask_with_tools(case, messages, tools, usual)
    reply = await case.ask(messages, role=role, usual=usual, draw=draw)
    if role and case.name_of(role) != case.name_of("") and not reply.words:
        raise ModelFault(
            f"model {case.name_of(role)}: the {_ROLES[role]} sent no text (finish reason {reply.finish_reason!r}); "
            "give it a higher max_tokens if that is the reason, and run again with --resume",
            cause=f"{_ROLES[role]} silent",
        )
    return reply


async def _ask_with_tools(
    case: Case, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], usual: Sampling
) -> ChatReply:
    """The reply in OpenAI's form, whatever the run's dialect. Raises ModelFault."""
    dialect = case.settings.dialect
    if dialect == "native":
        return await case.ask(messages, tools=tools, usual=usual)
    format = format_of(dialect, case.settings.prompts, judged=True)
    reply = await put(case, format.request(messages, tools), usual)
    reply = parse_reply(format, reply, tools, tolerant=case.settings.scoring == "strict")
    calls = (replace(call, id=f"call_{place}") for place, call in enumerate(reply.tool_calls))
    return replace(reply, tool_calls=tuple(calls))


async def _sampled(case: Case, messages: Sequence[Message], role: str = "") -> list[str]:
    return [stored(await _ask(case, messages, role=role, usual=SAMPLED, draw=draw)) for draw in range(SAMPLES)]


# -- mathematics


async def math(case: Case, agent: Agent | None = None) -> Output:
    return await _judged(case, await direct(case, agent))


async def math_planner(case: Case) -> Output:
    """The tested model plans, another one solves."""
    texts, record = prompts.load(case.settings.prompts), case.sample.payload
    plan = await _ask(case, prompts.plan_request(record, texts["math_plan"]))
    solution = await _ask(case, prompts.solve_request(record, plan.words, texts["math_solve"]), role=SOLVER)
    return await _judged(case, {"responses": [stored(plan)], "solutions": [stored(solution)]})


async def math_solver(case: Case) -> Output:
    """Another model plans, the tested one solves."""
    texts, record = prompts.load(case.settings.prompts), case.sample.payload
    plan = await _ask(case, prompts.plan_request(record, texts["math_plan"]), role=PLANNER)
    solution = await _ask(case, prompts.solve_request(record, plan.words, texts["math_solve"]))
    return await _judged(case, {"responses": [stored(solution)], "plan": plan.words})


async def _judged(case: Case, output: Output) -> Output:
    """With the judge's reply on the answer, where there is one."""
    answer, _ = usable((output.get("solutions") or output["responses"])[0], case.settings.scoring)
    template = prompts.load(case.settings.prompts)["math_judge"]
    fixes = fixes_of(case.settings.scoring)
    request = math_task.grader_request(case.sample.payload, answer, fixes=fixes, template=template)
    if request is not None:
        output["judge"] = (await _ask(case, request["messages"], role=JUDGE)).words
    return output


# -- contests


async def contest(case: Case) -> Output:
    return {"responses": await _sampled(case, case.sample.payload["messages"])}


async def contest_planner(case: Case) -> Output:
    """The tested model writes one plan, another one programs it, several times."""
    record, output = case.sample.payload, await direct(case)
    (plan,), _ = usable_contents(output["responses"], case.settings.scoring)
    template = prompts.load(case.settings.prompts)["contest_solver"]
    request = prompts.solver_request(record, plan, fixes=fixes_of(case.settings.scoring), template=template)
    output["solutions"] = await _sampled(case, request["messages"], SOLVER) if request else None
    return output


async def contest_retry(case: Case) -> Output:
    """A second try for a problem that no program solved. The request shows the failure of the first one."""
    record, fixes = case.sample.payload, fixes_of(case.settings.scoring)
    output = await contest(case)
    replies, _ = usable_contents(output["responses"], case.settings.scoring)
    verdict = await in_thread_pool(CONTESTS, lambda: contest_score.judge(record, replies, fixes=fixes))
    output["first"] = {"scoring": case.settings.scoring, "values": dict(verdict.values)}
    if contest_score.needs_retry(verdict):
        request = prompts.retry_request(record, replies[0], verdict, fixes=fixes)
        output["retried"] = await _sampled(case, request["messages"])
    return output


# -- notebooks


async def notebook(case: Case, *, role: str = "", again: bool = False) -> Output:
    """The tested model writes cells, which run; with ``again`` it rewrites failed ones once. Then a model answers
    questions about the output."""
    fixes = fixes_of(case.settings.scoring)
    output = await direct(case)
    where = _execution_settings(case)
    solutions = []
    for solution in _built(case, output["responses"][0], fixes):
        execution = await _executed(solution, where, fixes)
        if again and notebook_score.needs_retry(execution):
            messages = notebook_score.retry_request(solution, execution)
            reply = stored(await _ask(case, messages))
            output.setdefault("retried", []).append(reply)
            ((content,),), _ = usable_contents([reply], case.settings.scoring)
            with contextlib.suppress(StopsOnReply):  # as what cannot be decoded: the cells stay as they are
                solution = notebook_score.with_new_cells(solution, list(messages), content, case.sample.id, fixes=fixes)
            execution = await _executed(solution, where, fixes)
        solutions.append(await _answered(case, solution, execution, role))
    return {**output, "solutions": solutions}


def _built(case: Case, response: str, fixes: Fixes) -> tuple[cells.Solution, ...]:
    """None for a reply on which the published evaluator stops."""
    messages, _ = usable(response, case.settings.scoring)
    try:
        return cells.build(case.sample.payload, contents(messages), fixes=fixes)
    except StopsOnReply:
        return ()


async def notebook_oracle(case: Case) -> Output:
    """Questions about a stored output."""
    record = case.sample.payload
    solution = await _answered(case, cells.oracle(record), execute.given(record), "")
    return {"responses": [solution["reply"]] if "reply" in solution else [], "solutions": [solution]}


async def _answered(case: Case, solution: cells.Solution, execution: execute.Execution, role: str) -> dict[str, Json]:
    """What came of a solution: whether it ran, why not, and the reply about it, or why there was nothing to ask."""
    record = case.sample.payload
    found: dict[str, Json] = {"execution_success": execution.success, "error": execution.error}
    try:
        fixes = fixes_of(case.settings.scoring)
        messages = notebook_score.question_request(
            record, solution, execution, sees=True, fixes=fixes
        )  # or the case is not planned
    except StopsOnReply as stop:
        return {**found, "stops": stop.reason}
    if messages is not None:
        found["reply"] = stored(await _ask(case, messages, role=role))
    return found


def _execution_settings(case: Case) -> execute.ExecutionSettings:
    data = case.sample.root / NOTEBOOK_DATA
    if not data.is_dir():
        raise SandboxFault(
            f"{data} does not exist, and notebooks read their data there; unpack the released archive of data files"
            f" into {data.parent}",
            cause="no notebook data",
        )
    return execute.ExecutionSettings(data)


async def _executed(solution: cells.Solution, where: execute.ExecutionSettings, fixes: Fixes) -> execute.Execution:
    """Run beside at most as many others as there are processors, over all workers; the published evaluator runs five
    at a time."""

    def run() -> execute.Execution:
        with shared_pool().beside():  # contests, whose time is short, must know of it
            return execute.run(solution, where, fixes=fixes)

    return await in_thread_pool("notebooks", run)


def stored(reply: ChatReply) -> str:
    """A reply as response files keep it (docs/benchmarks/mmau.md#response-files), one line of JSON in OpenAI's shape:
    content and calls as the server sent them, a null content as null.

    A refusal is a text, as it is for the published client, but that of a content filter is none: an answer could be
    read out of it.
    """
    received = reply.message
    content = reply.content
    message: dict[str, Any] = {"role": "assistant", "content": content or reply.words or content}
    if "tool_calls" in received:
        message["tool_calls"] = received["tool_calls"]
    return json.dumps(
        {"choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}]}, ensure_ascii=False
    )


def response_records(record: Mapping[str, Any], output: Mapping[str, Any]) -> dict[str, Any]:
    """A line of a response file: the record with the tested model's replies
    (docs/benchmarks/mmau.md#response-files)."""
    replies = output["responses"]
    line = {**record, "response": replies[0] if replies else '{"error": "no response"}'}
    return {**line, "n_responses": replies} if len(replies) > 1 else line
