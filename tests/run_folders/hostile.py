"""Run folders that are damaged or made up: a real one, changed in one place at random."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parent / "2026-11" / "wild-mmau"

ESCAPES = "\x1b[31mred\x1b]0;title\x07\x9b2J\u202e"
VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1.5, 10**16, 1e308, -1e308, 10**350, float("inf"), float("nan")),
    *("", "1", ESCAPES, "\ud800", "a\nb", "x" * 5_000, "../../etc"),
    *([], {}, [None], {"": None}, [[]], {"value": 1}),
)
"""What takes the place of a value."""

FILES = ("run.json", "summary.json", "planned.json", "records.jsonl")


def rich(folder: Path) -> Path:
    """The folder with every field that newer versions write."""
    shutil.copytree(SOURCE, folder)
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    for line in lines:
        if said := line["transcript"]:
            counts = {"replies": {"--model": {"replies": 2, "cut": {"64": 1, "": 1}}}}
            seen = {"estimated": 1, "instead": "null", "reported": {"m": 1, "other": 1}, "denied": {"other": 1}}
            tools = {"seen": 0, "unseen": 1, "counted": 10, "bytes": 9_000}
            counts["observed"] = {"--model": {**seen, "tools": tools}}  # type: ignore[dict-item]
            times = {"slots": 0.1, "endpoint": 0.2, "tools": 0.0, "scoring": 0.3}
            line["transcript"] = {"usage": said.pop("usage"), **counts, "times": times, **said}
    write(folder / "records.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))
    summary = json.loads((folder / "summary.json").read_text())
    tasks = summary["tasks"]
    figure = next(figure for figure in tasks["wild"]["metrics"].values() if figure["value"] is not None)
    tasks["wild"] |= {
        "pass": {"pass@k": {"1": figure}, "pass^k": {"1": figure}},
        "groups": {"name": "session", "figures": ["Session"], "whole": 0, "incomplete": ["wild_tool_bench_0"]},
        "replies": {"--model": {"replies": 2, "cut": {"64": 1}}},
        "uncounted": {"cases": 1, "why": "ValueError"},
        "not_applicable": {"cases": 1, "model": "m"},
        "stops": 1,
    }
    cells = {"name": "a", "cells": [{"value": 1.0, "n": 2}]}
    table = {"title": "t", "what": "w", "columns": ["c"], "counts": [], "rows": [cells], "note": "", "heat": True}
    tasks["wild"]["breakdowns"] = [table]
    summary["run"] |= {
        "limit": 16,
        "answered_by": {"models": ["other"], "all": False},
        "not_applicable": {"wild": {"cases": 1, "model": "m"}},
    }
    summary["usage"] |= {
        "times": {kind: {"seconds": 1.0} for kind in ("working", "slots", "endpoint", "tools", "scoring")},
        "outside_tests": {"requests": 1, "prompt_tokens": 1, "completion_tokens": 1, "usd": 0.0},
    }
    summary["doubts"] = ["a doubt"]
    summary["observed"] = {"--model": {"estimated": 1, "instead": "null", "reported": {"m": 1}, "tools": tools}}
    summary["why_missing"] = "interrupted"
    write(folder / "summary.json", json.dumps(summary))
    return folder


def write(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8", "surrogatepass"))


def change(folder: Path, chance: random.Random) -> str:
    """Change a run folder in one place. Returns what was done, in words."""
    name = chance.choice(FILES)
    how: Callable[[Path, random.Random], str] = chance.choice([_value] * 8 + [_content, _kind])
    return f"{name}: {how(folder / name, chance)}"


def _value(file: Path, chance: random.Random) -> str:
    """Another value, no value, or another name in its place."""
    text = file.read_text()
    if file.suffix == ".jsonl":
        lines = text.splitlines()
        place = chance.randrange(len(lines))
        lines[place], told = _changed(lines[place], chance)
        write(file, "".join(f"{line}\n" for line in lines))
        return f"line {place + 1}, {told}"
    changed, told = _changed(text, chance)
    write(file, changed)
    return told


def _changed(text: str, chance: random.Random) -> tuple[str, str]:
    data = json.loads(text)
    places = [([], data), *_places(data, [])]
    way, old = chance.choice(places)
    shown = "/".join(map(str, way))
    how = chance.choice(("value", "value", "value", "deep", "without", "name"))
    if how == "deep":
        marked = _put(data, way, "DEEP")
        levels = chance.choice((40, 900, 100_000))
        return json.dumps(marked).replace('"DEEP"', "[" * levels + "]" * levels), f"{shown}: {levels} levels"
    if how == "value" or not way:
        new = chance.choice(VALUES)
        return json.dumps(_put(data, way, new)), f"{shown}: {str(new)[:40]!r}"
    holder = data
    for part in way[:-1]:
        holder = holder[part]
    del holder[way[-1]]
    if how == "name" and isinstance(holder, dict):
        holder[chance.choice((ESCAPES, "\ud800", "", "unknown", "__proto__"))] = old
    return json.dumps(data), f"{shown}: {how}"


def _places(value: Any, way: list[Any]) -> list[tuple[list[Any], Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, inner in items for found in (([*way, key], inner), *_places(inner, [*way, key]))]


def _put(data: Any, way: list[Any], value: Any) -> Any:
    if not way:
        return value
    holder = data
    for part in way[:-1]:
        holder = holder[part]
    holder[way[-1]] = value
    return data


def _content(file: Path, chance: random.Random) -> str:
    """Other bytes."""
    content = file.read_bytes()
    place = chance.randrange(len(content))
    made = {
        "empty": b"",
        "cut": content[:place],
        "a byte that is no UTF-8": content[:place] + b"\xff" + content[place + 1 :],
        "a NUL": content[:place] + b"\0" + content[place:],
        "a mark in front": b"\xef\xbb\xbf" + content,
        "line ends of Windows": content.replace(b"\n", b"\r\n"),
        "UTF-16": content.decode().encode("utf-16"),
        "digits": content.replace(b":1,", b":" + b"9" * 5_000 + b",", 1),
        "twice": content + content,
        "pictures of nothing": os.urandom(64),
    }
    how = chance.choice(sorted(made))
    file.write_bytes(made[how])
    return how


def _kind(file: Path, chance: random.Random) -> str:
    """No file, or another thing than a file."""
    file.unlink()
    how = chance.choice(("missing", "folder", "pipe", "device", "circle"))
    if how == "folder":
        file.mkdir()
    elif how == "pipe":
        os.mkfifo(file)
    elif how != "missing":
        file.symlink_to("/dev/zero" if how == "device" else file.name)
    return how
