"""WildToolBench's data files: sessions of four tasks with gold graphs (docs/benchmarks/wild.md#data).

Both releases are read: ``Wild-Tool-Bench.jsonl`` of April 2026, and ``WildToolBench.jsonl``, the earlier one. One line
is one session; one task of a session is one sample, ``<session id>-t<1..4>``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, TypeVar

from agentgauge.core.chat import Message
from agentgauge.core.errors import DataProblem
from agentgauge.core.index import Entry, Index, Row, build_index
from agentgauge.core.text import cut
from agentgauge.core.types import Json, Sample
from agentgauge.data.differences import Differences
from bench_wild.check import BrokenRule, check_record
from bench_wild.labels import ASK, FIRST_TURN, PREPARE, PSEUDO, SUBTYPE_TAGS, SUBTYPES, TYPE_TAGS, TYPES, structure_of
from bench_wild.layout import is_earlier, modern, official, sessions

_T = TypeVar("_T")


def recently(size: int) -> Callable[[Callable[..., _T]], Callable[..., _T]]:
    """For a function whose first argument is compared by identity: keeps its last ``size`` results, and the arguments
    with them.

    Neither a kept argument nor a kept result may be changed.
    """

    def decorate(function: Callable[..., _T]) -> Callable[..., _T]:
        kept: tuple[tuple[Any, tuple[Hashable, ...], _T], ...] = ()

        @wraps(function)
        def wrapped(thing: Any, *rest: Hashable) -> _T:
            nonlocal kept
            for one, others, made in kept:
                if one is thing and others == rest:
                    return made
            made = function(thing, *rest)
            kept = ((thing, rest, made), *kept[: size - 1])
            return made

        return wrapped

    return decorate


FILES = ("Wild-Tool-Bench.jsonl", "WildToolBench.jsonl")
"""File names of the releases, the newer first. The releases keep them in a folder ``data``."""

LANGUAGES = ("en", "zh")

POSITIONS = ("first", "second", "third", "fourth")
"""Keywords for the position of a task in its session."""


@dataclass(frozen=True, slots=True)
class GoldNode:
    """One action of a gold graph: a tool call or a pseudo action (docs/benchmarks/wild.md#gold-graphs)."""

    position: int  # in its list, from 0
    name: str
    arguments: Mapping[str, Json]
    observation: Json  # what the tool returned; for pseudo actions the assistant's text
    dependencies: tuple[int, ...]  # positions of actions that must come before
    user_input: str | None = None  # what the user replies to an ask action

    @property
    def is_ask(self) -> bool:
        return self.name == ASK

    @property
    def is_prepare(self) -> bool:
        return self.name == PREPARE

    @property
    def is_tool(self) -> bool:
        return self.name not in PSEUDO


@dataclass(frozen=True, slots=True)
class WildTask:
    """One user task of a session."""

    position: int  # 0..3
    text: str  # what the user says
    answer_list: tuple[GoldNode, ...]
    type: str  # "Single-Tool" ...
    subtype: str  # "First Turn" for the first task, but where the earlier release calls it multi-turn
    gold_nodes: (
        # denominator of the progress rate: the length of the Chinese list, whatever the language
        # (docs/benchmarks/wild.md#metrics)
        int
    )
    env_info: str  # date, time and weekday
    before: tuple[Message, ...] = ()  # messages of the task before its text (earlier release)

    @property
    def structure(self) -> str | None:
        """``combine``, ``serial``, ``cs`` (both) or None (docs/benchmarks/wild.md#structure)."""
        return structure_of((node.name, node.dependencies) for node in self.answer_list)


@dataclass(frozen=True, slots=True)
class Session:
    """One dialogue with its tools."""

    id: str
    language: str  # "en" or "zh"
    tools: tuple[Mapping[str, Any], ...]  # OpenAI form, as in the file
    tasks: tuple[WildTask, ...]

    @property
    def env_info(self) -> str:
        """That of the first task; only in the earlier release another may have its own."""
        return self.tasks[0].env_info


class RecordProblem(DataProblem):
    """A session that breaks a rule. Its fields are those of a report: file, line (from 1), session, field, rule."""

    def __init__(self, file: Path, line: int, session: str, found: BrokenRule) -> None:
        super().__init__(
            f"{file}, line {line}, session {cut(session)!r}: {found.field} {found.rule}; correct the line, or give"
            " --skip-invalid"
        )
        self.file, self.line, self.session, self.field, self.rule = file, line, session, found.field, found.rule


# -- sessions


def has_language(record: Any, language: str) -> bool:
    """Whether a session exists in a language. The Chinese gold alone, which the progress rate needs, does not count."""
    twin = "english_" if language == "en" else ""
    return any(f"{twin}{field}" in record for field in ("tools", "tasks", "task"))


def build_session(record: Mapping[str, Any], language: str = "en") -> Session:
    """A session from a record of either release that keeps the rules; nothing is checked."""
    if is_earlier(record):
        record = modern(record)
    twin = "english_" if language == "en" else ""
    answers, types = record[f"{twin}answer_list"], record[f"{twin}task_types"]
    subtypes = [record.get("first_subtype", FIRST_TURN), *record[f"{twin}turn_subtypes"]]
    denominators = record.get("answer_list", answers)
    env_infos = record.get(f"{twin}env_infos") or [record[f"{twin}env_info"]] * len(types)
    before = record.get(f"{twin}before") or [()] * len(types)
    tasks = tuple(
        WildTask(
            position=place,
            text=text,
            answer_list=gold_nodes(answers[place]),
            type=TYPES.get(types[place], types[place]),
            subtype=SUBTYPES.get(subtype, subtype),
            gold_nodes=len(denominators[place]) if place < len(denominators) else len(answers[place]),
            env_info=env_infos[place],
            before=tuple(before[place]),
        )
        for place, (text, subtype) in enumerate(zip(record[f"{twin}tasks"], subtypes, strict=False))
    )
    return Session(record["id"], language, tuple(record[f"{twin}tools"]), tasks)


def gold_nodes(nodes: Sequence[Mapping[str, Any]]) -> tuple[GoldNode, ...]:
    """The actions of a gold list as a file has it."""
    return tuple(
        GoldNode(
            position,
            node["action"]["name"],
            node["action"]["arguments"],
            node.get("observation"),
            tuple(node["dependency_list"]),
            node.get("user_input"),
        )
        for position, node in enumerate(nodes)
    )


def read_sessions(path: Path, language: str = "en") -> Iterator[Session | RecordProblem]:
    """Every session of a file in its order, or its problem. Raises DataProblem for a file that cannot be read."""
    seen: dict[str, int] = {}
    for entry in sessions(path):
        found = _problem(path, entry, language, seen)
        if found or has_language(entry.value, language):
            yield found or build_session(entry.value, language)


def load_sessions(path: Path, language: str = "en") -> list[Session]:
    """The sessions of a file. Raises RecordProblem for the first that breaks a rule."""
    read: list[Session] = []
    for found in read_sessions(path, language):
        if isinstance(found, RecordProblem):
            raise found
        read.append(found)
    return read


def differences(path: Path) -> tuple[str, ...]:
    """How a file's layout differs from the official one, one sentence each. Raises DataProblem for a file that
    cannot be read."""
    found = Differences("session")
    for _ in sessions(path, found):
        pass
    return found.sentences()


def problems(path: Path, language: str = "en") -> list[RecordProblem]:
    """The sessions that ``skip_invalid`` leaves out of a file."""
    return [found for found in read_sessions(path, language) if isinstance(found, RecordProblem)]


# -- samples


def find(folder: Path) -> Path | None:
    """The data file in ``folder`` or in its folder ``data``, the newer release first."""
    return next((file for name in FILES for file in (folder / name, folder / "data" / name) if file.is_file()), None)


def index(root: Path, language: str = "en", *, skip_invalid: bool = False) -> Index:
    """Four samples a session. Raises DataProblem; RecordProblem names file, line, session, field and rule."""
    root, found = root.absolute(), Differences("session")
    file = find(root) or root / FILES[0]
    return build_index(
        [file],
        lambda path: _tasks(path, language, skip_invalid, found),
        lambda entry: (entry.key, entry.value),
        differences=found.sentences,
        key=("wild", language, skip_invalid),
    )


def _tasks(path: Path, language: str, skip_invalid: bool, deviations: Differences) -> Iterator[Entry]:
    """The tasks of every session, each with its tags, the last of them the session's id, and the session's text."""
    seen: dict[str, int] = {}
    for entry in sessions(path, deviations):
        found = _problem(path, entry, language, seen)
        if found and not skip_invalid:
            raise found
        if not found and has_language(entry.value, language):
            session = build_session(entry.value, language)
            for task in session.tasks:
                yield Entry(sample_id(session.id, task.position), (*tags(task), session.id), entry.text)


def tags(task: WildTask) -> tuple[str, ...]:
    """Keywords: type, subtype, position, structure. Words for -k, such as ``clarify and not first``."""
    words = (*TYPE_TAGS[task.type], SUBTYPE_TAGS[task.subtype], POSITIONS[task.position])
    return (*dict.fromkeys(words), f"structure-{task.structure or 'none'}")


def labels(tags: Sequence[str]) -> tuple[str, str]:
    """Type and subtype among the keywords of a task."""
    return tags[1] if tags[0] == "multi" else tags[0], next(tag for tag in tags if tag in _SUBTYPE_TAGS)


_SUBTYPE_TAGS = frozenset(SUBTYPE_TAGS.values())


def sample_id(session: str, position: int) -> str:
    return f"{session}-t{position + 1}"


def split_id(sample: str) -> tuple[str, int]:
    """Session id and position (from 0) of a sample's id. Raises DataProblem."""
    session, _, number = sample.rpartition("-t")
    if not (number.isdecimal() and len(number) < 10):
        raise DataProblem(f"{sample[:100]!r} is no task of WildToolBench, whose ids end with -t and a number")
    return session, int(number) - 1


def load(index: Index, row: Row, task: str, language: str = "en") -> Sample:
    """Read one sample; its payload is the session's whole record, with the task's place and the language beside it."""
    payload = {"session": _record(row.text), "task": split_id(row.id)[1], "language": language}
    return Sample(row.id, task, row.tags, payload, index.root, row.position)


@lru_cache(maxsize=8)
def _record(text: bytes) -> Mapping[str, Any]:
    """Kept for the other tasks of the session, which are read one after the other."""
    record: Mapping[str, Any] = official(json.loads(text))[0]
    return record


def resolve(sample: Sample) -> tuple[Session, WildTask]:
    """The session and the task of a sample."""
    session = _session(sample.payload["session"], sample.payload["language"])
    return session, session.tasks[sample.payload["task"]]


_session = recently(8)(build_session)


# -- lines


def _problem(path: Path, entry: Entry, language: str, seen: dict[str, int]) -> RecordProblem | None:
    """What is wrong with a line. ``seen`` holds the ids of the lines before, with their numbers, and is kept up."""
    line = int(entry.key) + 1
    if isinstance(entry.value, Exception):
        return RecordProblem(path, line, "?", BrokenRule("the line", f"is not JSON: {entry.value}"))
    record = entry.value
    id = record.get("id") if isinstance(record, Mapping) else None
    # a session that does not exist in the run's language is not run, but checked all the same
    user_turn = next(
        (one for one in (language, *LANGUAGES) if isinstance(record, Mapping) and has_language(record, one)), language
    )
    rule = check_record(record, user_turn)
    if rule is None and id in seen:
        rule = BrokenRule("id", f"is the same as in line {seen[id]}; ids must be unique")
    if rule is None:
        seen[str(id)] = line
        return None
    return RecordProblem(path, line, str(id), rule)
