"""The files of Apple MMAU: one JSON record a line, one record a case (docs/benchmarks/mmau.md#data).

A file's name without the date says which task it belongs to. Not all names are known (docs/benchmarks/mmau.md#files):
those of three tool-use files follow the pattern of the others.

Layouts of Apple MMAU's records that differ from the official one and can be understood (docs/benchmarks/mmau.md#data).

A record in the official layout is returned unchanged. A record in a known other layout is converted to the official
one, with a sentence for each difference. The checks refuse a record that cannot be understood. ``data`` has the
accepted names of files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from agentgauge.core.errors import DataProblem
from agentgauge.core.index import Entry, Index, Row, build_index, first_line, line_entries, list_entries
from agentgauge.core.text import parse_json
from agentgauge.core.types import Sample
from agentgauge.data.differences import Differences, from_text, replaced
from bench_mmau.contests.score import read_groups
from bench_mmau.replies import NotScorable

_NESTED: Mapping[str, type] = {
    "messages": list,
    "tools": list,
    "target_message": dict,
    "target_message_match_rules": list,
    "notebook": dict,
    "questions": list,
    "gt_answers": list,
    "oracle_response": list,
    "last_cell": dict,
    "public_tests": dict,
    "private_tests": dict,
    "generated_tests": dict,
}
"""Fields that hold objects and lists."""


def records(file: Path, differences: Differences | None = None) -> Iterator[Entry]:
    """The records of a file in the official layout, one a line; the differences are added to ``differences``. Raises
    DataProblem.

    A file may hold one list instead. The keys are line numbers, or positions in the list, from 0.
    """
    is_list = first_line(file).startswith("[") if file.is_file() else False
    if is_list and differences:
        differences.of_file(f"{file.name} holds a list instead of JSON Lines; its entries count as lines")
    lines = 0
    for entry in list_entries(file) if is_list else line_entries(file):
        value, ways = official(entry.value)
        if int(entry.key) > lines:
            ways.append(
                "blank lines stand before the record, which the published evaluator cannot read; they are passed over"
            )
        lines = int(entry.key) + 1
        if differences and ways:
            differences.of_record(_name(value, lines), ways)
        yield replace(entry, value=value)


def official(record: Any) -> tuple[Any, list[str]]:
    """A record in the official layout, and the ways in which it differed."""
    ways: list[str] = []
    if not isinstance(record, dict):
        return record, ways
    changed: dict[str, Any] = record
    for field, kind in _NESTED.items():
        if isinstance(changed.get(field), str):
            changed = replaced(changed, field, partial(from_text, kind=kind))
            if changed[field] is not record[field]:
                ways.append(f"{field!r} is a JSON text, read as {'an object' if kind is dict else 'a list'}")
    if type(record.get("id")) is int:
        ways.append("'id' is a number, read as a text")
        changed = {**changed, "id": str(record["id"])}
    if type(record.get("deliverable_id")) is int:
        ways.append("'deliverable_id' is a number; the record goes by its digits")
    return changed, ways


def _name(record: Any, line: int) -> str:
    number = record.get("id", record.get("deliverable_id")) if isinstance(record, dict) else None
    return f"line {line}" if number is None else str(number)


_DATED = re.compile(r"_(\d{8})$")
_RELEASED = "20240712"


@dataclass(frozen=True, slots=True)
class RecordKind:
    """The properties that the records of a file share."""

    files: str  # regular expression for the file's name without date and ending
    shown: str  # such a name, for messages
    fields: Mapping[str, type | tuple[type, ...]]  # needed besides messages
    keywords: tuple[str, ...] = ()
    parts: bool = False  # it may come in several files of different names


def _tools(pattern: str, shown: str) -> RecordKind:
    return RecordKind(
        f"tool_use_{pattern}", f"tool_use_{shown}", {"tools": list, "target_message": dict}, ("tool_use",)
    )


def _plan(pattern: str, shown: str) -> RecordKind:
    return RecordKind(
        f"tool_use_plan_{pattern}",
        f"tool_use_plan_{shown}",
        {"target_plan_number": (int, str)},
        ("dag_qa",),
        parts=True,
    )


def _contest(name: str, **fields: type) -> RecordKind:
    return RecordKind(f"code_contests_{name}", f"code_contests_{name}", {"id": str, **fields}, ("contests",))


def _math(name: str) -> RecordKind:
    return RecordKind(f"math_{name}", f"math_{name}", {"raw_problem": str, "gt_answer": (str, int, float)}, ("math",))


_NOTEBOOK = {"notebook": dict, "image_expected": bool, "questions": list, "gt_answers": list}

SINGLE = _tools("execution_single(?!.*parallel).*", "execution_single_step")
PARALLEL = _tools("execution_.*parallel.*", "execution_parallel")
DOUBLE = _tools("execution_.*double.*", "execution_multi_step_double")
TRIPLE = _tools("execution_.*triple.*", "execution_multi_step_triple")
SELF_CORRECT = _tools("(execution_)?self_correct.*", "self_correct")
REASONING = _plan("(.*_)?with_reasoning.*", "with_reasoning_all")
NO_REASONING = _plan("(.*_)?no_reasoning.*", "no_reasoning_all")
NOTEBOOKS = RecordKind("code_kaggle", "code_kaggle", _NOTEBOOK, ("ds_ml",))
ORACLE = RecordKind("code_kaggle", "code_kaggle", {**_NOTEBOOK, "oracle_response": list, "last_cell": dict}, ("ds_ml",))
CONTESTS = _contest("regular")
CONTEST_PLANS = _contest("plan", description=str)
CONTEST_SOLUTIONS = _contest("solve")
CONTEST_PARSING = RecordKind(
    "code_contests_understand", "code_contests_understand", {"target_output": str}, ("contests",)
)
MATH = _math("standard")
MATH_COMPREHEND = _math("understand")

KINDS = (
    *(SINGLE, PARALLEL, DOUBLE, TRIPLE, SELF_CORRECT, REASONING, NO_REASONING, NOTEBOOKS),
    *(CONTESTS, CONTEST_PLANS, CONTEST_SOLUTIONS, CONTEST_PARSING, MATH, MATH_COMPREHEND),
)

NOTEBOOK_DATA = Path("code_kaggle_source") / "input"
"""Where the data files of the notebooks are, below the data folder: the ``input`` folder of the released archive."""


_UNUSED = re.compile(r"tool_use_execution_all|tool_use_plan_.*")
"""Official files that serve no task, or only where no file of all is there: their records are in others as well."""


def find(folder: Path, kind: RecordKind) -> Path | None:
    """The file of a kind, the first of ``find_all``. Raises DataProblem."""
    return next(iter(find_all(folder, kind)), None)


def find_all(folder: Path, kind: RecordKind) -> list[Path]:
    """The files of a kind: one, or its parts in the order of their names.

    Of several files one whose name has ``all`` is taken; parts are files without such a one, whose names differ by more
    than the date. Raises DataProblem if that does not decide.
    """
    if not folder.is_dir():
        return []
    named = re.compile(kind.files)
    found = sorted(path for path in folder.glob("*.jsonl") if named.fullmatch(_undated(path)))
    if len(found) > 1:
        found = [path for path in found if "_all" in path.stem] or found
    if len(found) > 1 and not (kind.parts and len({_undated(path) for path in found}) == len(found)):
        raise DataProblem(
            f"{folder} has {len(found)} files for one task: {', '.join(path.name for path in found)}; leave one there"
        )
    return found


def strangers(folder: Path) -> list[str]:
    """Notes about files that belong to no task; these files are ignored."""
    known = [re.compile(kind.files) for kind in KINDS]
    stray = (
        path for path in sorted(folder.glob("*.jsonl")) if not any(named.fullmatch(_undated(path)) for named in known)
    )
    return [
        f"{path.name} belongs to no task and is left alone" for path in stray if not _UNUSED.fullmatch(_undated(path))
    ]


def _undated(path: Path) -> str:
    return _DATED.sub("", path.stem)


def index(root: Path, kind: RecordKind, keywords: Sequence[str]) -> Index:
    """The records of a kind. Raises DataProblem that names file, line, field and rule."""
    files, differences = find_all(root, kind) or [root / f"{kind.shown}.jsonl"], Differences("record")
    if len(files) > 1:
        differences.of_file(
            f"{', '.join(file.name for file in files)} are read one after the other, as no file of all is there"
        )
    return build_index(
        files,
        lambda file: _described(file, kind, keywords, differences),
        lambda entry: (entry.key, entry.value),
        differences=differences.sentences,
        parts=len(files),
        key=("mmau", kind.shown, *kind.fields, *keywords),
    )


def _described(file: Path, kind: RecordKind, keywords: Sequence[str], differences: Differences) -> Iterator[Entry]:
    """Every record's id, with its keywords for a value."""
    date = _DATED.search(file.stem)
    if date is None or date[1] != _RELEASED:
        differences.of_file(
            f"{file.name} {'has no date' if date is None else 'has another date'} in its name; the release has"
            f" {_RELEASED}"
        )
    for entry in records(file, differences):
        id = _checked(file, entry, kind)
        yield replace(entry, key=id, value=(*kind.keywords, *keywords, *_more(entry.value)))


def _more(record: Mapping[str, Any]) -> tuple[str, ...]:
    if "image_expected" in record:
        return ("image" if record["image_expected"] else "text",)
    return (str(record["subject"]),) if isinstance(record.get("subject"), str) else ()


def _checked(file: Path, entry: Entry, kind: RecordKind) -> str:
    """The id of a record. Raises DataProblem where it breaks a rule."""
    record = entry.value
    where = f"{file}, line {int(entry.key) + 1}"
    if not isinstance(record, Mapping):
        raise DataProblem(f"{where}: must be a JSON object, not {type(record).__name__}")
    number = record.get("id", record.get("deliverable_id"))
    if not isinstance(number, str | int) or isinstance(number, bool) or not str(number):
        raise DataProblem(f"{where}: id (or deliverable_id) must be a string, not {number!r}")
    where = f"{where}, record {number!r}"
    if "id" in kind.fields and ":" in str(number):
        raise DataProblem(
            f"{where}: the id must not contain a colon, because the published evaluator would lose samples"
        )
    if "async_index" in record:
        raise DataProblem(f"{where}: the field async_index is reserved; remove it")
    messages = record.get("messages")
    if (
        not isinstance(messages, list)
        or not messages
        or not all(isinstance(one, Mapping) and "role" in one for one in messages)
    ):
        raise DataProblem(f"{where}: messages must be a list of chat messages with roles")
    for name, wanted in kind.fields.items():
        if not isinstance(record.get(name), wanted) or (isinstance(record[name], bool) and wanted is not bool):
            names = " or ".join(one.__name__ for one in (wanted if isinstance(wanted, tuple) else (wanted,)))
            raise DataProblem(
                f"{where}: {name} must be of type {names}, not {json.dumps(record.get(name), ensure_ascii=False)[:80]}"
            )
    try:
        read_groups(record)
    except NotScorable as problem:
        raise DataProblem(f"{where}: {problem}") from None
    if "questions" in kind.fields and len(record["questions"]) != len(record["gt_answers"]):
        raise DataProblem(
            f"{where}: {len(record['questions'])} questions and {len(record['gt_answers'])} gt_answers; give one for"
            " each"
        )
    return str(number)


def load(index: Index, row: Row, task: str) -> Sample:
    """Read one record."""
    record, _ = official(parse_json(row.text))
    return Sample(row.id, task, row.tags, record, index.root, row.position)
