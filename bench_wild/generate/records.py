"""Converts finished dialogues, ``OUT/dialogues.jsonl``, to evaluation records (docs/benchmarks/wild.md#data).

The records, ``OUT/wild/Wild-Tool-Bench.jsonl``, are marked as unverified. In the original, people did this. A dialogue
that cannot become a valid record is left out with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgauge.core.errors import DataProblem
from agentgauge.core.files import encoded, write_whole
from agentgauge.core.text import parse_json
from bench_wild.check import TASKS, check_record
from bench_wild.data import FILES, LANGUAGES, build_session, has_language
from bench_wild.generate.actions import AcceptedAction, NoRecord, actions_of, link, plain
from bench_wild.generate.transcript import DIALOGUES, TYPES, GeneratedDialogue, Group, kept_messages, read_dialogues
from bench_wild.labels import (
    CHAT,
    CLARIFY,
    COREFERENTIAL,
    FIRST_TURN,
    LONG_RANGE,
    PARTIAL,
    PSEUDO,
    SINGLE,
    TYPE_OF,
    structure_of,
)
from bench_wild.layout import GENERATED, UNVERIFIED
from bench_wild.oracle import unreachable

SUBTYPE_OF: Mapping[Group, str] = {
    "first": FIRST_TURN,
    "reply": COREFERENTIAL,  # refers to something in the assistant's reply
    "reference": COREFERENTIAL,  # a pronoun for something of the task before
    "omission": PARTIAL,
    "addition": PARTIAL,
    "modification": PARTIAL,
    "follow_up": PARTIAL,  # more, longer, continue: of what, the dialogue says
    "topic": LONG_RANGE,  # back to an early topic, or on to a neighbouring one
}
"""Turn subtype by the group of follow-up tasks. Ours: the original's people chose by reading."""


def record_of(dialogue: GeneratedDialogue, number: int) -> dict[str, Any]:
    """The record with the id ``wild_tool_bench_<number>``.

    ``number`` must be the record's line, from 0 (docs/benchmarks/wild.md#records). Raises NoRecord.
    """
    if len(dialogue.turns) != TASKS:
        raise NoRecord(f"the number of its tasks is {len(dialogue.turns)}; a record has {TASKS}")
    messages, ranges = kept_messages(dialogue)
    env_info = date_of(dialogue.env_info)
    known = plain(env_info)
    tasks: list[str] = []
    answers: list[list[dict[str, Any]]] = []
    types: list[str] = []
    for place, (start, end) in enumerate(ranges, 1):
        try:
            text, actions = actions_of(messages[start:end])
        except NoRecord as problem:
            raise NoRecord(f"task {place} {problem}") from None
        known += "\n" + plain(text)
        waits = link(actions, known)
        tasks.append(text)
        answers.append([_node(position, *pair) for position, pair in enumerate(zip(actions, waits, strict=True))])
        types.append(type_of(actions, waits))
        known = "\n".join([known, *(plain(action.user_input) for action in actions if action.user_input)])
    twin = "english_" if dialogue.language == "en" else ""
    return {
        "id": f"wild_tool_bench_{number}",
        f"{twin}env_info": env_info,
        f"{twin}tools": [tool for tool in dialogue.tools if tool["function"]["name"] not in PSEUDO],
        f"{twin}tasks": tasks,
        f"{twin}answer_list": answers,
        f"{twin}task_types": types,
        f"{twin}turn_subtypes": [SUBTYPE_OF[turn.group] for turn in dialogue.turns[1:]],
        UNVERIFIED: True,
        GENERATED: origin(dialogue),
    }


def origin(dialogue: GeneratedDialogue) -> dict[str, Any]:
    """The identity of a dialogue in its folder, and how its follow-up tasks were made."""
    return {
        "sequence": "-".join(dialogue.sequence),
        "language": dialogue.language,
        "seed": dialogue.seed,
        "kinds": [turn.kind for turn in dialogue.turns],
    }


def date_of(env_info: str) -> str:
    """Date, time and weekday without the label before them."""
    found = re.search(r"\d{4}-\d{1,2}-\d{1,2}.*", env_info, re.DOTALL)
    return (found[0] if found else env_info).strip()


def type_of(actions: Sequence[AcceptedAction], waits: Sequence[Sequence[int]]) -> str:
    """The task type that the actions show: a question makes it Clarify; otherwise the number of calls and their
    dependencies decide."""
    if any(action.user_input is not None for action in actions):
        return CLARIFY
    calls = sum(action.is_tool for action in actions)
    if calls < 2:
        return SINGLE if calls else CHAT
    structure = structure_of((action.name, before) for action, before in zip(actions, waits, strict=True))
    return TYPE_OF[structure or "combine"]


def _node(number: int, action: AcceptedAction, waits: Sequence[int]) -> dict[str, Any]:
    reply = {} if action.user_input is None else {"user_input": action.user_input}
    return {
        "idx": number,
        "action": {"name": action.name, "arguments": dict(action.arguments)},
        "observation": action.observation,
        **reply,
        "dependency_list": list(waits),
    }


RECORDS = Path("wild") / FILES[0]
"""The file of records below the output folder, where ``--data`` finds it."""


@dataclass(frozen=True, slots=True)
class Converted:
    """The result of converting the dialogues of a folder."""

    file: Path  # the records
    sessions: int
    unverified: int  # of the sessions
    left_out: tuple[str, ...]  # dialogues that became no record, with the reason; one sentence each

    def lines(self) -> list[str]:
        """The lines for a terminal."""
        return [
            f"{self.sessions} sessions in {self.file}, {self.unverified} of them unverified",
            *(f"no record: {reason}" for reason in self.left_out),
        ]


def write_records(out: Path) -> Converted:
    """Turn the dialogues of a folder into records that the evaluator accepts.

    The records' order is that of the sequences, whenever the dialogues ended. A session whose line has lost the mark
    ``unverified`` was accepted by a person and stays as it is. Raises DataProblem.
    """
    if not (out / DIALOGUES).is_file():
        raise DataProblem(f"{out} has no {DIALOGUES}; give the output folder of agentgauge generate wild")
    dialogues = {_key(origin(dialogue)): dialogue for dialogue in read_dialogues(out / DIALOGUES)}
    before = _records(out)
    if foreign := next((number for number, one in enumerate(before, 1) if GENERATED not in one), None):
        raise DataProblem(
            f"{out / RECORDS}, session {foreign} is none of these dialogues and would be lost; keep it in a file"
            " elsewhere"
        )
    accepted = {_key(one[GENERATED]): one for one in before if UNVERIFIED not in one}
    records: list[dict[str, Any]] = []
    left_out: list[str] = []
    for key in sorted(dialogues | accepted, key=_order):
        name = f"dialogue {key[1]} (seed {key[2]})"
        try:
            record = (
                accepted[key] | {"id": f"wild_tool_bench_{len(records)}"}
                if key in accepted
                else record_of(dialogues[key], len(records))
            )
        except NoRecord as problem:
            left_out.append(f"{name}: {problem}")
            continue
        if cannot := faults(record):
            if key in accepted:
                raise DataProblem(
                    f"the accepted session of {name} in {out / RECORDS} cannot be run any more: {cannot[0]}; correct"
                    " its line"
                )
            left_out.append(f"{name}: {'; '.join(cannot)}")
            continue
        records.append(record)
    (out / RECORDS).parent.mkdir(parents=True, exist_ok=True)
    write_whole(out / RECORDS, b"".join(encoded(record) + b"\n" for record in records))
    return Converted(out / RECORDS, len(records), sum(UNVERIFIED in one for one in records), tuple(left_out))


def faults(record: Mapping[str, Any]) -> list[str]:
    """Why a record cannot be run with its own gold: rules of the format that it breaks, and tasks whose gold the
    evaluator does not accept. Empty for a valid record."""
    found: list[str] = []
    spoken = [language for language in LANGUAGES if has_language(record, language)]
    for language in spoken:
        if broken := check_record(record, language):
            found.append(f"{broken.field} {broken.rule}")
        else:
            found += [text.partition(", ")[2] for text in unreachable(build_session(record, language))]
    return found if spoken else ["it has no tasks"]


def _key(made: dict[str, Any]) -> tuple[str, str, int]:
    """Language, sequence and seed of a dialogue."""
    return made["language"], made["sequence"], made["seed"]


def _order(key: tuple[str, str, int]) -> tuple[str, list[int], int]:
    language, sequence, seed = key
    known = list[str](TYPES)
    return language, [known.index(one) for one in sequence.split("-")], seed


def _records(out: Path) -> list[dict[str, Any]]:
    """The records of the folder; none without a file. Raises DataProblem for a line that is not a JSON object."""
    file = out / RECORDS
    found: list[dict[str, Any]] = []
    for number, line in enumerate(file.read_bytes().split(b"\n") if file.is_file() else (), 1):
        try:
            one = parse_json(line) if line.strip() else None
        except ValueError as error:
            raise DataProblem(f"{file}, line {number}: is not JSON: {error}; correct the line") from None
        if one is not None and not isinstance(one, dict):
            raise DataProblem(f"{file}, line {number}: is not a JSON object; correct the line")
        found += [one] if one is not None else []
    return found
