"""The runs below a folder: what each was of, how it ended, its figures."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from agentgauge.core.errors import UsageProblem
from agentgauge.core.task_registry import known_tasks
from agentgauge.store import RunFolder
from agentgauge.store.folder_lock import is_in_use
from agentgauge_reports.headlines import headline
from agentgauge_reports.leaderboard import by_benchmark

State = Literal["running", "finished", "stopped"]

DEEPEST = 3
"""Folders below the one that is viewed in which runs are looked for."""


class Runs:
    """A run has the path below ``root`` as its name, such as ``2026-04-10/gpt-4o``.

    ``root`` may be a run folder itself: then that run is the only one.
    """

    def __init__(self, root: Path) -> None:
        """Raises UsageProblem where there is no such folder."""
        if not root.is_dir():
            raise UsageProblem(f"{root} is no folder; name a folder of runs, such as runs, or one run's folder")
        root = root.resolve()
        self._only = root.name if _is_run(root) else None
        self.root = root.parent if self._only else root
        self._kept: dict[str, tuple[object, dict[str, Any]]] = {}  # name → what its files were like, its entry

    def names(self) -> list[str]:
        """The runs that are there now, the last one to have begun first."""
        if self._only:
            return [self._only]
        found = {path: (path / "run.json").stat().st_mtime for path in _below(self.root, DEEPEST)}
        return [path.relative_to(self.root).as_posix() for path in sorted(found, key=lambda path: -found[path])]

    def find(self, path: str) -> tuple[str, str] | None:
        """The run whose name a path begins with, and the rest of the path; None where there is none."""
        parts = path.split("/")
        if not all(parts[:-1]) or {".", ".."} & set(parts):
            return None
        for length in range(1, min(len(parts), DEEPEST) + 1):
            name = "/".join(parts[:length])
            folder = self.root / name
            if (self._only in (None, name)) and folder.resolve() == folder and _is_run(folder):
                return name, "/".join(parts[length:])
        return None

    def state(self, name: str) -> State:
        folder = self.root / name
        if is_in_use(folder) and not self.entry(name)["finished"]:
            return "running"
        return "finished" if (folder / "summary.json").exists() and self.entry(name)["finished"] else "stopped"

    def entry(self, name: str) -> dict[str, Any]:
        """What the list shows of a run, as JSON; read again when its files have changed."""
        folder = self.root / name
        version = [_stat(folder / file) for file in ("run.json", "summary.json")]
        if name not in self._kept or self._kept[name][0] != version:
            self._kept[name] = (version, _entry(name, folder))
        return self._kept[name][1]

    def list(self) -> list[dict[str, Any]]:
        """The entry of every run, with its state."""
        return [self.entry(name) | {"state": self.state(name)} for name in self.names()]


def _is_run(folder: Path) -> bool:
    return (folder / "run.json").is_file()


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
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _entry(name: str, folder: Path) -> dict[str, Any]:
    """Raises nothing: what cannot be read is said in ``problem``."""
    entry: dict[str, Any] = {"name": name, "model": "", "started": None, "finished": None, "planned": 0}
    entry |= {"counts": {}, "figures": [], "problem": ""}
    try:
        about = RunFolder(folder).read_json("run.json")
        entry |= {key: about[key] for key in ("started", "finished", "planned")}
        entry["model"] = about["settings"]["model"]["name"]
        if (folder / "summary.json").exists() and about["finished"]:
            summary = RunFolder(folder).read_json("summary.json")
            entry["counts"] = _counts(summary)
            entry["figures"] = list(_figures(summary))
    except (UsageProblem, KeyError, TypeError, AttributeError) as problem:  # of another version, or damaged
        entry["problem"] = f"{type(problem).__name__}: {problem}"[:300]
    return entry


def _counts(summary: Mapping[str, Any]) -> dict[str, int]:
    statuses = ("passed", "wrong", "broken", "missing")
    return {status: sum(part[status] for part in summary["tasks"].values()) for status in statuses}


def _figures(summary: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The headline of each benchmark. ``data`` is equal for runs whose figures may stand on one line: same tasks, data,
    scoring."""
    known = {name: part for name, part in summary["tasks"].items() if name in known_tasks()}
    for benchmark, tasks in by_benchmark({"tasks": known}).items():
        if figure := headline(summary, benchmark, tasks):
            prints = {task.name: summary["run"]["data"][task.name]["fingerprint"] for task in tasks}
            data = repr((summary["run"]["scoring"], sorted(prints.items())))
            digest = hashlib.sha256(data.encode()).hexdigest()[:12]
            yield {"benchmark": benchmark, **asdict(figure), "data": digest}
