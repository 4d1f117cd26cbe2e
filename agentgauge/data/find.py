"""Finds the data of each task. A run's run.json records the data that it used; a later run finds that data again, and
refuses it if it has changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentgauge import sandbox
from agentgauge.core.errors import UsageProblem
from agentgauge.core.registry import Registry
from agentgauge.store import RunFolder


def data_folder(rootpath: Path) -> Path:
    """The folder that is searched for official data."""
    return Path(os.environ.get("AGENTGAUGE_DATA") or rootpath / "agentgauge-data")


def find_data(tasks: Registry, data: str, rootpath: Path) -> tuple[dict[str, Path], dict[str, bool]]:
    """Where each task's data is, and whether it is the official one: the user's own, or a bundled one that is whole.

    ``auto`` looks below $AGENTGAUGE_DATA or ``agentgauge-data`` and falls back on the bundled set, task by task. A
    folder may be one data set or hold several. Raises UsageProblem for a folder without any, DataProblem for damaged
    data.
    """
    sources = {task.name: task.data for task in tasks if not task.data.in_run_folder}
    whole = {name: source.whole for name, source in sources.items()}
    if data == "mini":
        return {name: source.bundled for name, source in sources.items()}, whole
    if data == "auto":
        found = {name: root for name, source in sources.items() if (root := source.find(data_folder(rootpath)))}
        # a data set is the user's or the bundled one, never a mixture: its paths have one token in what is stored
        theirs = {sources[name].name for name in found}
        roots = {
            name: found.get(name, source.bundled)
            for name, source in sources.items()
            if name in found or source.name not in theirs
        }
        return roots, {name: name in found or whole[name] for name in roots}
    folder = Path(data).resolve()  # without "..": prompts hold paths in it
    if not folder.is_dir():
        raise UsageProblem(
            f"--data {data!r} is not a folder; give auto, mini, or a folder with a data set in its official layout"
        )
    found = {name: root for name, source in sources.items() if (root := source.find(folder))}
    if not found:
        looked_for = ", ".join(sorted({file for source in sources.values() for file in source.files}))
        raise UsageProblem(f"--data {data!r} holds no known data set; looked for {looked_for} there and in its folders")
    for name, root in found.items():
        sources[name].index(root)  # reports damaged data now
    return found, dict.fromkeys(found, True)


def difference_notes(tasks: Registry, roots: Mapping[str, Path], most: int = 6) -> Iterator[str]:
    """How the tasks' data differs from the official layouts: each difference once, ``most`` lines of each folder."""
    noted: dict[Path, dict[str, None]] = {}
    for name, root in roots.items():
        noted.setdefault(root, {}).update(dict.fromkeys(tasks[name].data.differences(root)))
    for root, found in noted.items():
        yield from (f"{root} differs from the official layout: {sentence}" for sentence in list(found)[:most])
        if len(found) > most:
            yield f"{root} differs from the official layout in {len(found) - most} more ways (see run.json)"


def used_data(
    tasks: Registry, roots: Mapping[str, Path], official: Mapping[str, bool], planned: Iterable[str]
) -> dict[str, Any]:
    """The entry of run.json for each task's data.

    ``planned``: tasks with cases, whose data has a fingerprint; none before there is a plan.
    """
    planned = list(planned)
    return {
        name: {
            "folder": str(roots[name].absolute()),
            "official": official[name],
            "fingerprint": tasks[name].data.index(roots[name]).fingerprint if name in planned else None,
        }
        for name in planned or roots
        if name in planned or not tasks[name].data.in_run_folder
    }


def find_used_data(
    tasks: Registry, about: Mapping[str, Any], rootpath: Path
) -> tuple[dict[str, Path], dict[str, bool]]:
    """As ``find_data``, for the data of an earlier run. ``about``: its run.json.

    Raises UsageProblem where it is missing.
    """
    if not about.get("data"):  # an earlier version wrote it
        return find_data(tasks, about["settings"].get("data") or "auto", rootpath)
    bundled, _ = find_data(tasks, "mini", rootpath)  # is where this installation has it
    roots: dict[str, Path] = {}
    official: dict[str, bool] = {}
    for name, one in about["data"].items():
        if (task := tasks.get(name)) is None or task.data.in_run_folder:
            continue
        root = task.data.find(Path(one["folder"])) if one["official"] else bundled[name]
        if root is None:
            raise UsageProblem(f"the data of {name} was in {one['folder']}, and is not there now; give --data=DIR")
        roots[name], official[name] = root, one["official"]
    sandbox.hide([root for name, root in roots.items() if official[name]])
    return roots, official


def refuse_other_data(tasks: Registry, run: RunFolder, about: Mapping[str, Any], roots: Mapping[str, Path]) -> None:
    """Raises UsageProblem where ``roots`` hold other data than an earlier run used.

    ``tasks``: with the options of that run.
    """
    used = about.get("data")
    if not used and (run.path / "summary.json").exists():  # an earlier version wrote run.json
        used = run.read_json("summary.json")["run"].get("data")
    for name, one in (used or {}).items():
        before = one.get("fingerprint")
        if name in roots and before and tasks[name].data.index(roots[name]).fingerprint != before:
            other = f"{roots[name]} holds other data of {name} than {run.path} used"
            raise UsageProblem(f"{other}; give --data=DIR with the data of that run")
