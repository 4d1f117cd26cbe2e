"""The data that a run used: kept in its run.json, found again from there, and refused where it has changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agentgauge import sandbox
from agentgauge.core.errors import UsageProblem
from agentgauge.core.task_registry import find_task, known_tasks
from agentgauge.data.find import find_data
from agentgauge.store import RunFolder


def used_data(roots: Mapping[str, Path], official: Mapping[str, bool], planned: Iterable[str]) -> dict[str, Any]:
    """The entry of run.json for each task's data.

    ``planned``: tasks with cases, whose data has a fingerprint; none before there is a plan.
    """
    planned = list(planned)
    return {
        name: {
            "folder": str(roots[name].absolute()),
            "official": official[name],
            "fingerprint": find_task(name).data.index(roots[name]).fingerprint if name in planned else None,
        }
        for name in planned or roots
    }


def find_used_data(about: Mapping[str, Any], rootpath: Path) -> tuple[dict[str, Path], dict[str, bool]]:
    """As ``find_data``, for the data of an earlier run. ``about``: its run.json.

    Raises UsageProblem where it is missing.
    """
    if not about.get("data"):  # an earlier version wrote it
        return find_data(about["settings"].get("data") or "auto", rootpath)
    bundled, _ = find_data("mini", rootpath)  # is where this installation has it
    roots: dict[str, Path] = {}
    official: dict[str, bool] = {}
    for name, one in about["data"].items():
        if (task := known_tasks().get(name)) is None:
            continue
        root = task.data.find(Path(one["folder"])) if one["official"] else bundled[name]
        if root is None:
            raise UsageProblem(f"the data of {name} was in {one['folder']}, and is not there now; give --data=DIR")
        roots[name], official[name] = root, one["official"]
    sandbox.hide([root for name, root in roots.items() if official[name]])
    return roots, official


def refuse_other_data(run: RunFolder, about: Mapping[str, Any], roots: Mapping[str, Path]) -> None:
    """Raises UsageProblem where ``roots`` hold other data than an earlier run used. The tasks are configured."""
    used = about.get("data")
    if not used and (run.path / "summary.json").exists():  # an earlier version wrote run.json
        used = run.read_json("summary.json")["run"].get("data")
    for name, one in (used or {}).items():
        before = one.get("fingerprint")
        if name in roots and before and find_task(name).data.index(roots[name]).fingerprint != before:
            other = f"{roots[name]} holds other data of {name} than {run.path} used"
            raise UsageProblem(f"{other}; give --data=DIR with the data of that run")
