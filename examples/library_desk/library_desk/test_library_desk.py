"""Conversations at a service desk, in the manner of tau-bench: tools with state, and a user that a model plays."""

from dataclasses import asdict
from pathlib import Path

from agentgauge import Score, SimulatedUser, benchmark
from library_desk.desk import TOOLS, Desk

RULES = (Path(__file__).parent / "rules.md").read_text()


@benchmark(
    "library_desk",
    title="Library desk",
    data="samples.json",
    metrics={"Pass": "mean passed", "State": "mean state", "Told": "mean told", "Turns": "average turns"},
    tags=["subject"],
)
class LibraryDesk:
    tools = TOOLS
    roles = ("user",)  # --user-model=NAME

    async def run(self, case):
        user = SimulatedUser(case.sample["wish"])
        return await case.converse(system=RULES, state=Desk.opened(), user=user, max_turns=20)

    def score(self, sample, talk):
        goal, said = Desk.opened(), " ".join(text for text in map(of_assistant, talk.messages) if text)
        for call in sample["calls"]:
            BY_NAME[call["name"]](goal, **call["arguments"])
        wrong = [part for part, wanted in asdict(goal).items() if talk.state[part] != wanted]
        untold = [text for text in sample["tell"] if text not in said]
        values = {"state": not wrong, "told": not untold, "turns": talk.turns}
        labels = [label for label, found in (("wrong_state", wrong), ("not_told", untold)) if found]
        return Score(
            not labels, values, labels=tuple(labels), explanation=f"wrong records: {wrong}; not told: {untold}"
        )

    def oracle(self, sample):
        return [sample["wish"], *sample["calls"], f"It is done: {', '.join(sample['tell'])}.", SimulatedUser.stop]


BY_NAME = {tool.__name__: tool for tool in TOOLS}


def of_assistant(message):
    return message["content"] if message["role"] == "assistant" else ""
