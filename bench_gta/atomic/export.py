"""A run's predictions as the original's own files (GTA spec 1.1, 3.3 and 4.5)."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from agentgauge.core.checkpoint import with_placeholders
from agentgauge.core.files import encoded, write_whole
from agentgauge.core.types import ROOT_TOKEN, RUN_TOKEN, Json, Sample
from bench_gta.atomic.data import DATASET, TOOLMETA, in_data_set, index
from bench_gta.atomic.files import PREDICTIONS

SAMPLES = "gta_dataset"  # folder of the samples of a partial run, named as the original names its data set's


def write_predictions(results: Iterable[tuple[Sample, Json, Path]], folder: Path, model: str) -> list[str]:
    """Write one prediction file, and beside it the files that tools made and, for a part of the data set, that part.

    Paths are written as they were when the run was scored, since similarities depend on their texts: ROOT_TOKEN stands
    for the data set's folder, RUN_TOKEN for ``folder``. Returns notes for the reader, one sentence each.
    """
    found = sorted(results, key=lambda result: result[0].position)
    entries: dict[str, Json] = {}
    for place, (sample, output, made) in enumerate(found):
        run = made.parents[2]  # <run>/files/<task>/<case>
        entries[str(place)] = with_placeholders(output, {str(sample.root): ROOT_TOKEN, str(run): RUN_TOKEN})
        if made.is_dir():
            shutil.copytree(made, folder / made.relative_to(run), symlinks=True)
    _write(folder / "predictions" / model.replace("/", "_") / f"{PREDICTIONS}.json", entries)
    tokens = f"{RUN_TOKEN} at the beginning of a path stands for that folder and {ROOT_TOKEN} for the data set's"
    notes = [f"in {folder}, {tokens}"]
    root, part = found[0][0].root, [sample for sample, _, _ in found]
    count = len(index(root).rows)
    if len(part) < count:
        data = folder / SAMPLES
        _write_samples(data, root, part)
        notes.append(f"{folder} holds {len(part)} of {count} samples; the data set that they belong to is {data}")
    return notes


def _write_samples(folder: Path, root: Path, samples: Sequence[Sample]) -> None:
    """A data set of these samples alone, in the official layout, with the files that they name."""
    paths = {used["path"] for sample in samples for used in sample.payload["files"]}
    for path in paths.union(*(_paths(sample.payload, root) for sample in samples)):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / path, folder / path)
    shutil.copyfile(root / TOOLMETA, folder / TOOLMETA)
    _write(folder / DATASET, {sample.id: sample.payload for sample in samples})


def _paths(value: Json, root: Path) -> Iterator[str]:
    """Every text in ``value`` that is the path of a file of the data set."""
    if isinstance(value, str):
        if in_data_set(root, value):
            yield value
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _paths(inner, root)


def _write(path: Path, value: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, encoded(value, indent=4) + b"\n")
