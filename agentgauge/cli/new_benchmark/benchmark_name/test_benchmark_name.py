"""The benchmark: its prompt, the scoring of a reply, and its figures. Every sample is a pytest case."""

from agentgauge import Case, Conversation, Sample, Score, benchmark
from agentgauge.authoring import ChatReply

MARK = "Answer:"
PROMPT = f"Solve the puzzle. End your reply with a line that reads: {MARK} and the answer alone."


@benchmark(
    "benchmark_name",  # also a marker: pytest -m benchmark_name
    data="questions.jsonl",
    metrics={"Accuracy": "mean right"},
    published="published.json",
    tags=["kind"],
)
class Puzzles:
    async def run(self, case: Case) -> ChatReply:
        """Solve one sample. The return value is stored, and ``score`` gets nothing else but the sample."""
        return await case.ask(
            [{"role": "system", "content": PROMPT}, {"role": "user", "content": case.sample["question"]}]
        )

    def score(self, sample: Sample, answer: Conversation) -> Score:
        return score_reply(answer.text, sample["answer"])

    def oracle(self, sample: Sample) -> str:
        """The gold, for ``--model=oracle``."""
        return f"{MARK} {sample['answer']}"


def score_reply(reply: str, expected: str) -> Score:
    """The text after the last mark must be the expected answer; case, and a full stop at the end, do not matter."""
    _, mark, rest = reply.rpartition(MARK)
    answer = rest.strip().removesuffix(".") if mark else ""
    right = answer.casefold() == expected.casefold()
    wrong, got = ("wrong_answer", repr(answer)) if answer else ("no_answer", "no answer")
    return Score(
        right, {"right": right}, labels=() if right else (wrong,), explanation=f"expected {expected!r}, got {got}"
    )
