"""Converts ``OUT/dialogues.jsonl`` to ``OUT/wild/Wild-Tool-Bench.jsonl`` and ``OUT/review.md``, and marks records that
a person has accepted."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.files import encoded, write_whole
from agentgauge.core.task_registry import find_task
from agentgauge.core.text import parse_json
from agentgauge.data.find import find_data
from bench_wild.data import FILES
from bench_wild.generate.dialogue.dialogue import DIALOGUES, TYPES, read_dialogues
from bench_wild.generate.evaluation.actions import NoRecord
from bench_wild.generate.evaluation.overlap import known_sessions, overlaps
from bench_wild.generate.evaluation.record import origin, record_of
from bench_wild.generate.evaluation.review import Sheet, page
from bench_wild.generate.evaluation.selfcheck import check_one, duplicates
from bench_wild.generate.settings import writing
from bench_wild.layout import GENERATED, UNVERIFIED

RECORDS = Path("wild") / FILES[0]
"""The file of records below the output folder, where ``--data`` finds it."""

REVIEW = "review.md"
_SHOWN = 5
"""Dialogues without a record that are listed on a terminal."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of converting the dialogues of a folder."""

    file: Path  # the records
    review: Path
    sessions: int
    unverified: int  # of the sessions
    doubts: int  # findings of the self-check and overlaps, over all sessions
    left_out: tuple[str, ...]  # dialogues that became no record, with the reason; one sentence each

    def lines(self) -> list[str]:
        """The lines for a terminal."""
        lines = [
            f"{self.sessions} sessions in {self.file}, {self.unverified} of them unverified, {self.doubts} doubts",
            f"to be read by a person: {self.review}",
            *(f"no record: {reason}" for reason in self.left_out[:_SHOWN]),
        ]
        more = len(self.left_out) - _SHOWN
        return [*lines, f"no record: {more} more dialogues, see {self.review}"] if more > 0 else lines


def write_records(out: Path, *, against: Sequence[Path] | None = None) -> Summary:
    """Turn the dialogues of a folder into records and a page for their review.

    The records' order is that of the sequences, whenever the dialogues ended. Sessions that a person has accepted stay
    as that person left them. ``against``: data files or folders that must not be repeated; by default the bundled
    sessions, and the official ones where they are. Raises DataProblem.
    """
    if not (out / DIALOGUES).is_file():
        raise DataProblem(f"{out} has no {DIALOGUES}; give the output folder of agentgauge generate wild")
    known = known_sessions(_usual(out) if against is None else against)
    dialogues = {_key(origin(dialogue)): dialogue for dialogue in read_dialogues(out / DIALOGUES)}
    before = _records(out)
    if foreign := next((number for number, one in enumerate(before, 1) if GENERATED not in one), None):
        raise DataProblem(
            f"{out / RECORDS}, session {foreign} is none of these dialogues and would be lost; keep it in a file"
            " elsewhere"
        )
    accepted = {_key(one[GENERATED]): one for one in before if UNVERIFIED not in one}
    sheets: list[tuple[dict[str, Any], list[str], list[str]]] = []
    left_out: list[str] = []
    for key in sorted(dialogues | accepted, key=_order):
        name = f"dialogue {key[1]} (seed {key[2]})"
        try:
            record, notes = (
                _kept(accepted[key], len(sheets)) if key in accepted else record_of(dialogues[key], len(sheets))
            )
        except NoRecord as problem:
            left_out.append(f"{name}: {problem}")
            continue
        findings = check_one(record)
        if cannot := [found.text for found in findings if found.kind == "run"]:
            if key in accepted:
                raise DataProblem(
                    f"the accepted session of {name} in {out / RECORDS} cannot be run any more: {cannot[0]}; correct"
                    " its line"
                )
            left_out.append(f"{name}: {'; '.join(cannot)}")
            continue
        doubts = [*(f"{found.text} [{found.kind}]" for found in findings), *map(str, overlaps(record, known))]
        sheets.append((record, notes, doubts))
    for (_, _, doubts), same in zip(sheets, duplicates([record for record, _, _ in sheets]), strict=True):
        doubts += [f"{found.text} [{found.kind}]" for found in same]
    records = [record for record, _, _ in sheets]
    _write(out, records)
    write_whole(out / REVIEW, page([Sheet(*sheet) for sheet in sheets], left_out).encode("utf-8", "backslashreplace"))
    count = sum(len(doubts) for _, _, doubts in sheets)
    return Summary(out / RECORDS, out / REVIEW, len(records), _unverified(records), count, tuple(left_out))


def accept(out: Path, sessions: str) -> tuple[int, int]:
    """Mark sessions as verified by a person. ``sessions``: numbers and ranges, ``0,3-7``, or ``all``.

    Returns how many sessions the file has, and how many are still unverified. Raises UsageProblem for numbers that
    there are not, and for a session that cannot be run.
    """
    records = _records(out)
    if not records:
        raise DataProblem(
            f"{out / RECORDS} is not there or empty; generate sessions first: agentgauge generate wild --out {out}"
        )
    for number in _numbers(sessions, len(records)):
        if cannot := [found.text for found in check_one(records[number]) if found.kind == "run"]:
            raise DataProblem(
                f"session {number} of {out / RECORDS} cannot be accepted: {cannot[0]}; correct its line and try again"
            )
        records[number].pop(UNVERIFIED, None)
    _write(out, records)
    return len(records), _unverified(records)


def main_records(argv: Sequence[str]) -> int:
    """``agentgauge generate accept ...`` and ``agentgauge generate records ...``; returns the exit status."""
    parser = argparse.ArgumentParser(prog="agentgauge generate")
    commands = parser.add_subparsers(required=True, dest="command")
    accepting = commands.add_parser("accept", epilog="example: agentgauge generate accept generated --sessions 0,3-7")
    accepting.add_argument(
        "--sessions", required=True, metavar="NUMBERS", help="numbers and ranges, such as 0,3-7, or all"
    )
    again = commands.add_parser("records", epilog="example: agentgauge generate records generated --against my-data")
    again.add_argument(
        "--against",
        type=Path,
        action="append",
        metavar="PATH",
        help=(
            "data that must not be repeated; may be given again (default: the bundled sessions, and the official ones"
            " where they are)"
        ),
    )
    for command in (accepting, again):
        command.add_argument("out", type=Path, metavar="DIR", help="output folder of `agentgauge generate wild`")
    options = parser.parse_args(argv)
    with writing(options.out):
        if options.command == "records":
            print(*write_records(options.out, against=options.against).lines(), sep="\n")
            return 0
        count, left = accept(options.out, options.sessions)
        print(f"{count - left} of {count} sessions are accepted, {left} unverified")
    return 0


def _usual(out: Path) -> list[Path]:
    """The folders of the sessions that a run finds by itself, but not what is written now."""
    mini = find_task("wild").data.bundled
    roots, _ = find_data("auto", Path.cwd())
    return [root for root in dict.fromkeys([mini, roots["wild"]]) if root.resolve() != (out / RECORDS).parent.resolve()]


def _key(made: dict[str, Any]) -> tuple[str, str, int]:
    """Language, sequence and seed of a dialogue."""
    return made["language"], made["sequence"], made["seed"]


def _order(key: tuple[str, str, int]) -> tuple[str, list[int], int]:
    language, sequence, seed = key
    known = list[str](TYPES)
    return language, [known.index(one) for one in sequence.split("-")], seed


def _kept(record: dict[str, Any], number: int) -> tuple[dict[str, Any], list[str]]:
    """An accepted record on its line; what was not determined, a person has judged."""
    return record | {"id": f"wild_tool_bench_{number}"}, []


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


def _write(out: Path, records: Sequence[dict[str, Any]]) -> None:
    (out / RECORDS).parent.mkdir(parents=True, exist_ok=True)
    write_whole(out / RECORDS, b"".join(encoded(record) + b"\n" for record in records))


def _unverified(records: Sequence[dict[str, Any]]) -> int:
    return sum(UNVERIFIED in record for record in records)


def _numbers(text: str, count: int) -> list[int]:
    """The numbers that ``0,3-7`` or ``all`` means. Raises UsageProblem."""
    if text.strip() == "all":
        return list(range(count))
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not re.fullmatch(r"\d{1,4000}(-\d{0,4000})?", part.strip()):
            raise UsageProblem(
                f"--sessions {text!r}: {part.strip()!r} is neither a number nor a range; write 0,3-7 or all"
            )
        if not int(first) <= int(last or first) < count:
            raise UsageProblem(f"--sessions {text!r}: {part.strip()!r} is outside of the sessions 0 to {count - 1}")
        found.update(range(int(first), int(last or first) + 1))
    return sorted(found)
