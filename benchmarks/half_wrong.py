"""A model that is right about every other record of Apple MMAU, and whose programs differ from one another."""

from __future__ import annotations

import json
from dataclasses import replace
from zlib import crc32

from agentgauge.core.chat import ChatReply, ChatRequest

_PROGRAM, _CELLS, _END = "```python\n", "```json\n", "\n```"


def altered(gold: ChatReply, record: str, request: ChatRequest) -> ChatReply:
    """The reply to a request about a record: programs of their own, and for half of the records wrong ones."""
    wrong = crc32(record.encode()) % 2 == 1
    if gold.text.startswith(_PROGRAM):
        program = gold.text.removesuffix(_END)
        if wrong:
            program = program.replace("print(", "print(0, ")
        return replace(gold, text=f"{program}\n# {request.case.turn if request.case else 0}{_END}")
    if not wrong or (request.case and request.case.role):  # judges are not in the wrong
        return gold
    if gold.text.startswith(_CELLS):
        cells = json.loads(gold.text.removeprefix(_CELLS).removesuffix(_END))
        cells[-1]["source"] = ["raise ValueError(cells)\n"]
        return ChatReply(_CELLS + json.dumps(cells) + _END)
    return ChatReply("I do not know.")
