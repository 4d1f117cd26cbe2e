"""Layouts of GTA-Atomic's and GTA-Workflow's data that differ from the official one and can be understood.

A record in the official layout is returned unchanged. A record in a known other layout is converted to the official
one, with a sentence for each difference. The checks refuse a record that cannot be understood, such as one with a flat
whitelist of several texts, which may be one group of aliases or several groups.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from agentgauge.core.index import Entry, first_line, line_entries, list_entries, object_entries
from agentgauge.core.types import Json
from agentgauge.data.differences import Differences, from_text, mapped, replaced

ATOMIC_FIELDS = frozenset({"tools", "files", "dialogs", "gt_answer"})
WORKFLOW_FIELDS = frozenset({"dialogs", "files", "sub_tasks", "tools", "workflow_category_6class", "gt_answer"})

_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff")

Ways = list[str]
Record = dict[str, Json]


def entries(file: Path, differences: Differences | None = None) -> Iterator[Entry]:
    """The samples of a file that holds an object of them (official), a list, or one a line. Raises DataProblem.

    In a list and in lines the positions, from 0, are the keys: predictions use positions as keys, too
    (docs/benchmarks/gta_atomic.md#samples).
    """
    shape = _shape(file)
    if differences and shape != "object":
        held = "a list" if shape == "list" else "JSON Lines"
        differences.of_file(f"{file.name} holds {held} instead of an object; positions from 0 are taken as keys")
    if shape == "lines":
        return (replace(entry, key=str(place)) for place, entry in enumerate(line_entries(file)))
    return list_entries(file) if shape == "list" else object_entries(file)


def official_entries(
    file: Path, root: Path, official: Callable[[Json, Path], tuple[Json, Ways]], differences: Differences | None
) -> Iterator[Entry]:
    """The records of a file in the official layout; how they differed from it is noted in ``differences``."""
    for entry in entries(file, differences):
        value, ways = official(entry.value, root)
        if differences and ways:
            differences.of_record(entry.key, ways)
        yield replace(entry, value=value) if ways else entry


def _shape(file: Path) -> str:
    line = first_line(file)
    if line.startswith("["):
        return "list"
    # keys that are numbers: no need to read a line that may be the whole file
    if re.match(r'\{\s*("\s*-?\d+\s*"|$)', line):
        return "object"
    first = from_text(line, dict)
    return "lines" if isinstance(first, dict) and isinstance(first.get("dialogs"), list) else "object"


# -- records


def atomic(record: Json, root: Path | None = None) -> tuple[Json, Ways]:
    """A sample of GTA-Atomic. With ``root``, paths that differ from existing files by case alone are corrected."""
    ways: Ways = []
    if not isinstance(record, dict):
        return record, ways
    _name_unknown(record, ATOMIC_FIELDS, ways)
    changed = _each(record, "tools", partial(_tool, ways=ways))
    changed = _each(changed, "files", partial(_file, ways=ways, typed=True))
    changed = _each(_without_system(changed, ways), "dialogs", partial(_atomic_turn, ways=ways))
    changed = replaced(changed, "gt_answer", partial(_reference, ways=ways))
    return _with_actual_paths(changed, root, ways), ways


def workflow(record: Json, root: Path | None = None) -> tuple[Json, Ways]:
    """A task of GTA-Workflow. Tools may be names or objects there, and files without a type
    (docs/benchmarks/gta_workflow.md#tasks)."""
    ways: Ways = []
    if not isinstance(record, dict):
        return record, ways
    _name_unknown(record, WORKFLOW_FIELDS, ways)
    changed = _each(record, "files", partial(_file, ways=ways, typed=False))
    changed = _each(changed, "dialogs", partial(_calls, ways=ways))
    return _with_actual_paths(changed, root, ways), ways


def _name_unknown(record: Record, known: frozenset[str], ways: Ways) -> None:
    if record.keys() - known:
        ways += [f"the field {name!r} is unknown and not read" for name in record if name not in known]


def _each(record: Record, field: str, change: partial[Json]) -> Record:
    """With every entry of a list changed; what is no list is left to the checks."""
    return replaced(record, field, lambda value: mapped(value, change) if isinstance(value, list) else value)


def _tool(tool: Json, ways: Ways) -> Json:
    if not isinstance(tool, str):
        return tool
    ways.append("'tools' are names, read as objects with that 'name'")
    return {"name": tool}


def _file(used: Json, ways: Ways, *, typed: bool) -> Json:
    if isinstance(used, str):
        ways.append("'files' are texts, read as the paths of files")
        used = {"path": used}
    if not isinstance(used, dict) or not isinstance(used.get("path"), str):
        return used
    if typed and used.get("type") is None and used["path"].lower().endswith(_PICTURES):
        ways.append("'files' have no type, read as 'image' by the ending")
        used = {"type": "image", **{name: value for name, value in used.items() if name != "type"}}
    return used


def _without_system(record: Record, ways: Ways) -> Record:
    dialogs = record.get("dialogs")
    if not isinstance(dialogs, list):
        return record
    kept = [turn for turn in dialogs if not (isinstance(turn, dict) and turn.get("role") == "system")]
    if len(kept) == len(dialogs):
        return record
    ways.append("'dialogs' have turns of the system, left out because the prompts say what these say")
    return {**record, "dialogs": kept}


def _atomic_turn(turn: Json, ways: Ways) -> Json:
    if isinstance(turn, dict) and turn.get("role") == "tool":
        content = turn.get("content")
        if isinstance(content, str) and content:
            ways.append("results of tools are texts, read as objects of the type 'text'")
            return {**turn, "content": {"type": "text", "content": content}}
        if isinstance(content, list) and len(content) == 1:
            ways.append("results of tools are lists of one object, read as that object")
            return {**turn, "content": content[0]}
    return _calls(turn, ways)


def _calls(turn: Json, ways: Ways) -> Json:
    """Arguments given as JSON text, the way of OpenAI's interface, become objects."""
    if not isinstance(turn, dict) or not isinstance(turn.get("tool_calls"), list):
        return turn
    return _each(turn, "tool_calls", partial(_call, ways=ways))


def _call(call: Json, ways: Ways) -> Json:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
        return call
    changed = replaced(function, "arguments", lambda value: from_text(value, dict))
    if changed is function:
        return call
    ways.append("arguments of calls are JSON texts, read as objects")
    return {**call, "function": changed}


def _reference(reference: Json, ways: Ways) -> Json:
    if not isinstance(reference, dict):
        return reference
    changed = reference
    for field in ("whitelist", "blacklist"):
        changed = replaced(changed, field, partial(_groups, field=f"gt_answer.{field}", ways=ways))
    if "whitelist" in reference and "blacklist" not in reference:
        ways.append("'gt_answer' has no 'blacklist', read as null")
        changed = {**changed, "blacklist": None}
    return changed


def _groups(groups: Json, field: str, ways: Ways) -> Json:
    """One text stands for one group of one alias, and numbers among aliases for their texts. How the aliases of a
    blacklist are grouped makes no difference (docs/benchmarks/gta_atomic.md#objective-answers), so that a flat one is
    one group."""
    flat = isinstance(groups, list) and groups and all(isinstance(alias, str) for alias in groups)
    if field == "gt_answer.blacklist" and flat:
        ways.append(f"{field!r} is a flat list, read as one group")
        return [groups]
    alone = groups[0] if isinstance(groups, list) and len(groups) == 1 else groups
    if isinstance(alone, str):
        ways.append(f"{field!r} is one text, read as one group of one alias")
        return [[alone]]
    if not isinstance(groups, list) or not all(isinstance(group, list) for group in groups):
        return groups
    changed = mapped(groups, lambda group: mapped(group, _alias))
    if changed is not groups:
        ways.append(f"{field!r} has numbers among its aliases, read as texts")
    return changed


def _alias(alias: Json) -> Json:
    return str(alias) if type(alias) in (int, float) else alias


# -- paths


def _with_actual_paths(record: Record, root: Path | None, ways: Ways) -> Record:
    """Files that are named with backslashes or with other capitals (``a.JPG`` for ``a.jpg``) get the names that they
    have. So they do wherever else a turn names them, apart from its texts."""
    names: dict[str, str] = {}
    for used in record["files"] if isinstance(record.get("files"), list) else ():
        path = used.get("path") if isinstance(used, dict) else None
        if not isinstance(path, str):
            continue
        slashed = path.replace("\\", "/")
        actual = _actual(root, slashed) if root else slashed
        if slashed != path:
            ways.append("paths of 'files' have backslashes, read as slashes")
        if actual != slashed:
            ways.append("paths of 'files' have other capitals than the files, whose own names are taken")
        if actual != path:
            names[path] = actual
    if not names:
        return record
    return {**record, **{field: _renamed(record[field], names) for field in ("files", "dialogs") if field in record}}


def _renamed(value: Json, names: Mapping[str, str]) -> Json:
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list):
        return [_renamed(one, names) for one in value]
    if isinstance(value, dict):
        return {name: one if name in ("content", "thought") else _renamed(one, names) for name, one in value.items()}
    return value


def _actual(root: Path, path: str) -> str:
    """The path of the only file below ``root`` that is called so but for capitals; ``path`` where there is none or
    it is one itself."""
    parts = Path(path).parts
    if os.path.isfile(f"{root}/{path}") or os.path.isabs(path) or ".." in parts:  # noqa: PTH113, PTH117 - as quick as can be
        return path
    places = [root]
    for part in parts:
        inside = [found for place in places if place.is_dir() for found in place.iterdir()]
        places = [found for found in inside if found.name.casefold() == part.casefold()]
    found = [place for place in places if place.is_file()]
    return found[0].relative_to(root).as_posix() if len(found) == 1 else path
