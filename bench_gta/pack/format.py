"""The file of an eval pack: read, checked and written (GTA-Workflow spec 6.1)."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from agentgauge.core.errors import DataProblem
from agentgauge.core.text import parse_json
from agentgauge.core.types import Json
from bench_gta.pack.atomic_write import write_json

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class DataSet:
    """The task set that a pack was made from."""

    name: str  # for people
    fingerprint: str  # of every task's id, request and tree


@dataclass(frozen=True, slots=True)
class PackTask:
    """The result of an agent app on one task."""

    task_id: int
    sample_idx: int  # from 1
    origin_prompt: Json  # a list of texts, one a turn; or a text; None if absent
    assistant_outputs: Json  # a list of turns, each a list of steps; other shapes occur (select_trace)
    attached_files: tuple[str, ...]  # relative to the pack's base folder, or absolute
    full_tree: Json
    meta: Mapping[str, Json] = field(default_factory=dict)  # elapsed_sec, usd ...


@dataclass(frozen=True, slots=True)
class Pack:
    """A whole pack. ``base`` is resolved; ``sha1`` is that of the file, empty for a pack that is not written yet."""

    tasks: tuple[PackTask, ...]
    base: Path
    data: DataSet | None = None  # None: the pack does not say
    generated_from: Mapping[str, Json] = field(default_factory=dict)
    path: Path | None = None
    sha1: str = ""


def read_pack(path: Path, base: Path | None = None) -> Pack:
    """Read a pack. Raises DataProblem, with task and field, for content that breaks GTA-Workflow spec 6.1.

    ``base``: the folder that relative paths start from. Without it, the folder that the pack names, which must lie in
    the pack's own folder, because the author of a pack must not show other files of this machine to a judge. A pack
    that names none starts from its own folder (upstream goes one level too high there).
    """
    try:
        content = path.read_bytes()
        value = parse_json(content)
    except OSError as error:
        give = "give the file that `agentgauge pack create` wrote"
        raise DataProblem(f"the pack {path} cannot be read ({error.strerror}); {give}") from None
    except ValueError as error:
        raise DataProblem(f"the pack {path} is not valid JSON: {error}; make it again") from None
    reader = _Reader(path)
    top = reader.of(value, "the pack", dict, "an object")
    version = top.get("schema_version")
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise DataProblem(f"{path}: schema_version is {version!r}; accepted is {SCHEMA_VERSION}")
    tasks = reader.of(top.get("tasks"), "tasks", list, "a list")
    read = tuple(reader.task(task, position) for position, task in enumerate(tasks))
    ids = Counter(task.task_id for task in read)
    if repeated := [task_id for task_id, times in ids.items() if times > 1]:
        raise DataProblem(f"{path}: task {repeated[0]} is there twice; keep one of the two")
    return Pack(
        tasks=read,
        base=_base(path, reader.of(top.get("base_dir", "."), "base_dir", str, "a text"), base),
        data=reader.data(top.get("data")),
        generated_from=reader.of(top.get("generated_from", {}), "generated_from", dict, "an object"),
        path=path,
        sha1=hashlib.sha1(content, usedforsecurity=False).hexdigest(),
    )


def write_pack(path: Path, pack: Pack) -> None:
    """Write a pack in one step. Its base folder is written relative to it, so that both can be moved together."""
    names = [field.name for field in fields(PackTask)]
    value: dict[str, Json] = {
        "schema_version": SCHEMA_VERSION,
        "base_dir": os.path.relpath(pack.base, path.absolute().parent.resolve()),
        "generated_from": dict(pack.generated_from),
        "tasks": [{name: getattr(task, name) for name in names} for task in pack.tasks],
    }
    if pack.data:
        value["data"] = asdict(pack.data)
    write_json(path, value)


def lies_beside(path: Path, base: Path) -> bool:
    """Whether a base folder lies in the folder of its pack, and so needs no ``--base-dir``."""
    return base.resolve().is_relative_to(path.absolute().parent.resolve())


def select_trace(outputs: Json) -> Json:
    """The turn that the released scorer judges: the first one (GTA-Workflow spec 6.2). A list whose first item is a
    list holds turns; anything else is the trace itself. Later turns are lost, which is kept under ``parity`` only."""
    return outputs[0] if isinstance(outputs, list) and outputs and isinstance(outputs[0], list) else outputs


def _base(path: Path, named: str, given: Path | None) -> Path:
    chosen = given if given is not None else path.absolute().parent / named
    resolved = chosen.resolve()
    if not resolved.is_dir():
        give = "give the folder that its files lie in with --base-dir"
        raise DataProblem(f"{path}: the base folder {chosen} is not there; {give}")
    if given is None and not lies_beside(path, resolved):
        raise DataProblem(
            f"{path}: base_dir is {named!r}, which is not in the pack's own folder; if a judge may see"
            f" its files, allow this with --base-dir {resolved}"
        )
    return resolved


class _Reader:
    """Checks that name the place."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def of(self, value: Json, what: str, kind: type | tuple[type, ...], wanted: str) -> Any:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            shown = "missing" if value is None else f"{type(value).__name__} {str(value)[:60]!r}"
            raise DataProblem(f"{self._path}: {what} must be {wanted}, but is {shown}")
        return value

    def data(self, value: Json) -> DataSet | None:
        if value is None:
            return None
        value = self.of(value, "data", dict, "an object")
        return DataSet(*(self.of(value.get(name), f"data.{name}", str, "a text") for name in ("name", "fingerprint")))

    def task(self, value: Json, position: int) -> PackTask:
        value = self.of(value, f"tasks[{position}]", dict, "an object")
        number = self.of(value.get("task_id"), f"tasks[{position}].task_id", int, "a whole number")
        where = f"task {number}: "
        sample = self.of(value.get("sample_idx", position + 1), f"{where}sample_idx", int, "a whole number")
        if sample < 1:
            raise DataProblem(f"{self._path}: {where}sample_idx is {sample}; it counts from 1")
        if "assistant_outputs" not in value:
            lacking = "assistant_outputs is missing; give the turns, an empty list if there are none"
            raise DataProblem(f"{self._path}: {where}{lacking}")
        prompt, files = value.get("origin_prompt"), value.get("attached_files")
        if isinstance(files, str):  # one file may be given as a text; null is none (GTA-Workflow spec 6.2)
            files = [files] if files.strip() else []
        if prompt is not None and not isinstance(prompt, str):
            prompt = self._texts(prompt, f"{where}origin_prompt", "a text")
        return PackTask(
            task_id=number,
            sample_idx=sample,
            origin_prompt=prompt,
            assistant_outputs=value["assistant_outputs"],
            attached_files=tuple(self._texts([] if files is None else files, f"{where}attached_files", "a path")),
            full_tree=self.of(value.get("full_tree"), f"{where}full_tree", (list, dict), "a list of nodes or one node"),
            meta=self.of(value.get("meta", {}), f"{where}meta", dict, "an object"),
        )

    def _texts(self, value: Json, what: str, wanted: str) -> list[str]:
        items: Sequence[Json] = self.of(value, what, list, "a list")
        return [self.of(item, f"{what}[{place}]", str, wanted) for place, item in enumerate(items)]
