"""Data sets of official size and layout, made of the bundled samples, small enough for tests."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from bench_mmau import data as mmau
from bench_mmau.fetch import PROMPTS
from bench_mmau.task import TASKS

ROOT = Path(__file__).resolve().parents[2]
PIXEL = b"not really a picture"


def dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def numbered(samples: Mapping[str, Any], count: int) -> dict[str, Any]:
    return {str(number): sample for number, sample in enumerate(islice(cycle(samples.values()), count))}


@cache
def atomic(count: int = 229) -> dict[str, bytes]:
    folder = ROOT / "bench_gta/atomic/mini"
    samples = numbered(json.loads((folder / "dataset.json").read_bytes()), count)
    paths = sorted({used["path"] for sample in samples.values() for used in sample["files"]})
    return {"dataset.json": dump(samples), "toolmeta.json": (folder / "toolmeta.json").read_bytes()} | dict.fromkeys(
        paths, PIXEL
    )


@cache
def workflow(count: int = 132) -> dict[str, bytes]:
    folder = ROOT / "bench_gta/workflow/mini"
    tasks = numbered(json.loads((folder / "end.json").read_bytes()), count)
    paths = sorted({used["path"] for task in tasks.values() for used in task["files"]})
    return {"end.json": dump(tasks), "toolmeta.json": (folder / "toolmeta.json").read_bytes()} | dict.fromkeys(
        paths, PIXEL
    )


@cache
def wild(count: int = 256) -> bytes:
    lines = (ROOT / "bench_wild/mini/Wild-Tool-Bench.jsonl").read_text(encoding="utf-8").splitlines()
    sessions = [
        {**json.loads(line), "id": f"wild_tool_bench_{place}"} for place, line in enumerate(islice(cycle(lines), count))
    ]
    return b"".join(dump(session) + b"\n" for session in sessions)


@cache
def mmau_files() -> dict[str, bytes]:
    folder = ROOT / "bench_mmau/mini"
    counts = {
        _kind(task).shown: PROMPTS.get(task.name, 451 if "dag" in task.name else 676)
        for task in TASKS
        if task.name in (*PROMPTS, *_MORE)
    }
    files: dict[str, bytes] = {}
    for path in sorted(folder.glob("*.jsonl")):
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        count = next(
            (
                count
                for shown, count in counts.items()
                if re.fullmatch(_pattern(shown), re.sub(r"_\d{8}$", "", path.stem))
            ),
            len(records),
        )
        made = []
        for number, record in enumerate(islice(cycle(records), count)):
            key = "id" if "id" in record else "deliverable_id"
            made.append(dump({**record, key: f"{path.stem}-{number}"}))
        files[path.name] = b"\n".join(made) + b"\n"
    source = folder / "code_kaggle_source"
    inside = {
        f"code_kaggle_source/{path.relative_to(source).as_posix()}": path.read_bytes()
        for path in source.rglob("*")
        if path.is_file()
    }
    return {**files, "code_kaggle_source.zip": archive(inside), "README.md": b"of no use here"}


_MORE = ("mmau.dag_reasoning", "mmau.dag_planning", "mmau.math_comprehend")


def _kind(task: Any) -> mmau.RecordKind:
    return task.data.kind  # type: ignore[no-any-return]


def _pattern(shown: str) -> str:
    return next(kind.files for kind in mmau.KINDS if kind.shown == shown)


def archive(files: Mapping[str, bytes], *, top: str = "") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(zipfile.ZipInfo(f"{top}{name}", (2024, 7, 12, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()
