"""Conversations at a service desk, in the manner of tau-bench, for inspect_ai."""

import json
from pathlib import Path
from typing import Literal

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, get_model
from inspect_ai.scorer import Score, mean, scorer
from inspect_ai.solver import solver
from inspect_ai.tool import ToolError, tool
from inspect_ai.util import StoreModel, store_as

DATA = Path(__file__).parents[1] / "library_desk" / "library_desk"
RULES = (DATA / "rules.md").read_text()
STOP = "###STOP###"
PLAY = f"""\
You play a person who writes to an assistant. This is who you are and what you want:

{{wish}}

Write what that person writes next, one short message at a time, and nothing else. Say only what the assistant needs \
for its next step, and make nothing up. As soon as you have what you want, or cannot get it, write {STOP}"""


class Desk(StoreModel):
    loans: dict[str, dict] = {}  # noqa: RUF012
    holds: dict[str, list[str]] = {}  # noqa: RUF012
    fines: dict[str, float] = {}  # noqa: RUF012

    def open(self):
        for name, value in json.loads((DATA / "desk.json").read_text()).items():
            setattr(self, name, value)

    def known(self, book):
        if book not in self.loans:
            raise ToolError(f"no loan of {book!r}")
        return self.loans[book]


@tool
def find_loans():
    async def execute(reader: str) -> str:
        """All books that a reader has borrowed, the fine that the reader owes in euros, and the books the reader holds.

        Args:
            reader: name of the reader
        """
        desk = store_as(Desk)
        loans = {book: loan for book, loan in desk.loans.items() if loan["reader"] == reader}
        held = [book for book, readers in desk.holds.items() if reader in readers]
        return json.dumps({"loans": loans, "fine": desk.fines.get(reader, 0.0), "holds": held})

    return execute


@tool
def renew():
    async def execute(books: list[str], days: int = 14) -> str:
        """Renew loans of books by a number of days, at most 14.

        Args:
            books: titles of the books
            days: number of days
        """
        for book in books:
            loan = store_as(Desk).known(book)
            if not 1 <= days <= 14:
                raise ToolError(f"a loan is renewed by 1 to 14 days, not {days}")
            loan["due"] += days
            loan["renewals"] += 1
        return "renewed"

    return execute


@tool
def hold():
    async def execute(reader: str, book: str) -> str:
        """Put a reader on the list of those who wait for a book.

        Args:
            reader: name of the reader
            book: title of the book
        """
        desk = store_as(Desk)
        desk.known(book)
        desk.holds.setdefault(book, []).append(reader)
        return f"number {len(desk.holds[book])} in line"

    return execute


@tool
def clear_fine():
    async def execute(reader: str, reason: Literal["paid", "waived"]) -> str:
        """Clear the fine of a reader who has paid it, or for whom it is waived.

        Args:
            reader: name of the reader
            reason: why it is cleared
        """
        desk = store_as(Desk)
        if reader not in desk.fines:
            raise ToolError(f"{reader} owes nothing")
        del desk.fines[reader]
        return reason

    return execute


@solver
def serve(max_turns=20):
    async def solve(state, generate):
        model, user = get_model(), get_model(role="user")
        store_as(Desk).open()
        state.messages = [ChatMessageSystem(content=RULES)]
        opening = [
            ChatMessageSystem(content=PLAY.format(wish=state.input_text)),
            ChatMessageUser(content="(The assistant is there. Write your first message.)"),
        ]
        for _ in range(max_turns):
            heard = [turned(message) for message in state.messages if heard_by_user(message)]
            line = (await user.generate([*opening, *heard])).completion
            state.messages.append(ChatMessageUser(content=line))
            if STOP in line or not line.strip():
                break
            said, state.output = await model.generate_loop(
                state.messages, [find_loans(), renew(), hold(), clear_fine()]
            )
            state.messages += said
        return state

    return solve


def heard_by_user(message):
    return message.role in ("user", "assistant") and message.text and not getattr(message, "tool_calls", None)


def turned(message):
    kind = ChatMessageAssistant if message.role == "user" else ChatMessageUser
    return kind(content=message.text)


@scorer(metrics={"*": [mean()]})
def right_records():
    async def score(state, target):
        desk = store_as(Desk)
        left = desk.model_dump(include={"loans", "holds", "fines"})
        desk.open()
        for call in state.metadata["calls"]:
            await {"find_loans": find_loans, "renew": renew, "hold": hold, "clear_fine": clear_fine}[call["name"]]()(
                **call["arguments"]
            )
        goal = desk.model_dump(include={"loans", "holds", "fines"})
        said = " ".join(message.text for message in state.messages if message.role == "assistant")
        wrong = [part for part, wanted in goal.items() if left[part] != wanted]
        untold = [text for text in state.metadata["tell"] if text not in said]
        turns = sum(message.role == "assistant" for message in state.messages)
        value = {"Pass": not wrong and not untold, "State": not wrong, "Told": not untold, "Turns": turns}
        return Score(value=value, explanation=f"wrong records: {wrong}; not told: {untold}")

    return score


@task
def library_desk():
    samples = [
        Sample(id=each["id"], input=each["wish"], metadata={"calls": each["calls"], "tell": each["tell"]})
        for each in json.loads((DATA / "samples.json").read_text())
    ]
    return Task(dataset=MemoryDataset(samples), solver=serve(), scorer=right_records())
