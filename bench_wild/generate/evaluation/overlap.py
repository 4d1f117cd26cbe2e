"""Contamination: user texts that another data file has already, found by n-grams that two sessions share.

English is cut into words, Chinese into signs. The *share* of a text is the part of its n-grams that one other session
has too. Measured on the 16 bundled sessions: unrelated ones share at most 3 % (English) and 5 % (Chinese), single tasks
7 % and 12 %; copies with every tenth word or sign replaced share at least 57 % and 48 % (docs/generated-records.md).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgauge.core.errors import DataProblem
from agentgauge.core.task_registry import find_task
from bench_wild import data
from bench_wild.data import LANGUAGES, Session, build_session, has_language

GRAM: Mapping[str, int] = {"en": 3, "zh": 4}
"""Words of an English n-gram, signs of a Chinese one."""

SESSION, TASK = 0.35, 0.5
"""A session with this share is reported, and a task with this share that has ``ENOUGH`` n-grams."""

ENOUGH = 5
"""Shorter tasks are not reported: "And the second one?" is not a copy."""

Gram = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Overlap:
    """A session or a task of it that shares too much with an existing session."""

    session: str
    task: int | None  # from 0; None: the session as a whole
    share: float  # 0..1
    other: str  # the existing session's id
    file: str  # name of the existing session's file

    def __str__(self) -> str:
        where = "the session" if self.task is None else f"task {self.task + 1}"
        return f"{where} shares {self.share:.0%} of its n-grams with {self.other} of {self.file}"


@dataclass(frozen=True, slots=True)
class Known:
    """Existing sessions: each n-gram of a language with the sessions that have it."""

    names: tuple[tuple[str, str], ...]  # id and file
    owners: Mapping[str, Mapping[Gram, frozenset[int]]]


def grams(text: str, language: str) -> frozenset[Gram]:
    """The n-grams of a text; case, width and punctuation do not matter."""
    text = unicodedata.normalize("NFKC", text).casefold()
    clean = "".join(sign if sign.isalnum() else " " for sign in text)
    units = clean.split() if language == "en" else list(clean.replace(" ", ""))
    size = GRAM[language]
    return frozenset(tuple(units[place : place + size]) for place in range(len(units) - size + 1))


def known_sessions(paths: Iterable[Path]) -> Known:
    """Index data files, or folders as ``--data`` takes them. Raises DataProblem for a path without data."""
    names: list[tuple[str, str]] = []
    owners: dict[str, dict[Gram, set[int]]] = {language: {} for language in LANGUAGES}
    for path in paths:
        for session in _sessions(path):
            for gram in frozenset().union(*(grams(text, session.language) for text in texts_of(session))):
                owners[session.language].setdefault(gram, set()).add(len(names))
            names.append((session.id, _file(path).name))
    return Known(
        tuple(names),
        {language: {gram: frozenset(who) for gram, who in found.items()} for language, found in owners.items()},
    )


def _sessions(path: Path) -> Iterable[Session]:
    for language in LANGUAGES:
        yield from (one for one in data.read_sessions(_file(path), language) if isinstance(one, Session))


def _file(path: Path) -> Path:
    """The data file that a path means."""
    if path.is_file():
        return path
    root = find_task("wild").data.find(path)
    if root is None or (found := data.find(root)) is None:
        raise DataProblem(
            f"{path} holds no data file of WildToolBench to compare with; give a file or folder with"
            f" {' or '.join(data.FILES)}"
        )
    return found


def texts_of(session: Session) -> list[str]:
    """The user's texts, task by task, with the replies to questions."""
    return ["\n".join([task.text, *(node.user_input or "" for node in task.answer_list)]) for task in session.tasks]


def overlaps(record: Mapping[str, Any], known: Known) -> list[Overlap]:
    """The parts of a record that are too similar to an existing session, in each of its languages: the session, or
    single tasks of it."""
    found: list[Overlap] = []
    for language in LANGUAGES:
        if not has_language(record, language):
            continue
        session = build_session(record, language)
        texts = [grams(text, language) for text in texts_of(session)]
        whole = _nearest(frozenset().union(*texts), known, language)
        if whole and whole[0] >= SESSION:
            found.append(Overlap(session.id, None, whole[0], *known.names[whole[1]]))
            continue
        for place, mine in enumerate(texts):
            near = _nearest(mine, known, language) if len(mine) >= ENOUGH else None
            if near and near[0] >= TASK:
                found.append(Overlap(session.id, place, near[0], *known.names[near[1]]))
    return found


def _nearest(mine: frozenset[Gram], known: Known, language: str) -> tuple[float, int] | None:
    """The largest share and the session it is shared with; None where nothing is shared."""
    shared: dict[int, int] = {}
    for gram in mine:
        for who in known.owners[language].get(gram, ()):
            shared[who] = shared.get(who, 0) + 1
    best = min(shared, key=lambda who: (-shared[who], who), default=None)
    return None if best is None else (shared[best] / len(mine), best)
