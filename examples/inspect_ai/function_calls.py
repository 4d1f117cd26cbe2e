"""Function calling in one turn, in the manner of the Berkeley Function Calling Leaderboard, for inspect_ai."""

import json
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import Score, accuracy, grouped, scorer
from inspect_ai.solver import solver
from inspect_ai.tool import ToolInfo

DATA = Path(__file__).parents[1] / "function_calls" / "function_calls"


def lines(name):
    return [json.loads(line) for line in (DATA / name).read_bytes().split(b"\n") if line]


def samples():
    gold = {each["id"]: each["calls"] for each in lines("gold.jsonl")}
    for each in lines("samples.jsonl"):
        calls = gold[each["id"]]
        kind = "Calls" if calls else "Irrelevance"
        metadata = {"functions": each["functions"], "category": each["category"], "calls": calls, "kind": kind}
        yield Sample(id=each["id"], input=each["question"], metadata=metadata)


@solver
def ask_once():
    async def solve(state, generate):
        tools = [ToolInfo(**function) for function in state.metadata["functions"]]
        state.output = await get_model().generate(state.messages, tools=tools)
        state.messages.append(state.output.message)
        return state

    return solve


@scorer(metrics=[grouped(accuracy(), "kind", all_label="Overall")])
def same_calls():
    async def score(state, target):
        wanted, calls = state.metadata["calls"], state.output.message.tool_calls or []
        left = list(calls)
        for gold in wanted:
            if (found := next((call for call in left if fits(call, gold)), None)) is not None:
                left.remove(found)
        right = not left and len(calls) == len(wanted)
        made = ", ".join(f"{call.function}({call.arguments})" for call in calls) or "no call"
        return Score(value=right, explanation=f"{wanted} wanted, {made} made")

    return score


def fits(call, gold):
    given, accepted = call.arguments, gold["arguments"]
    return call.function == gold["name"] and set(given) <= set(accepted) and all(
        given.get(name) in values for name, values in accepted.items()
    )  # fmt: skip


@task
def function_calls():
    return Task(dataset=MemoryDataset(list(samples())), solver=ask_once(), scorer=same_calls())
