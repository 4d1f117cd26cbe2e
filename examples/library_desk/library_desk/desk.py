"""The records of a library, and the tools that work on them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agentgauge import ToolError

Reason = Literal["paid", "waived"]


@dataclass
class Desk:
    loans: dict[str, dict]  # book → {"reader", "due", "renewals"}
    holds: dict[str, list[str]]  # book → readers who wait for it
    fines: dict[str, float]  # reader → euros

    @staticmethod
    def opened():
        return Desk(**json.loads((Path(__file__).parent / "desk.json").read_text()))


def find_loans(state: Desk, reader: str) -> dict:
    """All books that a reader has borrowed, the fine that the reader owes in euros, and the books the reader holds."""
    loans = {book: loan for book, loan in state.loans.items() if loan["reader"] == reader}
    held = [book for book, readers in state.holds.items() if reader in readers]
    return {"loans": loans, "fine": state.fines.get(reader, 0.0), "holds": held}


def renew(state: Desk, books: list[str], days: int = 14) -> str:
    """Renew loans of books by a number of days, at most 14."""
    for book in books:
        loan = known(state, book)
        if not 1 <= days <= 14:
            raise ToolError(f"a loan is renewed by 1 to 14 days, not {days}")
        loan["due"] += days
        loan["renewals"] += 1
    return "renewed"


def hold(state: Desk, reader: str, book: str) -> str:
    """Put a reader on the list of those who wait for a book."""
    known(state, book)
    state.holds.setdefault(book, []).append(reader)
    return f"number {len(state.holds[book])} in line"


def clear_fine(state: Desk, reader: str, reason: Reason) -> str:
    """Clear the fine of a reader who has paid it, or for whom it is waived."""
    if reader not in state.fines:
        raise ToolError(f"{reader} owes nothing")
    del state.fines[reader]
    return reason


def known(state, book):
    if book not in state.loans:
        raise ToolError(f"no loan of {book!r}")
    return state.loans[book]


TOOLS = [find_loans, renew, hold, clear_fine]
