"""Function calling in one turn, in the manner of the Berkeley Function Calling Leaderboard."""

from agentgauge import Score, benchmark


@benchmark(
    "function_calls",
    title="Function calls",
    data="samples.jsonl",
    gold="gold.jsonl",
    metrics={"Overall": "mean passed", "Calls": "mean called", "Irrelevance": "mean kept"},
    published="published.json",
    tags=["category"],
)
class FunctionCalls:
    tools = "functions"  # the field of a sample with the schemas

    async def run(self, case):
        return await case.converse(case.sample["question"], max_turns=1)

    def score(self, sample, answer):
        wanted, left = sample["gold"]["calls"], list(answer.calls)
        for gold in wanted:
            if (found := next((call for call in left if fits(call, gold)), None)) is not None:
                left.remove(found)
        right = not left and len(answer.calls) == len(wanted)
        made = ", ".join(f"{call.name}({call.arguments})" for call in answer.calls) or "no call"
        values = {"called" if wanted else "kept": right}
        return Score(
            right, values, labels=() if right else ("wrong_call",), explanation=f"{wanted} wanted, {made} made"
        )

    def oracle(self, sample):
        calls = [{**call, "arguments": first(call["arguments"])} for call in sample["gold"]["calls"]]
        return [calls or "None of these functions helps here."]


def fits(call, gold):
    given, accepted = call.arguments, gold["arguments"]
    return call.name == gold["name"] and set(given) <= set(accepted) and all(
        given.get(name) in values for name, values in accepted.items()
    )  # fmt: skip


def first(accepted):
    return {name: values[0] for name, values in accepted.items() if values[0] is not None}
