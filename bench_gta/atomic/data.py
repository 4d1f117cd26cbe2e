"""GTA-Atomic's official files: dataset.json, toolmeta.json and the pictures (docs/benchmarks/gta_atomic.md#data)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentgauge.core.errors import DataProblem, Fault
from agentgauge.core.index import Entry, Index, Row, build_index, object_entries
from agentgauge.core.task import DataSource
from agentgauge.core.text import parse_json
from agentgauge.core.tools import Tool
from agentgauge.core.types import Json, Sample
from agentgauge.data.differences import Differences
from bench_gta import layout
from bench_gta.tools import CATEGORIES, CATEGORY_OF

DATASET = "dataset.json"
TOOLMETA = "toolmeta.json"


@dataclass(frozen=True, slots=True)
class Resolved:
    """A sample of either half of GTA-2 as upstream's loader leaves it, with absolute paths."""

    dialogs: list[dict[str, Json]]
    resources: list[dict[str, Json]]  # tools in the order of the prompt, then files

    @property
    def tool_names(self) -> list[str]:
        return [resource["name"] for resource in self.resources if resource["type"] == "tool"]

    @property
    def files(self) -> list[str]:
        """Absolute paths."""
        return [resource["path"] for resource in self.resources if resource["type"] == "file"]


@dataclass(frozen=True, slots=True)
class Loaded(Resolved):
    """A sample of GTA-Atomic."""

    gt_answer: Json


class AtomicData(DataSource):
    name = "gta_atomic"
    folders = ("gta_dataset",)
    files = (DATASET, TOOLMETA)
    bundled = Path(__file__).with_name("mini")

    def index(self, root: Path) -> Index:
        return index(root)

    def load(self, index: Index, row: Row, task: str) -> Sample:
        return load(index, row, task)

    def labels_of(self, row: Row) -> Sequence[str]:
        """The kind of the query, then the categories of its tools."""
        return [tag for tag in (*KINDS, *CATEGORIES) if tag in row.tags]


def index(root: Path) -> Index:
    """The samples below ``root``, in the order of the file. Raises DataProblem, naming the record and the field."""
    root, differences = root.absolute(), Differences()
    return build_index(
        [root / DATASET, root / TOOLMETA],
        lambda file: _official(file, root, differences),
        lambda entry: _describe_in(root, entry),
        differences=differences.sentences,
        key="gta_atomic",
    )


def references(dataset: Path) -> list[tuple[str, Json]]:
    """Key and gt_answer of every sample, by position: all that is needed to score a prediction file."""
    return [(_check(dataset, entry), entry.value.get("gt_answer")) for entry in _official(dataset, dataset.parent)]


def load(index: Index, row: Row, task: str) -> Sample:
    """Read one sample."""
    return read_sample(index, row, task, layout.atomic)


def read_sample(index: Index, row: Row, task: str, official: Callable[[Json, Path], tuple[Json, list[str]]]) -> Sample:
    """Read one sample, in the official layout."""
    payload, _ = official(parse_json(row.text), index.root)
    return Sample(row.id, task, row.tags, payload, index.root, row.position)


def offered_tools(index: Index, row: Row) -> tuple[str, ...]:
    """Names of the tools that a sample offers, those that have a category."""
    return tuple(tag for tag in row.tags if tag in CATEGORY_OF)


def categories_of(tags: Sequence[str]) -> str:
    """The categories among a sample's keywords: ``perception + logic``."""
    return " + ".join(name for name in CATEGORIES if name in tags)


def _official(file: Path, root: Path, differences: Differences | None = None) -> Iterator[Entry]:
    """The samples in the official layout."""
    return layout.official_entries(file, root, layout.atomic, differences)


def require_files(sample: Sample) -> None:
    """Raises Fault if a picture of the sample has disappeared since the index was made, because the missing file would
    count against the model.
    """
    require(sample.root, [used["path"] for used in sample.payload["files"]])


def require(root: Path, paths: Sequence[str]) -> None:
    """Raises Fault if one of the files, relative to ``root``, is missing."""
    for path in paths:
        if not (root / path).is_file():
            raise Fault(f"the file {path!r} is missing below {root}; put it back", cause="missing file")


@lru_cache(maxsize=8)
def read_tools(root: Path) -> Mapping[str, Tool]:
    """toolmeta.json: the tools by name. Raises DataProblem."""
    file = root / TOOLMETA
    return {entry.key: tool_of(file, entry) for entry in object_entries(file)}


def resolve(sample: Sample, root: str | None = None) -> Loaded:
    """The sample with its paths made absolute (docs/benchmarks/gta_atomic.md#paths).

    ``root`` is the text that stands for the data set's folder, by default its absolute path; whether a file exists is
    looked up in the real folder either way. Only top-level text arguments of the first call of a turn are resolved,
    and only if the joined text is exactly the path of a file: ``./image/a.png`` stays as it is, and so do tool turns.
    """
    root = str(sample.root) if root is None else root
    payload = sample.payload
    resources: list[dict[str, Json]] = [{"type": "tool", "name": tool["name"]} for tool in payload["tools"]]
    resources += [
        {"type": "file", "filetype": f["type"], "path": f"{root}/{os.path.normpath(f['path'])}"}
        for f in payload["files"]
    ]
    dialogs = [absolute_turn(turn, sample.root, root) for turn in payload["dialogs"]]
    return Loaded(dialogs, resources, payload.get("gt_answer"))


def in_data_set(root: Path, path: str) -> bool:
    """Whether ``path`` is written just as a list of all files below ``root`` would have it."""
    return all(part not in ("", ".", "..") for part in path.split("/")) and os.path.isfile(f"{root}/{path}")  # noqa: PTH113 - never raises


def absolute_turn(turn: Mapping[str, Json], folder: Path, root: str) -> dict[str, Json]:
    """A turn of a dialog as it is loaded: a tool's with three fields only, a call's file arguments as ``root/path``.
    Arguments that are no object are left alone."""
    if turn["role"] == "tool":
        return {"role": "tool", "name": turn.get("name"), "content": turn.get("content")}
    if not turn.get("tool_calls"):
        return dict(turn)
    first, *others = turn["tool_calls"]
    given = first["function"]["arguments"]
    if not isinstance(given, Mapping):
        return dict(turn)
    arguments = {
        name: f"{root}/{value}" if isinstance(value, str) and in_data_set(folder, value) else value
        for name, value in given.items()
    }
    return {**turn, "tool_calls": [{**first, "function": {**first["function"], "arguments": arguments}}, *others]}


def user_turns(turns: Sequence[Mapping[str, Json]]) -> list[tuple[str, list[Json]]]:
    """Every user turn's text, and the turns that answer it. Turns before the first user turn are left out."""
    parts: list[tuple[str, list[Json]]] = []
    for turn in turns:
        if turn["role"] == "user":
            parts.append((turn["content"], []))
        elif parts:
            parts[-1][1].append(turn)
    return parts


# -- checking


def _describe_in(root: Path, entry: Entry) -> tuple[str, Sequence[str]]:
    file = root / DATASET
    key = _check(file, entry)
    tools, offered = read_tools(root), [tool["name"] for tool in entry.value["tools"]]
    for place, name in enumerate(offered):
        if name not in tools:
            raise problem_in(file, entry, f"tools[{place}].name", f"the tool {name!r} is not in {TOOLMETA}")
    for place, used in enumerate(entry.value["files"]):
        check_path(root, file, entry, f"files[{place}].path", used["path"])
    return key, _tags(entry.value, offered)


def _tags(sample: Mapping[str, Any], offered: Sequence[str]) -> list[str]:
    """Tool names, categories in the table's order, the kind of answer, and how many tools and assistant turns."""
    categories = {CATEGORY_OF[name] for name in offered if name in CATEGORY_OF}
    steps = sum(turn["role"] == "assistant" for turn in sample["dialogs"])
    counts = (f"tools_{len(offered)}", f"steps_{steps}")
    return [*offered, *(name for name in CATEGORIES if name in categories), kind_of(sample.get("gt_answer")), *counts]


KINDS = ("objective", "subjective", "image_generation")


def kind_of(reference: Json) -> str:
    """The kind of a query, determined by its reference answer (docs/benchmarks/gta_atomic.md#reference-answers)."""
    if not reference:
        return "image_generation"
    return "objective" if isinstance(reference, Mapping) else "subjective"


def check_key(file: Path, entry: Entry) -> dict[str, Json]:
    """The record itself, once its key is a whole number and it is an object. Raises DataProblem."""
    try:
        int(entry.key)
    except ValueError:
        accepted = "must be an integer written as a string, such as '0'"
        raise DataProblem(f"{file}: the key {entry.key!r} {accepted}") from None
    if not isinstance(entry.value, dict):
        raise problem_in(file, entry, "", f"must be an object, not {type(entry.value).__name__}")
    return entry.value


def check_path(root: Path, file: Path, entry: Entry, field: str, path: str) -> None:
    """Raises DataProblem unless ``path`` is that of a file below ``root``, written relative to it."""
    if os.path.isabs(path) or ".." in Path(path).parts:  # noqa: PTH117
        raise problem_in(file, entry, field, f"{path!r} must be a path relative to the data set's folder and below it")
    if not (root / path).is_file():
        raise problem_in(file, entry, field, f"the file {path!r} is missing below {root}")


def _check(file: Path, entry: Entry) -> str:
    """Check a sample's own shape and return its key. Raises DataProblem."""
    sample = check_key(file, entry)
    for field in ("tools", "files", "dialogs"):
        if not isinstance(sample.get(field), list):
            raise problem_in(file, entry, field, "must be a list")
    for place, tool in enumerate(sample["tools"]):
        if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
            raise problem_in(file, entry, f"tools[{place}]", "must be an object with a text 'name'")
    for place, used in enumerate(sample["files"]):
        if not isinstance(used, dict) or not isinstance(used.get("path"), str) or not isinstance(used.get("type"), str):
            raise problem_in(file, entry, f"files[{place}]", "must be an object with the texts 'type' and 'path'")
    for place, turn in enumerate(sample["dialogs"]):
        _check_turn(file, entry, f"dialogs[{place}]", turn)
    if not any(turn["role"] == "user" for turn in sample["dialogs"]):
        raise problem_in(file, entry, "dialogs", "must hold a user turn")
    _check_reference(file, entry, sample.get("gt_answer"))
    return entry.key


def _check_turn(file: Path, entry: Entry, field: str, turn: Json) -> None:
    if not isinstance(turn, dict) or turn.get("role") not in ("user", "assistant", "tool"):
        raise problem_in(file, entry, field, "must be an object with the role user, assistant or tool")
    if turn["role"] == "user" and not isinstance(turn.get("content"), str):
        raise problem_in(file, entry, f"{field}.content", "must be a string")
    content = turn.get("content")
    result = isinstance(content, dict) and isinstance(content.get("content"), str) and content.get("type")
    if turn["role"] == "tool" and content and not result:
        raise problem_in(file, entry, f"{field}.content", "must be an object with 'type' and the text 'content'")
    if turn["role"] != "assistant":
        return
    calls = turn.get("tool_calls")
    if not calls:
        if not isinstance(content, str):
            raise problem_in(file, entry, field, "must hold 'tool_calls' or a text 'content'")
        return
    function = first_function(calls)
    if not isinstance(function.get("name"), str) or not isinstance(function.get("arguments"), dict):
        rule = "must hold a function with a text 'name' and an object 'arguments'"
        raise problem_in(file, entry, f"{field}.tool_calls[0]", rule)


def first_function(calls: Json) -> dict[str, Json]:
    """The function of the first call; empty where there is none."""
    first = calls[0] if isinstance(calls, list) and calls else None
    function = first.get("function") if isinstance(first, dict) else None
    return function if isinstance(function, dict) else {}


def _check_reference(file: Path, entry: Entry, reference: Json) -> None:
    if not reference:
        return
    if isinstance(reference, dict):
        wanted = reference.get("whitelist")
        if not _groups(wanted) or not _groups(reference.get("blacklist") or []):
            rule = "must hold a 'whitelist' of lists of texts, and as 'blacklist' the same or null"
            why = "; this one is flat: say which of its texts are aliases of one another" if _texts(wanted) else ""
            raise problem_in(file, entry, "gt_answer", rule + why)
    elif not _texts(reference):
        raise problem_in(file, entry, "gt_answer", "must be an object with a 'whitelist', a list of texts, or null")


def _groups(value: Json) -> bool:
    return isinstance(value, list) and all(map(_texts, value))


def _texts(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def tool_of(file: Path, entry: Entry) -> Tool:
    """A tool of an object-shaped toolmeta.json. Raises DataProblem."""
    try:
        tool = Tool.from_json(entry.value)
    except DataProblem as problem:
        raise DataProblem(f"{file}: the tool {entry.key!r}: {problem}") from None
    if tool.name != entry.key:
        inside = f"has the other name {tool.name!r} inside; both must be the same"
        raise DataProblem(f"{file}: the tool {entry.key!r} {inside}")
    return tool


def problem_in(file: Path, entry: Entry, field: str, what: str) -> DataProblem:
    """A problem that names the record and the field; an empty field names the record alone."""
    where = f"{file}: sample {entry.key!r}" + (f", {field}" if field else "")
    return DataProblem(f"{where}: {what}")
