"""Apple MMAU's official data: its source and its required content."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agentgauge.core.errors import DataProblem
from agentgauge.core.task import Task
from agentgauge.core.text import parse_json
from agentgauge.data.fetch.dataset import DataSet, Verified
from agentgauge.data.fetch.sources import Hub
from bench_mmau import data
from bench_mmau.task import TASKS, MmauData

ARCHIVE = "code_kaggle_source.zip"

PROMPTS: Mapping[str, int] = {
    "mmau.tool_single": 184,
    "mmau.tool_parallel": 225,
    "mmau.tool_double": 298,
    "mmau.tool_triple": 258,
    "mmau.tool_self_correct": 282,
    "mmau.contest_standard": 261,
    "mmau.contest_parsing": 261,
    "mmau.contest_planner": 261,
    "mmau.contest_solver": 261,
    "mmau.math_standard": 1000,
}
"""Numbers of records that the paper states (docs/benchmarks/mmau.md#tasks)."""

DEDUCED: Mapping[str, tuple[int, ...]] = {
    "mmau.dag_reasoning": (451,),
    "mmau.dag_planning": (451,),
    "mmau.math_comprehend": (672, 676),
    "mmau.ds_oracle": (28, 123),  # conversations or turns: which of them a record is, is not published
}
"""Records as deduced from published figures, or one of several (docs/benchmarks/mmau.md#what-is-measured)."""

_INPUT = re.compile(r"(?:\.\./|/kaggle/)input/([\w./ -]+\.\w+)")


def verify(root: Path) -> Verified:
    """Counts of docs/benchmarks/mmau.md#tasks, every record's shape, and the data files that notebooks read."""
    found, problems, strange, files = list[str](), list[str](), list[str](), dict[Path, int]()
    for task in TASKS:
        try:
            if task.data.find(root) != root:
                strange.append(f"there is no file for {task.name}; it cannot be run on this data")
                continue
            index = task.data.index(root)
        except DataProblem as problem:
            problems.append(str(problem))
            continue
        if index.file not in files:
            files[index.file] = len(index.rows)
            names = " and ".join(file.name for file in data.find_all(root, _kind_of(task)))
            found.append(f"{names}: {len(index.rows)} records")
            strange += index.differences
        count = len(index.rows)
        if count != PROMPTS.get(task.name, count):
            problems.append(f"{task.name}: {count} records, and {PROMPTS[task.name]} are published")
        if (deduced := DEDUCED.get(task.name)) and count not in deduced:
            strange.append(f"{task.name}: {count} records, and {' or '.join(map(str, deduced))} are expected")
    if not files and not problems:
        problems.append("there is no file of any task")
    strange += [*data.strangers(root), *_lacking(root)]
    return Verified(sum(files.values()), tuple(found), tuple(dict.fromkeys(problems)), tuple(strange))


def _lacking(root: Path) -> Iterator[str]:
    """What notebooks read and the archive of sources does not hold."""
    file = data.find(root, data.NOTEBOOKS)
    if file is None:
        return
    folder = root / data.NOTEBOOK_DATA
    if not folder.is_dir():
        yield f"there is no {data.NOTEBOOK_DATA}, which notebooks read their tables from; fetch {ARCHIVE} too"
        return
    there = {path.name for path in folder.rglob("*") if path.is_file()}
    named = {Path(match).name for record in _records(file) for text in _texts(record) for match in _INPUT.findall(text)}
    for name in sorted(named - there):
        yield f"a notebook names {name!r}, which {data.NOTEBOOK_DATA} does not hold"


def _records(file: Path) -> Iterator[Any]:
    with file.open("rb") as stream:
        for line in stream:
            try:
                yield parse_json(line)
            except ValueError:
                return  # reported by the index


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(one)


def serves(task: str, file: str) -> bool:
    """Whether a task needs a file of the release."""
    kind = _kind_of(next(one for one in TASKS if one.name == task))
    name = Path(file).name
    if name == ARCHIVE:
        return kind.shown == data.NOTEBOOKS.shown
    return name.endswith(".jsonl") and re.fullmatch(kind.files, re.sub(r"_\d{8}$", "", Path(name).stem)) is not None


MMAU = DataSet(
    name="mmau",
    title="Apple MMAU",
    folder="mmau",
    main=("*.jsonl",),
    licence="data under CC-BY-SA-4.0",
    citation=(
        "Yin et al., MMAU: A Holistic Benchmark of Agent Capabilities Across Diverse Domains, arXiv:2407.18961 (2024)",
    ),
    homepage="https://huggingface.co/datasets/apple/mmau",
    sources={"hub": Hub("apple/mmau", ("*.jsonl", f"*{ARCHIVE}"))},
    verify=verify,
    serves=serves,
    divisible=True,
    unpacked_below={ARCHIVE: data.NOTEBOOK_DATA.parts[0]},
)
"""The files of Apple MMAU on the hub."""


def _kind_of(task: Task) -> data.RecordKind:
    assert isinstance(task.data, MmauData)
    return task.data.kind
