"""Prediction files of the original benchmark: scored, and written from a run (docs/benchmarks/gta_atomic.md#samples and
docs/benchmarks/gta_atomic.md#prediction-files)."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgauge.core.errors import DataProblem
from agentgauge.core.files import encoded, write_whole
from agentgauge.core.placeholders import with_placeholders
from agentgauge.core.text import counted, read_text
from agentgauge.core.types import ROOT_TOKEN, RUN_TOKEN, Json, Sample, Score, Scoring
from bench_gta.atomic.data import DATASET, TOOLMETA, in_data_set, index, references
from bench_gta.atomic.fixes import fixes_of
from bench_gta.atomic.metrics import Values
from bench_gta.atomic.score import ScoreEntry
from bench_gta.similarity import similarity as measure_of

PREDICTIONS = "gta_bench"
"""Stem of the original's file name, whole or split: gta_bench.json, gta_bench_0.json, gta_bench_1.json ..."""

_PART = re.compile(r"(.+)_\d+")


@dataclass(frozen=True, slots=True)
class _ScoredFile:
    """The result of scoring a prediction file."""

    scores: list[tuple[str, Score]]  # sample key and score, by position
    remarks: list[str]  # what a reader of the figures must know


def score_files(
    samples: Path,
    predictions: Path,
    *,
    scoring: Scoring,
    similarity: str,
    entry: ScoreEntry,
    metrics: Callable[[Sequence[Values], Scoring], Mapping[str, float | None]],
    columns: Mapping[str, str],
) -> dict[str, Any]:
    """Score a prediction file of a mode: ``metrics`` by the evaluator's keys, ``columns`` by the leaderboards' names,
    ``samples``, ``stops``, ``remarks``. Raises DataProblem for files that do not fit together.

    ``entry`` scores an entry, ``metrics`` computes the original's result; ``columns``: its keys → names.
    """
    compared, fixes = measure_of(similarity), fixes_of(scoring)

    def score(one: Mapping[str, Json], reference: Json) -> Score:
        return entry(one, reference, compared, fixes)

    scored = _score_entries(samples, predictions, score, strict=scoring == "strict")
    figures = metrics([score.values for _, score in scored.scores], scoring)
    stops = [{"sample": key, "reason": score.stops} for key, score in scored.scores if score.stops]
    return {
        "metrics": {name: _plain(value) for name, value in figures.items()},
        "columns": {column: _plain(figures[key]) for key, column in columns.items()},
        "samples": [
            {
                "id": key,
                "passed": score.passed,
                "values": {name: _plain(value) for name, value in score.values.items()},
                "labels": list(score.labels),
                "explanation": score.explanation,
            }
            for key, score in scored.scores
        ],
        **({"stops": stops} if stops else {}),
        **({"remarks": scored.remarks} if scored.remarks else {}),
    }


def _plain(value: float | None) -> float | int | None:
    """Counts as whole numbers."""
    return int(value) if value is not None and value.is_integer() else value


def _score_entries(
    samples: Path, predictions: Path, score: Callable[[Mapping[str, Json], Json], Score], *, strict: bool
) -> _ScoredFile:
    """Score every entry of a prediction file.

    ``samples`` is dataset.json or its folder. Predictions and gold come from the prediction file, reference answers
    from the data set, matched by position. If one of them is longer, the surplus is left out, as upstream, and a note
    reports it; ``strict`` refuses such files. Raises DataProblem if they do not fit together.
    """
    known = references(samples / DATASET if samples.is_dir() else samples)
    entries = list(read_predictions(predictions))
    if not entries:
        raise DataProblem(f"{predictions} holds no predictions; give a file with at least one")
    counts = f"{predictions} holds {counted(len(entries), 'prediction')} and {samples} {len(known)} samples"
    if strict and len(entries) != len(known):
        raise DataProblem(f"{counts}; strict scoring needs both complete and of the same data set")
    scored = []
    for (place, entry), (key, reference) in zip(entries, known, strict=False):
        try:
            scored.append((key, score(entry, reference)))
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            shape = f"an unknown shape ({type(error).__name__}: {error})"
            raise DataProblem(f"{place}: its records have {shape}; give a file in the original layout") from None
    remark = f"{counts}; the first {len(scored)} of each were scored, as the published evaluator does"
    return _ScoredFile(scored, [] if len(entries) == len(known) else [remark])


def read_predictions(path: Path) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """The place of each entry, for messages, and the entry, in the order of the keys. Raises DataProblem."""
    for file in prediction_files(path):
        for place, entry in enumerate(_in_order(file, _object(file))):
            where = f"{file}: entry {place}"
            lists = [entry.get("prediction"), entry.get("gold")] if isinstance(entry, dict) else [None]
            if not all(isinstance(turns, list) for turns in lists):
                raise DataProblem(f"{where} must be an object with the lists 'prediction' and 'gold'")
            yield where, entry


def _in_order(file: Path, entries: Mapping[str, Json]) -> list[Json]:
    """The entries by their keys "0", "1" ..., in whatever order they stand; each part has its own
    (docs/benchmarks/gta_atomic.md#prediction-files)."""
    keys = [str(place) for place in range(len(entries))]
    if unknown := sorted(entries.keys() - set(keys)):
        accepted = f"the {len(entries)} predictions of a file have the keys '0' to '{len(entries) - 1}'"
        raise DataProblem(f"{file}: the key {unknown[0]!r} is not a position: {accepted}; get the file again")
    return [entries[key] for key in keys]


def prediction_files(path: Path) -> list[Path]:
    """The files behind a path: a whole file, a folder, or any part of a split file, which stands for all its parts. As
    upstream, a whole file wins over parts, and parts end where a number is missing. Raises DataProblem."""
    if path.is_dir():
        whole = path / f"{PREDICTIONS}.json"
        parts = _parts(path / PREDICTIONS)
        found = [whole] if whole.is_file() else parts
    elif part := _PART.fullmatch(path.stem):
        # a name may end in a number without being a part: gpt_4.json
        parts = _parts(path.with_name(part[1]))
        found = parts if path in parts else [path]
    else:
        found = [path] if path.is_file() else _parts(path.with_suffix(""))
    if not found or not found[0].is_file():
        accepted = f"a prediction file, a part of a split one, or a folder with {PREDICTIONS}.json"
        raise DataProblem(f"{path} holds no predictions; give {accepted}")
    return found


def _parts(stem: Path) -> list[Path]:
    found: list[Path] = []
    while (part := stem.with_name(f"{stem.name}_{len(found)}.json")).is_file():
        found.append(part)
    return found


def _object(file: Path) -> dict[str, Any]:
    try:
        data = json.loads(read_text(file))
    except (OSError, ValueError, RecursionError) as error:
        raise DataProblem(f"{file} cannot be read as JSON: {error}") from None
    if not isinstance(data, dict):
        raise DataProblem(f"{file} must hold one JSON object of predictions by position, not {type(data).__name__}")
    return data


SAMPLES = "gta_dataset"  # folder of the samples of a partial run, named as the original names its data set's


Results = Iterable[tuple[Sample, Json, Path]]
"""Of a run: samples, entries of the prediction file, folders of files."""


def export(results: Results, folder: Path, *, model: str, scoring: Scoring, mode: str) -> list[str]:
    """A folder for each mode, since the original's files have the same names in both: ``step`` and ``e2e``."""
    return write_predictions(results, folder / mode, model)


def write_predictions(results: Results, folder: Path, model: str) -> list[str]:
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
        notes.append(
            f"{folder} holds {len(part)} of {counted(count, 'sample')}; the data set that they belong to is {data}"
        )
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
