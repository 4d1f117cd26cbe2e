"""Converts ``OUT/dialogues.jsonl`` to ``OUT/wild/Wild-Tool-Bench.jsonl``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgauge.core.atomic_write import encoded, write_whole
from agentgauge.core.errors import DataProblem
from agentgauge.core.parsing import parse_json
from bench_wild.check import check_record
from bench_wild.data import FILES, LANGUAGES, build_session, has_language
from bench_wild.generate.dialogue.dialogue import DIALOGUES, TYPES, read_dialogues
from bench_wild.generate.evaluation.actions import NoRecord
from bench_wild.generate.evaluation.record import origin, record_of
from bench_wild.layout import GENERATED, UNVERIFIED
from bench_wild.oracle import unreachable

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
