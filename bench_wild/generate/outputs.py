"""The three output files of finished dialogues (wild spec 9.6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from agentgauge.core.files import encoded
from agentgauge.core.types import Json
from bench_wild.generate.dialogue.dialogue import DIALOGUES, TYPES, Dialogue, kept_messages
from bench_wild.generate.dialogue.dialogue_state import KeptRequest
from bench_wild.generate.ledger import Ledger

ENDINGS = ("_train_origin.jsonl", "_train.jsonl", "_train_fetch_data.jsonl")
"""Endings of the files after the prefix: the raw transcripts, the clean ones, the requests."""

_NAMES = {"checker_planner": "llm_parallel_checker", "user_chat": "user_ask"}
"""The original's names of agents that its prompts name otherwise."""


def write_outputs(folder: Path, prefix: str, ledger: Ledger) -> list[Path]:
    """Write all finished dialogues in the order of their sequences; ``dialogues.jsonl`` and the list of failures get
    that order too.

    Each file is there as a whole or as it was. Nothing is written while nothing is finished.
    """
    ledger.sort_failures(sorted(ledger.failed, key=_place))
    if not ledger.done:
        return []
    targets = [folder / f"{prefix}{ending}" for ending in ENDINGS]
    whole = [*targets, folder / DIALOGUES]
    scratch = [path.with_name(f".{path.name}.part") for path in whole]
    with ExitStack() as stack:
        streams = [stack.enter_context(path.open("wb")) for path in scratch]
        for dialogue, kept, line in ledger.dialogues(sorted(ledger.done, key=_place)):
            for stream, values in zip(streams, _rows(dialogue, kept), strict=False):
                stream.writelines(encoded(value) + b"\n" for value in values)
            streams[-1].write(line)
    for path, target in zip(scratch, whole, strict=True):
        path.replace(target)
    return targets


def _rows(dialogue: Dialogue, kept: list[KeptRequest]) -> Iterator[list[Json]]:
    """The lines of one dialogue in each of the three files."""
    about = {"tools": dialogue.tools, "env_info": dialogue.env_info}
    yield [{**about, "messages": dialogue.messages}]
    yield [{**about, "messages": kept_messages(dialogue)[0]}]
    yield [_request(dialogue, one) for one in kept]


def _request(dialogue: Dialogue, one: KeptRequest) -> dict[str, Json]:
    """A line of the third file. The original writes the first task's request without the time, and small talk's without
    the pseudo tools."""
    return {
        "task": _NAMES.get(one.task, one.task),
        "tools": dialogue.tools[:-2] if one.task == "user_chat" else dialogue.tools,
        "env_info": dialogue.env_info if one.switch else None,
        "messages": one.messages(dialogue.messages),
        "answer": one.answer,
    }


def _place(name: str) -> list[int]:
    """Order of enumeration: single tool, multi tool, clarify, chat."""
    order: Sequence[str] = TYPES
    return [order.index(word) for word in name.split("-")]
