"""Solving one record: what is asked of which model (MMAU spec 3, 5.2, 6.5, 6.6, 7).

An output has ``responses``, the tested model's replies as a response file keeps them, and what else scoring needs. Programs
run again whenever they are scored; notebooks run here, since a model is asked about what they show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench_mmau import math_task, prompts
from bench_mmau.contests import fixes as contest_fixes
from bench_mmau.contests import prompts as contest_prompts
from bench_mmau.contests import score as contest_score
from bench_mmau.contests.pool import shared
from bench_mmau.data import NOTEBOOK_DATA
from bench_mmau.notebooks import cells, execute, qa, retry
from bench_mmau.notebooks import fixes as notebook_fixes
from bench_mmau.replies import contents, read
from bench_mmau.stored import stored
from harness.case import Case
from harness.errors import SandboxFault
from harness.model.types import ChatReply, Message, Sampling
from harness.pools import apart
from harness.types import Json

JUDGE, SOLVER, PLANNER, QA = "--mmau-judge", "--mmau-solver", "--mmau-planner", "--mmau-qa"
"""The options that name models of their own."""

GREEDY = Sampling(temperature=0.0, max_tokens=1024)
"""What the reference asks for where nothing is said (MMAU spec 1.5)."""

SAMPLED = Sampling(temperature=contest_prompts.SOLVER_TEMPERATURE, max_tokens=1024)
SAMPLES = contest_prompts.REPEATS

CONTESTS = "contests"
"""Threads in which a record waits for its programs."""

Output = dict[str, Json]


async def direct(case: Case) -> Output:
    """The stored messages, once."""
    return {"responses": [stored(await _ask(case, case.sample.payload["messages"]))]}


async def _ask(case: Case, messages: Sequence[Message], *, part: str = "", usual: Sampling = GREEDY, draw: int = 0) -> ChatReply:
    tools = () if part else case.sample.payload.get("tools") or ()
    return await case.ask(messages, tools=tools, part=part, usual=usual, draw=draw)


async def _sampled(case: Case, messages: Sequence[Message], part: str = "") -> list[str]:
    return [stored(await _ask(case, messages, part=part, usual=SAMPLED, draw=draw)) for draw in range(SAMPLES)]


def said(response: str) -> list[str | None]:
    """The contents of a stored response's messages."""
    return contents(read(response))


def _text(reply: ChatReply) -> str:
    return reply.text or reply.refusal or ""


# -- mathematics


async def math(case: Case) -> Output:
    return await _judged(case, await direct(case))


async def math_planner(case: Case) -> Output:
    """The tested model plans, another one solves."""
    texts, record = prompts.load(case.settings.prompts), case.sample.payload
    plan = await _ask(case, prompts.plan_request(record, texts["math_plan"]))
    solution = await _ask(case, prompts.solve_request(record, _text(plan), texts["math_solve"]), part=SOLVER)
    return await _judged(case, {"responses": [stored(plan)], "solutions": [stored(solution)]})


async def math_solver(case: Case) -> Output:
    """Another model plans, the tested one solves."""
    texts, record = prompts.load(case.settings.prompts), case.sample.payload
    plan = await _ask(case, prompts.plan_request(record, texts["math_plan"]), part=PLANNER)
    solution = await _ask(case, prompts.solve_request(record, _text(plan), texts["math_solve"]))
    return await _judged(case, {"responses": [stored(solution)], "plan": _text(plan)})


async def _judged(case: Case, output: Output) -> Output:
    """With the judge's reply on the answer, where there is one."""
    answer = (output.get("solutions") or output["responses"])[0]
    fixes = math_task.STRICT if case.settings.scoring == "strict" else math_task.PARITY
    template = prompts.load(case.settings.prompts)["math_judge"]
    request = math_task.grader_request(case.sample.payload, read(answer), fixes=fixes, template=template)
    if request is not None:
        output["judge"] = _text(await _ask(case, request["messages"], part=JUDGE))
    return output


# -- contests


async def contest(case: Case) -> Output:
    return {"responses": await _sampled(case, case.sample.payload["messages"])}


async def contest_planner(case: Case) -> Output:
    """The tested model writes one plan, another one programs it, several times."""
    record, output = case.sample.payload, await direct(case)
    request = contest_prompts.solver_request(record, said(output["responses"][0]), fixes=_contest_fixes(case))
    output["solutions"] = await _sampled(case, request["messages"], SOLVER) if request else None
    return output


async def contest_retry(case: Case) -> Output:
    """A second try for a problem that no program solved, told of the first one's failure."""
    record, fixes = case.sample.payload, _contest_fixes(case)
    output = await contest(case)
    replies = [said(one) for one in output["responses"]]
    verdict = await apart(CONTESTS, lambda: contest_score.judge(record, replies, fixes=fixes))
    output["first"] = {"scoring": case.settings.scoring, "values": dict(verdict.values)}
    if contest_score.needs_retry(verdict):
        request = contest_prompts.retry_request(record, replies[0], verdict, fixes=fixes)
        output["retried"] = await _sampled(case, request["messages"])
    return output


def _contest_fixes(case: Case) -> contest_fixes.Fixes:
    return contest_fixes.STRICT if case.settings.scoring == "strict" else contest_fixes.PARITY


# -- notebooks


async def notebook(case: Case, *, part: str = "", again: bool = False) -> Output:
    """Cells are written and run; ``again``: failed ones are written once more; then questions about what they show are asked."""
    record, fixes = case.sample.payload, _notebook_fixes(case)
    output = await direct(case)
    where = _workplace(case)
    solutions = []
    for solution in cells.build(record, said(output["responses"][0]), fixes=fixes):
        execution = await _executed(solution, where, fixes)
        if again and retry.needed(execution):
            messages = retry.request(solution, execution)
            reply = await _ask(case, messages)
            output.setdefault("retried", []).append(stored(reply))
            (content,) = said(stored(reply))
            solution = retry.replaced(solution, list(messages), content, case.sample.id, fixes=fixes)
            execution = await _executed(solution, where, fixes)
        solutions.append(await _answered(case, solution, execution, part))
    return {**output, "solutions": solutions}


async def notebook_oracle(case: Case) -> Output:
    """Questions about a stored output."""
    record = case.sample.payload
    solution = await _answered(case, cells.oracle(record), execute.given(record), "")
    return {"responses": [solution.pop("reply")] if "reply" in solution else [], "solutions": [solution]}


async def _answered(case: Case, solution: cells.Solution, execution: execute.Execution, part: str) -> dict[str, Json]:
    """What came of a solution: whether it ran, why not, and the answers about it, decoded."""
    record, fixes = case.sample.payload, _notebook_fixes(case)
    found: dict[str, Json] = {"execution_success": execution.success, "error": execution.error, "answers": None}
    sees = qa.can_see(case.name_of(part), fixes=fixes)
    messages = qa.request(record, solution, execution, sees=sees, fixes=fixes)
    if messages is not None:
        reply = stored(await _ask(case, messages, part=part))
        (content,) = said(reply)
        found |= {"answers": qa.read_answers(content, case.sample.id, fixes=fixes), "reply": reply}
    return found


def _workplace(case: Case) -> execute.Workplace:
    data = case.sample.root / NOTEBOOK_DATA
    if not data.is_dir():
        raise SandboxFault(
            f"{data} does not exist, and notebooks read their data there; unpack the released archive of data files into {data.parent}",
            cause="no notebook data",
        )
    return execute.Workplace(data)


async def _executed(solution: cells.Solution, where: execute.Workplace, fixes: notebook_fixes.Fixes) -> execute.Execution:
    """Run beside at most as many others as there are processors, over all workers; the published evaluator runs five at a time."""

    def run() -> execute.Execution:
        with shared().beside():  # contests, whose time is short, must know of it
            return execute.run(solution, where, fixes=fixes)

    return await apart("notebooks", run)


def _notebook_fixes(case: Case) -> notebook_fixes.Fixes:
    return notebook_fixes.STRICT if case.settings.scoring == "strict" else notebook_fixes.PARITY


def response_records(record: Mapping[str, Any], output: Mapping[str, Any]) -> dict[str, Any]:
    """A line of a response file: the record with what the tested model said (MMAU spec 3.4)."""
    replies = output["responses"]
    line = {**record, "response": replies[0] if replies else '{"error": "no response"}'}
    return {**line, "n_responses": replies} if len(replies) > 1 else line
