"""Builds the bundled data set into a folder."""

from __future__ import annotations

import inspect
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from bench_gta.workflow import rules, tree
from bench_gta.workflow.inside import media
from bundled_data.gta_workflow import campaigns, clip, gears, hall, photos, recordings, tables, teashop, tour, workshop
from bundled_data.gta_workflow.plan import NAMES, Bench, Plan
from bundled_data.gta_workflow.task import Task

TASKS: tuple[Task, ...] = (
    *workshop.TASKS,
    tour.ENERGY,
    gears.WORKSHEET,
    *hall.TASKS,
    *teashop.TASKS,
    campaigns.CAMPAIGNS,
    clip.CLIP,
)

SUFFIXES = {"photo": ".jpg", "pdf": ".pdf", "csv": ".csv", "xlsx": ".xlsx", "sound": ".wav", "video": ".mp4"}
"""First word of a maker's name → suffix of the file that it makes."""


def makers() -> dict[str, Callable[[Path], None]]:
    """What makes each attached file, by its name below ``files/``: the functions of the three modules,
    ``pdf_hall_rules``."""
    functions = [function for module in (photos, tables, recordings) for function in _functions(module)]
    named = [(*function.__name__.partition("_")[::2], function) for function in functions]
    return {f"{name}{SUFFIXES[kind]}": function for kind, name, function in named}


def build(folder: Path, scratch: Path) -> None:
    """Make the attached files, run the reference calls, and write end.json and toolmeta.json.

    ``folder/files`` is made anew. ``scratch``: a folder for what the reference calls make, below the number of each
    task. Raises ValueError where a reference call does not return what it should, or a check
    or a tree is not well-formed.
    """
    files = folder / "files"
    shutil.rmtree(files, ignore_errors=True)
    files.mkdir(parents=True)
    for name, make in makers().items():
        make(files / name)
    bench = Bench(folder)
    samples = {}
    for place, task in enumerate(TASKS):
        made = scratch / str(place)
        made.mkdir()
        samples[str(place)] = _sample(task, Plan(bench, made))
    _write(folder / "end.json", samples)
    _write(folder / "toolmeta.json", {name: bench.meta(name).to_json() for name in NAMES})


def _sample(task: Task, plan: Plan) -> dict[str, Any]:
    files = [{"type": Path(path).suffix.removeprefix("."), "path": path} for path in task.files]
    task.write(plan)
    plan.turns[0]["resources"] = files
    checkpoints = _with_looks(task.tree(), plan.folder)
    for leaf in tree.leaves(tree.parse(checkpoints)):
        rules.validate(leaf.raw["check"])
    used = [turn["name"] for turn in plan.turns if turn["role"] == "tool"]
    return {
        "workflow_category_6class": task.category,
        "tools": [name for name in NAMES if name in used],
        "files": files,
        "dialogs": plan.turns,
        "sub_tasks": checkpoints,
    }


def _with_looks(value: Any, folder: Path) -> Any:
    """A tree or a part of one, where ``resembles`` has the look of the attached file that it names."""
    if isinstance(value, list):
        return [_with_looks(part, folder) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _look(folder / part) if key == "resembles" else _with_looks(part, folder) for key, part in value.items()
    }


def _look(path: Path) -> str:
    found = (media.video if path.suffix == SUFFIXES["video"] else media.picture)(path, read=False)
    return str(found["look"])


def _functions(module: ModuleType) -> list[Callable[[Path], None]]:
    own = [
        value for value in vars(module).values() if inspect.isfunction(value) and value.__module__ == module.__name__
    ]
    return [function for function in own if function.__name__.partition("_")[0] in SUFFIXES]


def _write(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
