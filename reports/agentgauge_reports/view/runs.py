"""The runs below a folder: their settings, their states, and their figures.

A run folder may come from anywhere. Its files are read if they are plain files with plain values; any other run is
listed with the reason. No link is followed, because an agent may have left links there.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal

from agentgauge.core.errors import AgentGaugeError, UsageProblem
from agentgauge.core.files import whole
from agentgauge.core.registry import Registry
from agentgauge.store import checked
from agentgauge.store.folder_lock import FILE as LOCK
from agentgauge.store.folder_lock import is_in_use
from agentgauge_reports.figures import headline
from agentgauge_reports.leaderboard import by_benchmark
from agentgauge_reports.notices import limit_of, model_title


def open_beneath(folder: Path, parts: list[str]) -> BinaryIO:
    """Open ``folder``/``parts`` for reading, following no link and no ``..`` in ``parts``.

    Raises OSError if that is not a regular file.
    """
    if not parts or any(part in ("", ".", "..") or "/" in part or "\0" in part for part in parts):
        raise FileNotFoundError("no file has that name")
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for number, part in enumerate(parts):
        kind = os.O_DIRECTORY if number < len(parts) - 1 else 0
        try:
            inner = os.open(part, flags | kind, dir_fd=place)
        finally:
            os.close(place)
        place = inner
    if not stat.S_ISREG(os.fstat(place).st_mode):
        os.close(place)
        raise FileNotFoundError("it is not a regular file")
    return os.fdopen(place, "rb")


# -- the runs

State = Literal["running", "finished", "stopped"]

DEEPEST = 3
"""Folders below the one that is viewed in which runs are looked for."""

STATUSES = ("passed", "wrong", "broken", "missing")

_FILES = ("run.json", "summary.json", "planned.json", "records.jsonl", LOCK)


class Runs:
    """A run has the path below ``root`` as its name, such as ``2026-04-10/gpt-4o``.

    ``root`` may be a run folder itself: then that run is the only one.
    """

    def __init__(self, root: Path, tasks: Registry) -> None:
        """``tasks``: all that are known. Raises UsageProblem if the folder does not exist."""
        if not root.is_dir():
            raise UsageProblem(f"{root} is not a folder; name a folder of runs, such as runs, or one run's folder")
        root = root.resolve()
        self._only = root.name if _is_run(root) else None
        self.root = root.parent if self._only else root
        self._tasks = tasks
        self._kept: dict[str, tuple[object, dict[str, Any]]] = {}  # name → what its files were like, its entry

    def names(self) -> list[str]:
        """The names of the current runs."""
        if self._only:
            return [self._only]
        return sorted(path.relative_to(self.root).as_posix() for path in _below(self.root, DEEPEST))

    def find(self, path: str) -> tuple[str, str] | None:
        """The run whose name a path begins with, and the rest of the path; None where there is none."""
        parts = path.split("/")
        if not all(parts[:-1]) or {".", ".."} & set(parts) or "\0" in path:
            return None
        for length in range(1, min(len(parts), DEEPEST) + 1):
            name = "/".join(parts[:length])
            folder = self.root / name
            if (self._only in (None, name)) and folder.resolve() == folder and _is_run(folder):
                return name, "/".join(parts[length:])
        return None

    def entry(self, name: str) -> dict[str, Any]:
        """The entry of a run in the list, as JSON; read again when the run's files have changed. ``problem``: why the
        run cannot be read, else empty."""
        folder = self.root / name
        version = [_stat(folder / file) for file in _FILES]
        if name not in self._kept or self._kept[name][0] != version:
            self._kept[name] = (version, _entry(name, folder, self._tasks))
        entry = self._kept[name][1]
        return entry | {"state": _state(folder, entry)}

    def list(self) -> list[dict[str, Any]]:
        """The entries of all runs, the latest first."""
        return sorted(map(self.entry, self.names()), key=lambda entry: -(entry["started"] or 0.0))


def _is_run(folder: Path) -> bool:
    try:
        return (folder / "run.json").is_file()
    except OSError:  # a folder that is not ours to read
        return False


def _below(folder: Path, depth: int) -> Iterator[Path]:
    try:
        inside = [entry for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:  # it is not ours to read, or has just gone
        return
    for entry in inside:
        path = Path(entry)
        if _is_run(path):
            yield path
        elif depth > 1:
            yield from _below(path, depth - 1)


def _stat(file: Path) -> object:
    try:
        found = file.lstat()
    except OSError:
        return None
    return found.st_mode, found.st_mtime_ns, found.st_size, found.st_ino


def _state(folder: Path, entry: Mapping[str, Any]) -> State:
    if entry["problem"]:
        return "stopped"
    if entry["finished"] and (folder / "summary.json").exists():
        return "finished"
    return "running" if is_in_use(folder) and not entry["finished"] else "stopped"


def _entry(name: str, folder: Path, tasks: Registry) -> dict[str, Any]:
    """Raises nothing: what cannot be read is said in ``problem``."""
    entry: dict[str, Any] = {"name": name, "model": "", "started": None, "finished": None, "planned": 0}
    entry |= {"counts": {}, "figures": [], "tokens": 0, "usd": 0.0, "problem": ""}
    try:
        if (shown := name.encode("utf-8", "backslashreplace").decode()) != name:  # no address can name it
            entry["name"] = shown
            raise ValueError("the folder's name is not UTF-8; rename it")
        for file in _FILES:
            if os.path.lexists(folder / file) and not (folder / file).is_file():
                raise ValueError(f"{file} is not a plain file")
        about = _json(folder, "run.json")
        entry |= {key: about[key] for key in ("started", "finished", "planned") if key in about}
        model, agent = about["settings"]["model"]["name"], about["settings"].get("agent")
        entry["model"] = f"{agent['name']} ({model})" if agent else model
        if entry["finished"] and (folder / "summary.json").exists():
            summary = _json(folder, "summary.json")
            entry["model"] = model_title(summary["run"])
            usage = summary["usage"]
            entry["counts"] = _counts(summary)
            entry["tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]
            entry["usd"] = usage.get("usd", 0.0)
            with open_beneath(folder, ["planned.json"]) as plan:
                selection = hashlib.sha256(plan.read()).hexdigest()
            entry["figures"] = list(_figures(summary, about, selection, tasks))
    except Exception as problem:  # of a benchmark's own code, too: the other runs are listed
        entry["problem"] = reading_problem(problem)
    return entry


def reading_problem(problem: Exception) -> str:
    told = isinstance(problem, AgentGaugeError | OSError | ValueError)
    return (str(problem) if told else f"{type(problem).__name__}: {problem}")[:300]


def _json(folder: Path, name: str) -> dict[str, Any]:
    with open_beneath(folder, [name]) as stream:
        try:
            found: dict[str, Any] = checked.json_file(name, whole(stream))
        except ValueError as error:
            raise ValueError(f"{name} cannot be read: {error}") from None
    return found


def _counts(summary: Mapping[str, Any]) -> dict[str, int]:
    return {status: sum(part[status] for part in summary["tasks"].values()) for status in STATUSES}


def _figures(
    summary: Mapping[str, Any], about: Mapping[str, Any], selection: str, known: Registry
) -> Iterator[dict[str, Any]]:
    """The headline of each benchmark. ``series`` is equal for runs whose figures may stand on one line: same cases,
    data, scoring and limit, and the same model with its settings, as in the ids of cases' configurations."""
    parts = {name: part for name, part in summary["tasks"].items() if name in known}
    for benchmark, tasks in by_benchmark({"tasks": parts}, known).items():
        if figure := headline(summary, benchmark, tasks):
            names = sorted(task.name for task in tasks)
            prints = [(name, summary["run"]["data"][name]["fingerprint"], about["configs"].get(name)) for name in names]
            limit = limit_of(summary, names)
            same = repr((summary["run"]["scoring"], prints, limit, selection, summary["run"].get("attempts")))
            numbers = {key: getattr(figure, key) for key in ("value", "low", "high", "n")}
            if None in (figure.low, figure.high):
                numbers |= {"low": None, "high": None}
            series = hashlib.sha256(same.encode()).hexdigest()[:12]
            yield {"benchmark": benchmark, "name": str(figure.name), **numbers, "series": series, "limit": limit}
