"""What the vectors of Apple MMAU have in common (``tests/golden/mmau/README.md``)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench_mmau.replies import Client, NotScorable, ReplyMessage, Unreadable, read
from tests.parity.mmau_metrics import NoValue

EXACT = 1e-9
SINGLE = 1e-6
"""Tolerances: of numbers, and of notebook figures, which the reference computes in single precision."""

REFUSED = (NotScorable, Unreadable, NoValue)
"""What stands where the reference raises: for a record, for an unreadable stored response, and for sums of nothing."""


def client(case: Mapping[str, Any], part: str = "response_generator") -> Client:
    """How stored responses are parsed: the case's ``response_generator`` or ``grader`` may name a client."""
    named: Client = case["input"].get(part, {}).get("client", "openai")
    return named


class Canned:
    """A model with canned raw replies, one per request, which keeps the messages that it was sent."""

    def __init__(self, case: Mapping[str, Any], part: str) -> None:
        self.client = client(case, part)
        described = case["input"].get(part, {})
        self.name: str = described.get("model", "")
        self._replies: Iterator[str] = iter(described.get("replies", []))
        self.asked: list[Sequence[Mapping[str, Any]]] = []

    def answer(self, messages: Sequence[Mapping[str, Any]]) -> list[ReplyMessage]:
        self.asked.append(messages)
        return read(next(self._replies), self.client)

    def text(self, messages: Sequence[Mapping[str, Any]]) -> str | None:
        """The first content of the next reply; "" where the reply holds no message."""
        answered = self.answer(messages)
        return answered[0].content if answered else ""

    def left(self) -> list[str]:
        return list(self._replies)


def repeated(requests: Sequence[Mapping[str, Any]], count: int) -> list[dict[str, Any]]:
    """Every request as the original sends it ``count`` times: the number of the copy stands behind its id."""
    if not requests:
        raise NoValue
    key = "id" if "id" in requests[0] else "deliverable_id"
    return [{**request, key: f"{request[key]}:::{number}"} for request in requests for number in range(count)]


def same_requests(case: Mapping[str, Any], part: str, requests: Sequence[Mapping[str, Any]]) -> None:
    """Hold requests against ``expected_requests``, where the case has them."""
    wanted = case.get("expected_requests", {}).get(part)
    if wanted is not None:
        assert [_described(request) for request in requests] == wanted


def _described(request: Mapping[str, Any]) -> dict[str, Any]:
    messages = request["messages"]
    content = messages[-1]["content"]
    shape = "text" if isinstance(content, str) else {"parts": [part["type"] for part in content]}
    named = {"id": request["id"]} if "id" in request else {}
    return {"roles": [message["role"] for message in messages], **named, "last_content": shape}


def holds_pieces(case: Mapping[str, Any], asked: Sequence[Sequence[Mapping[str, Any]]]) -> None:
    """Hold the last message of each request of the grader against ``grader_contains``, where the case has it."""
    if "grader_contains" not in case:
        return
    for messages, pieces in zip(asked, case["grader_contains"], strict=True):
        last = messages[-1]["content"]
        text = last if isinstance(last, str) else json.dumps(messages)
        assert [piece for piece in pieces if piece not in text] == []
