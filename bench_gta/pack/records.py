"""``run.json``: how an agent ended on a task, its time and its cost. It becomes the task's ``meta`` in the pack."""

from __future__ import annotations

import json
import math
from pathlib import Path

from agentgauge.core.errors import DataProblem
from agentgauge.core.types import Json
from agentgauge.sandbox import ended_from_outside
from bench_gta.pack.file_selection import problem_of

RECORD = "run.json"

_MOST = 1 << 20  # bytes of a record


def read_record(folder: Path) -> dict[str, Json]:
    """The record in a task's folder; empty where there is none. Raises DataProblem for one that is damaged."""
    file = folder / RECORD
    problem = problem_of(folder.resolve(), RECORD)
    if problem == "missing":
        return {}
    if problem:
        raise DataProblem(f"{file} is {problem}; remove it, or write a plain file with elapsed_sec and usd")
    value = _small_object(file)
    if value is None:
        raise DataProblem(f"{file} is not one JSON object of at most {_MOST} bytes; correct or remove it")
    for name in ("elapsed_sec", "usd"):
        if value.get(name) is not None and number(value[name]) is None:
            raise DataProblem(f"{file}: {name} is {str(value[name])[:40]!r}; accepted is a number from 0 on, or null")
    return value


def is_finished(folder: Path) -> bool:
    """Whether an agent has worked on the task to its end: one that was killed from outside is to be run again. Raises
    DataProblem for a damaged record."""
    record = read_record(folder)
    return bool(record) and not ended_from_outside(record.get("status"), record.get("returncode"))


def read_usage(folder: Path, name: str) -> tuple[dict[str, float], list[str]]:
    """The usage that an agent reports (``usd``, ``prompt_tokens``, ``completion_tokens``), and notes if the file cannot
    be read. The agent wrote the file, so it may hold anything; a missing file gives no usage and no note."""
    problem = problem_of(folder.resolve(), name)
    if problem == "missing":
        return {}, []
    value = None if problem else _small_object(folder / name)
    if value is None:
        return {}, [f"{name} is not read: {problem or 'it is not one small JSON object'}"]
    given = {key: value[key] for key in ("usd", "prompt_tokens", "completion_tokens") if value.get(key) is not None}
    known = {key: amount for key in given if (amount := number(given[key])) is not None}
    if bad := given.keys() - known:
        return {}, [f"{name} is not read: {', '.join(key for key in given if key in bad)} must be a number from 0 on"]
    return known, []


def number(value: Json) -> float | None:
    """A finite number from 0 on as it is; None for everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value <= 1e15 and math.isfinite(value) else None


def score_of(value: Json) -> float | None:
    """A score, which may be a text; None for everything that is no finite number (GTA-Workflow spec 6.2)."""
    try:
        score = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return score if math.isfinite(score) else None


def _small_object(file: Path) -> dict[str, Json] | None:
    try:
        with file.open("rb") as stream:
            content = stream.read(_MOST + 1)
        value = json.loads(content) if len(content) <= _MOST else None
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
