"""Merges the shards of one run. The new folder holds what one run without shards would have left."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import open_plain
from agentgauge.core.index import Index
from agentgauge.core.registry import Registry
from agentgauge.core.task import Task
from agentgauge.core.text import digest
from agentgauge.core.tools import not_ready, united, without_devices
from agentgauge.data.find import find_data, find_used_data
from agentgauge.replies.stages import Stages
from agentgauge.run.hooks import ask_installed
from agentgauge.run.merging import Merging
from agentgauge.store import RunFolder
from agentgauge.store.folder_lock import FolderLock
from agentgauge.store.jsonl import CaseId, CaseOutline
from agentgauge_reports.load import RunFiles, plain_file, refuse_odd_files, unknown_tasks
from agentgauge_reports.run import sum_up

SAME = ("model", "model_fingerprint", "dialect", "scoring", "attempts", "agentgauge")
"""Keys of a summary's ``run`` that shards share."""
SAME_BY_NAME = ("data", "prompts", "options")
"""Keys whose common entries must be the same in all shards."""


class ShardFolder:
    """A run's folder, read."""

    def __init__(self, path: Path) -> None:
        self.folder = RunFolder(path)
        self.about: Mapping[str, Any] = self.folder.read_json("run.json")
        self.summary: Mapping[str, Any] = self.folder.read_json("summary.json")
        self.plan: Mapping[CaseId, str] = self.folder.plan()
        self.stages = Stages(self.folder)
        self.sources = [self.folder, RunFolder(RunFiles(path, self.about).folder)]
        """Folders with the files of tools: this run's, or that of the run that this one scored again."""
        self.has_files = any((source.path / "files").exists() for source in self.sources)

    def files(self, case: CaseId) -> Path:
        """The files that tools produced for a case."""
        for source in self.sources:
            if (place := source.files(*case)).exists():
                refuse_odd_files(source.path, place)
                return place
        return place


def merge(runs: Sequence[Path], out: Path, data: str | None = None, *, tasks: Registry) -> dict[str, Any]:
    """Write the run folder ``out`` from shards of one run, and return its summary.

    A case that several shards have is taken once: a finished one before a broken one, then the latest. ``data``: the
    folder of the data set, if it has moved since the first shard. ``tasks``: all that are known. Raises UsageProblem,
    with the difference, for runs that differ in settings, and what plugins raise, such as where a shard is missing.
    """
    with ExitStack() as stack:
        for path in dict.fromkeys(path.resolve() for path in runs):
            stack.enter_context(FolderLock(path, shared=True))
        merging = Merging({path: RunFolder(path).read_json("run.json") for path in runs})
        ask_installed("pytest_agentgauge_merge", merging=merging)
        if len(runs) < 2 and not merging.whole:
            raise UsageProblem(f"merge needs two runs or more and got {len(runs)}; name the folders of the shards")
        shards = [ShardFolder(path) for path in runs]
        try:
            hold = stack.enter_context(FolderLock(out))
        except OSError as error:
            raise UsageProblem(f"{out} cannot be made ({error.strerror}); name another folder") from None
        return _merge(shards, RunFolder(out), hold, data, tasks, merging)


def _merge(
    shards: Sequence[ShardFolder],
    target: RunFolder,
    hold: FolderLock,
    data: str | None,
    tasks: Registry,
    merging: Merging,
) -> dict[str, Any]:
    for shard in shards:
        for sentence in unknown_tasks(shard.folder, shard.summary, tasks).values():
            raise UsageProblem(sentence)
    for other in shards[1:]:
        if found := next(_differences(shards[0], other, tasks), None):
            raise UsageProblem(
                f"{shards[0].folder.path} and {other.folder.path} are not shards of one run: {found}; merge runs that"
                " agree"
            )
    target.refuse_taken()
    if not hold.is_alone:
        raise UsageProblem(f"{target.path} holds files already; name an empty folder or a new one")
    settings = shards[0].about["settings"]
    tasks = tasks.configured(settings["options"])
    united = {**shards[0].about, "data": _data(shards)}
    roots, _ = find_data(tasks, data, Path.cwd()) if data else find_used_data(tasks, united, Path.cwd())
    order = merging.whole or _tasks(shards)
    about = _about(shards, tasks, order)
    indices = _indices(shards, about["data"], roots, tasks)
    for name, index in indices.items():
        if _has_planned_samples(tasks[name]):
            about["data"][name] = {**about["data"][name], "samples": len(index.rows)}
    plan = _plan(shards, indices, order)
    outlines = [shard.folder.own_outlines() for shard in shards]
    target.create()
    _copy(shards, outlines, target, plan)
    target.write_plan(plan)
    target.write_json("run.json", _run_json(shards, len(plan)) | merging.about)
    similarity = {name: part["similarity"] for shard in shards for name, part in shard.summary["tasks"].items()}
    return sum_up(
        target,
        list(plan),
        {outline.id: outline for outline in target.outlines()},
        tasks=tasks,
        about=about,
        index_of=lambda task: indices[task.name],
        scoring=settings["scoring"],
        similarity=similarity,
        why_missing="; ".join(dict.fromkeys(filter(None, (shard.summary.get("why_missing") for shard in shards)))),
    )


def _differences(one: ShardFolder, other: ShardFolder, known: Registry) -> Iterator[str]:
    """What keeps two runs from being shards of one, a phrase each."""
    a, b = one.summary["run"], other.summary["run"]
    pairs = [(key, a[key], b[key]) for key in SAME]
    for key in SAME_BY_NAME:
        common = [
            name for name in a[key] if name in b[key] and not (key == "data" and _has_planned_samples(known[name]))
        ]
        pairs += [(f"{key} of {name}", a[key][name], b[key][name]) for name in common]
    tasks = [name for name in one.summary["tasks"] if name in other.summary["tasks"]]
    parts, others = one.summary["tasks"], other.summary["tasks"]
    pairs += [(f"similarity of {name}", parts[name]["similarity"], others[name]["similarity"]) for name in tasks]
    tools, others = (without_devices(shard.about["settings"]["tools"]) for shard in (one, other))
    pairs += [(f"the tool {name}", tools[name], others[name]) for name in tools if name in others]
    configs, others = one.about["configs"], other.about["configs"]
    pairs += [(f"the fingerprint of {name}", configs.get(name), others.get(name)) for name in tasks]
    yield from (f"{name} is {_short(left)} and {_short(right)}" for name, left, right in pairs if left != right)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "..."


def _about(shards: Sequence[ShardFolder], known: Registry, tasks: Sequence[str]) -> dict[str, Any]:
    """The ``run`` of the summary: what every shard says, and the union of what is listed by task and by tool."""
    about = dict(shards[0].summary["run"])
    options = [option.name for task in tasks for option in known[task].options]
    for key, names in (("data", tasks), ("prompts", tasks), ("options", options)):
        united = {name: value for shard in shards for name, value in shard.summary["run"][key].items()}
        about[key] = {name: united[name] for name in dict.fromkeys([*names, *united]) if name in united}
    if left_out := {
        name: one for shard in shards for name, one in shard.summary["run"].get("not_applicable", {}).items()
    }:
        about["not_applicable"] = left_out
    tools = _tools(shards)
    if about.get("limit") != _same([shard.summary["run"].get("limit") for shard in shards]):
        del about["limit"]  # shards that were chosen in several ways
    return about | {"tools": not_ready(tools), "tool_set": digest(without_devices(tools)) if tools else None}


def _data(shards: Sequence[ShardFolder]) -> dict[str, Any]:
    return {name: one for shard in shards for name, one in shard.about.get("data", {}).items()}


def _tools(shards: Sequence[ShardFolder]) -> dict[str, Any]:
    return dict(united(shard.about["settings"]["tools"] for shard in shards))


def _tasks(shards: Sequence[ShardFolder]) -> list[str]:
    """The tasks in the order that one run would have had: each has its own in that order, which may leave it open."""
    orders = [list(dict.fromkeys(task for task, _, _ in shard.plan)) for shard in shards]
    before: TopologicalSorter[str] = TopologicalSorter()
    for order in orders:
        for place, task in enumerate(order):
            before.add(task, *order[max(place - 1, 0) : place])
    try:
        return list(before.static_order())
    except CycleError:  # the shards got their files in different orders
        return list(dict.fromkeys(task for order in orders for task in order))


def _has_planned_samples(task: Task) -> bool:
    """Whether the samples of a task are what its run has planned, as a project's own tests are."""
    return task.data.in_run_folder


def _united(shards: Sequence[ShardFolder], task: Task) -> Index:
    """What the shards have planned of a task, in their order."""
    found = [task.data.index(shard.folder.path) for shard in shards]
    rows = {row.id: row for index in found for row in index.rows}
    return replace(found[0], rows=tuple(replace(row, position=place) for place, row in enumerate(rows.values())))


def _indices(
    shards: Sequence[ShardFolder], about: Mapping[str, Any], roots: Mapping[str, Path], tasks: Registry
) -> dict[str, Index]:
    """The data that the shards used. Raises UsageProblem where it is not there, or is another by now."""
    indices = {}
    for name, index in about.items():
        if _has_planned_samples(tasks[name]):
            indices[name] = _united(shards, tasks[name])
            continue
        if name not in roots:
            raise UsageProblem(f"the data of {name} is not found; give --data as in the runs")
        indices[name] = tasks[name].data.index(roots[name])
        if indices[name].fingerprint != index["fingerprint"]:
            raise UsageProblem(
                f"{roots[name]} holds other data of {name} than the runs used; give --data as in the runs"
            )
    return indices


def _plan(shards: Sequence[ShardFolder], indices: Mapping[str, Index], order: Sequence[str]) -> dict[CaseId, str]:
    """All planned cases with their node ids: by task, then by place in the data set, then by attempt."""
    tasks = {name: number for number, name in enumerate(order)}
    places = {name: {row.id: row.position for row in index.rows} for name, index in indices.items()}
    united = {case: node for shard in shards for case, node in shard.plan.items()}

    def place(case: CaseId) -> tuple[int, int, int]:
        task, sample, attempt = case
        if sample not in places[task]:
            raise UsageProblem(
                f"the data of {task} has no sample {sample!r}, which a run has; give --data as in the runs"
            )
        return tasks[task], places[task][sample], attempt

    return {case: united[case] for case in sorted(united, key=place)}


def _copy(
    shards: Sequence[ShardFolder],
    outlines: Sequence[Mapping[CaseId, CaseOutline]],
    target: RunFolder,
    plan: Iterable[CaseId],
) -> None:
    """The best record of every case, and the files that belong to it."""
    chosen: dict[CaseId, tuple[ShardFolder, CaseOutline]] = {}
    for shard, own in zip(shards, outlines, strict=True):
        for case, line in own.items():
            if case not in chosen or line.rank > chosen[case][1].rank:
                chosen[case] = (shard, line)
    for number, shard in enumerate(shards, 1):
        for file in sorted(shard.folder.outside.glob("*.jsonl")):
            _copy_file(file, target.outside / f"{number}-{file.name}")
        said = shard.folder.own_allure
        for file in sorted(said.glob("*")):
            if plain_file(shard.folder.path, f"{said.name}/{file.name}", said.name):
                _copy_file(file, target.own_allure / file.name)
    known = [case for case in plan if case in chosen]
    target.write_records([chosen[case][1] for case in known + sorted(chosen.keys() - set(known))])
    stages = Stages(target)
    for case, (shard, outline) in chosen.items():
        if shard.has_files:
            _link(shard.files(case), target.files(*case))
        if outline.status not in ("passed", "wrong"):
            stages.take(shard.stages, case, shard.about["configs"].get(case[0], ""))
    for one in (stages, *(shard.stages for shard in shards)):
        one.close()


def _copy_file(source: Path, target: Path) -> None:
    """Raises UsageProblem for what is no plain file."""
    target.parent.mkdir(exist_ok=True)
    with open_plain(source) as stream, target.open("wb") as copy:
        shutil.copyfileobj(stream, copy)


def _link(source: Path, target: Path) -> None:
    """Hard links are safe, since a case that runs again writes new files. Copies where the disk cannot link."""
    if source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, copy_function=_link_file)
    elif source.exists():
        _link_file(str(source), str(target))


def _link_file(source: str, target: str) -> str:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # another disk, or one without hard links
        shutil.copy2(source, target, follow_symlinks=False)
    return target


def _run_json(shards: Sequence[ShardFolder], planned: int) -> dict[str, Any]:
    ended = [shard.about["finished"] for shard in shards]
    first = shards[0].about
    return {
        **first,
        "revisions": {name: _same([_revision(shard, name) for shard in shards]) for name in ("agentgauge", "project")},
        "settings": {
            **first["settings"],
            "tools": _tools(shards),
            "limit": _same([shard.about["settings"].get("limit") for shard in shards]),
        },
        "data": _data(shards),
        "selection": {},
        "rescore": None,  # the files are here now
        "configs": dict(sorted((name, config) for shard in shards for name, config in shard.about["configs"].items())),
        "planned": planned,
        "started": min(shard.about["started"] for shard in shards),
        "finished": None if None in ended else max(ended),
        "merged": [shard.folder.path.name for shard in shards],
    }


def _revision(shard: ShardFolder, name: str) -> Any:
    return shard.about.get("revisions", {}).get(name)  # earlier versions did not know it


def _same(values: Sequence[Any]) -> Any:
    """The value where all are the same, else None."""
    return values[0] if all(value == values[0] for value in values) else None
