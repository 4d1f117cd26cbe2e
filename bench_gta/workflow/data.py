"""GTA-Workflow's official files: end.json, toolmeta.json and the attached files
(docs/benchmarks/gta_workflow.md#data)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from agentgauge.core.errors import DataProblem
from agentgauge.core.index import Entry, Index, Row, build_index
from agentgauge.core.text import parse_json, read_text
from agentgauge.core.tools import Tool
from agentgauge.core.types import Json, Sample
from agentgauge.data.differences import Differences
from bench_gta import layout
from bench_gta.atomic.data import (
    Resolved,
    absolute_turn,
    check_key,
    check_path,
    first_function,
    problem_in,
    read_sample,
    require,
    tool_of,
)
from bench_gta.tools import WORKFLOW_CATEGORIES, WORKFLOW_CATEGORY_OF
from bench_gta.workflow import tree

DATASET = "end.json"
TOOLMETA = "toolmeta.json"

CATEGORIES_OF_TASKS: Mapping[str, str] = {
    "Data Analysis": "data_analysis",
    "Education & Instruction": "education_instruction",
    "Planning & Decision": "planning_decision",
    "Creative Design": "creative_design",
    "Marketing Strategy": "marketing_strategy",
    "Retrieval & QA": "retrieval_qa",
}
"""``workflow_category_6class`` → keyword."""


@dataclass(frozen=True, slots=True)
class LoadedTask(Resolved):
    """A task as upstream's loader leaves it: every tool of the data set, the task's files, its checkpoint tree."""

    full_tree: Json


def index(root: Path) -> Index:
    """The tasks below ``root``, in the order of the file. Raises DataProblem, naming the record and the field. Keywords
    of a task: its own tools, their categories, the task's category, ``files_<kind>`` and ``leaves_<n>``."""
    root, differences = root.absolute(), Differences("task")
    read_tools(root)  # any error in it is reported, though no task refers to it
    return build_index(
        [root / DATASET, root / TOOLMETA],
        lambda file: entries(file, differences),
        lambda entry: _describe(root, entry),
        differences=differences.sentences,
        key="gta_workflow",
    )


def entries(file: Path, differences: Differences | None = None) -> Iterator[Entry]:
    """The tasks of an end.json in the official layout, and how they differed from it. Raises DataProblem."""
    return layout.official_entries(file, file.parent, layout.workflow, differences)


def load(index: Index, row: Row, task: str) -> Sample:
    """Read one task."""
    return read_sample(index, row, task, layout.workflow)


def require_files(sample: Sample) -> None:
    """Raises Fault where an attached file is gone since the index was made."""
    require(sample.root, [used["path"] for used in files_of(sample.payload)])


def files_of(task: Mapping[str, Json]) -> list[dict[str, Json]]:
    """A task's attached files: its ``files``; where that field is missing, the ``resources`` of the first turn. Entries
    without a path are dropped (docs/benchmarks/gta_workflow.md#tasks)."""
    listed = task["files"] if "files" in task else _resources_of(task)
    return [used for used in listed or [] if isinstance(used, dict) and used.get("path")]


def tools_of(task: Mapping[str, Json]) -> list[str]:
    """Names of the tools that a task relates to; they are given as texts or as objects with a ``name``."""
    listed = task.get("tools") or []
    names = [tool.get("name") if isinstance(tool, Mapping) else tool for tool in listed]
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def offered_tools(index: Index, row: Row) -> tuple[str, ...]:
    """Names of all tools: every task offers the whole set (docs/benchmarks/gta_workflow.md#protocol)."""
    return tuple(read_tools(index.root))


def categories_of(task: Mapping[str, Json]) -> list[str]:
    """Every tool category that a task touches, in the table's order
    (docs/benchmarks/gta_workflow.md#category-figures)."""
    touched = {WORKFLOW_CATEGORY_OF[name] for name in tools_of(task) if name in WORKFLOW_CATEGORY_OF}
    return [category for category in WORKFLOW_CATEGORIES if category in touched]


def resolve(sample: Sample, root: str | None = None) -> LoadedTask:
    """The task with its paths made absolute (docs/benchmarks/gta_workflow.md#data).

    ``root`` is the text that stands for the data set's folder, by default its absolute path; whether a file exists is
    looked up in the real folder either way. Resources are all tools of toolmeta.json, then the task's files. As
    upstream, a folder without toolmeta.json gives no tools; ``index`` refuses such a folder, so that no run comes to
    that.
    """
    root = str(sample.root) if root is None else root
    task = sample.payload
    tools = read_tools(sample.root) if (sample.root / TOOLMETA).is_file() else ()
    resources: list[dict[str, Json]] = [{"type": "tool", "name": name} for name in tools]
    resources += [
        {"type": "file", "filetype": used.get("type"), "path": f"{root}/{os.path.normpath(used['path'])}"}
        for used in files_of(task)
    ]
    dialogs = [absolute_turn(turn, sample.root, root) for turn in task.get("dialogs") or []]
    return LoadedTask(dialogs, resources, task.get("sub_tasks", []))


@lru_cache(maxsize=8)
def read_tools(root: Path) -> Mapping[str, Tool]:
    """toolmeta.json: the tools by name, in the order of the file. Raises DataProblem, also where the file is missing.

    It is an object from name to description, or a list of objects (named by ``name``, ``tool_name`` or ``id``) and of
    plain names; objects without a name are dropped (docs/benchmarks/gta_workflow.md#tool-descriptions).
    """
    file = root / TOOLMETA
    meta = read_toolmeta(root)
    if isinstance(meta, list):
        entries = [entry for entry in map(_listed, meta) if entry]
    else:
        named = {name: {"name": name, **tool} if isinstance(tool, dict) else tool for name, tool in meta.items()}
        entries = [Entry(name, tool) for name, tool in named.items()]
    return {entry.key: tool_of(file, entry) for entry in entries}


def read_toolmeta(root: Path) -> Json:
    """toolmeta.json as it is: an object or a list. Raises DataProblem."""
    file = root / TOOLMETA
    try:
        meta = parse_json(read_text(file))
    except FileNotFoundError:
        # upstream goes on without any tool; that is never what a user wants (docs/benchmarks/gta_workflow.md#loading)
        give = "give a folder with the data set in its official layout (--data)"
        raise DataProblem(f"{file} does not exist; {give}") from None
    except OSError as error:
        check = "check the path and its permissions"
        raise DataProblem(f"{file} cannot be read: {error.strerror or error}; {check}") from None
    except ValueError as error:
        raise DataProblem(f"{file} is damaged: {error}; get the file again") from None
    if not isinstance(meta, dict | list):
        raise DataProblem(f"{file} must hold an object of tools by name or a list of tools, not {type(meta).__name__}")
    return meta


def strange(root: Path) -> list[str]:
    """Oddities of valid data below ``root``, one sentence each. Raises DataProblem for an unreadable file."""
    file, known = root / DATASET, read_tools(root)
    return [f"{file}: task {entry.key!r}: {what}" for entry in entries(file) for what in _oddities(entry.value, known)]


def _oddities(task: Mapping[str, Json], known: Mapping[str, Tool]) -> list[str]:
    odd = []
    files = {str(used["path"]) for used in files_of(task)}
    resources = {str(used.get("path")) for used in _resources_of(task) if isinstance(used, Mapping)}
    if resources and files != resources:
        odd.append("'files' and the first turn's 'resources' name different files; 'files' are used")
    if dropped := len(task.get("files") or []) - len(files_of(task)):
        odd.append(f"entries of 'files' without a path: {dropped}; they are dropped")
    if unknown := [name for name in tools_of(task) if name not in known]:
        odd.append(f"'tools' names {', '.join(map(repr, unknown))}, not in {TOOLMETA}")
    if (category := task.get("workflow_category_6class")) is not None and str(category) not in CATEGORIES_OF_TASKS:
        odd.append(f"the category {category!r} is unknown; known are {', '.join(CATEGORIES_OF_TASKS)}")
    return odd


def _listed(tool: Json) -> Entry | None:
    """A tool of a list-shaped toolmeta.json; None without a name."""
    described = tool if isinstance(tool, dict) else {"name": tool}
    name = next((described[field] for field in ("name", "tool_name", "id") if described.get(field)), None)
    return Entry(name, {**described, "name": name}) if name else None


def _resources_of(task: Mapping[str, Json]) -> list[Json]:
    dialogs = task.get("dialogs") or []
    found = dialogs[0].get("resources") if dialogs and isinstance(dialogs[0], Mapping) else None
    return found if isinstance(found, list) else []


# -- checking


def _describe(root: Path, entry: Entry) -> tuple[str, Sequence[str]]:
    file = root / DATASET
    task = check_key(file, entry)
    for field in ("dialogs", "files", "tools"):
        if field in task and not isinstance(task[field], list):
            raise problem_in(file, entry, field, "must be a list")
    for place, turn in enumerate(task.get("dialogs", [])):
        _check_turn(file, entry, f"dialogs[{place}]", turn)
    if not any(turn["role"] == "user" for turn in task.get("dialogs", [])):
        raise problem_in(file, entry, "dialogs", "must hold a user turn")
    for place, used in enumerate(files_of(task)):
        if not isinstance(used["path"], str):
            raise problem_in(file, entry, f"files[{place}].path", "must be a string")
        check_path(root, file, entry, f"files[{place}].path", used["path"])
    try:
        root_node = tree.parse(task.get("sub_tasks", []))
        tree.check_weights(root_node)
    except DataProblem as problem:
        raise problem_in(file, entry, "sub_tasks", str(problem)) from None
    return entry.key, _tags(task, len(tree.leaves(root_node)))


def _check_turn(file: Path, entry: Entry, field: str, turn: Json) -> None:
    if not isinstance(turn, dict) or turn.get("role") not in ("system", "user", "assistant", "tool"):
        raise problem_in(file, entry, field, "must be an object with the role system, user, assistant or tool")
    if turn["role"] == "user" and not isinstance(turn.get("content"), str):
        raise problem_in(file, entry, f"{field}.content", "must be a string")
    if (calls := turn.get("tool_calls")) and "arguments" not in first_function(calls):
        raise problem_in(file, entry, f"{field}.tool_calls[0]", "must hold a function with 'name' and 'arguments'")


def _tags(task: Mapping[str, Json], leaves: int) -> list[str]:
    category = CATEGORIES_OF_TASKS.get(str(task.get("workflow_category_6class")))
    kinds = [f"files_{kind}" for kind in map(_kind_of, files_of(task)) if kind]
    tags = [*tools_of(task), *categories_of(task), *([category] if category else []), *kinds, f"leaves_{leaves}"]
    return list(dict.fromkeys(tags))


def _kind_of(used: Mapping[str, Json]) -> str:
    """``xlsx``: a file's type, or its suffix where the type is missing."""
    kind = used.get("type") or Path(used["path"]).suffix
    return re.sub(r"[^a-z0-9]+", "_", str(kind).lower()).strip("_")
