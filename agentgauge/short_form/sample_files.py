"""Samples in files of JSON Lines, JSON or CSV; the gold may be in another file."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from pathlib import Path

from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.index import Entry, Index, Row, build_index, first_line, line_entries, list_entries, object_entries
from agentgauge.core.task import DataSource
from agentgauge.core.types import Json, Sample

csv.field_size_limit(256 << 20)  # else a cell may have 131,072 characters


class SampleFiles(DataSource):
    """One or several files of the same kind, one sample an entry, in the order of the files.

    A sample's id is its field ``id``, or its key in a JSON object, or its place in all files, from 0. ``gold`` is a
    file with an entry for each sample's id, which becomes the sample's field ``gold``. ``tags``: fields whose texts,
    or lists of texts, are keywords.
    """

    def __init__(
        self,
        name: str,
        files: Sequence[Path],
        *,
        gold: Path | None = None,
        tags: Sequence[str] = (),
        id: str = "id",
        whole: bool = True,
    ) -> None:
        """Raises UsageProblem for a file that is not there, or of another kind."""
        self.name = name
        self.bundled = files[0].parent
        self.whole = whole
        kinds = {file.suffix for file in files}
        if len(kinds) != 1:
            raise UsageProblem(f"the data files of {name} are of several kinds ({', '.join(sorted(kinds))}); use one")
        for file in (*files, *([gold] if gold else [])):
            if file.suffix not in _ENTRIES:
                raise UsageProblem(f"{file.name}: samples of {name} can be in files of {', '.join(_ENTRIES)}")
            if not file.is_file():
                raise UsageProblem(
                    f"the data file {file} of {name} does not exist; paths start at the benchmark's file"
                )
            if not file.is_relative_to(self.bundled):
                raise UsageProblem(f"the data file {file} of {name} must lie in {self.bundled} or below")
        self._samples = tuple(str(file.relative_to(self.bundled)) for file in files)
        self._gold = str(gold.relative_to(self.bundled)) if gold else ""
        self.files = (*self._samples, *filter(None, [self._gold]))
        self._tags = tuple(tags)
        self._id = id

    def index(self, root: Path) -> Index:
        files = [root / file for file in self.files]
        places, gold = count(), cache(lambda: _gold(root / self._gold, self._id) if self._gold else None)
        return build_index(
            files,
            lambda file: (self._described(root, entry, next(places), gold()) for entry in _entries(file)),
            lambda entry: (entry.key, entry.value),
            parts=len(self._samples),
            key=self,
        )

    def load(self, index: Index, row: Row, task: str) -> Sample:
        return Sample(row.id, task, row.tags, json.loads(row.text), index.root, row.position)

    def _described(self, root: Path, entry: Entry, place: int, gold: Mapping[str, bytes] | None) -> Entry:
        """A sample's id, with its keywords for a value, and its text with the gold. ``place``: from 0. Raises
        DataProblem."""
        if not isinstance(entry.value, dict):
            raise DataProblem(f"{self.name}: sample {place + 1} is not an object with fields: {str(entry.value)[:60]}")
        id = _id_of(entry, self._id, str(place))
        text = entry.text
        if gold is not None:
            if id not in gold:
                raise DataProblem(f"{root / self._gold} has no entry for the sample {id!r}")
            text = b'%s%s"gold": %s}' % (text.removesuffix(b"}"), b", " if entry.value else b"", gold[id])
        tags = [text for field in self._tags for text in _texts(entry.value, field, f"{self.name}, {id!r}")]
        return Entry(id, tags, text)


def csv_entries(file: Path) -> Iterator[Entry]:
    """The rows of a CSV file after its header, as objects of texts. Raises DataProblem."""
    header = _header(file)
    start = end = number = 0

    def lines() -> Iterator[str]:
        nonlocal end
        with file.open("rb") as stream:
            for line in stream:
                end += len(line)
                yield line.decode("utf-8-sig" if end == len(line) else "utf-8")

    try:
        reader = csv.reader(lines(), strict=True)
        next(reader)
        start = end
        for cells in reader:
            if cells and len(cells) != len(header):
                raise ValueError(f"a row has {len(cells)} instead of {len(header)} cells")
            if cells:
                value = dict(zip(header, cells, strict=True))
                yield Entry(str(number), value, json.dumps(value).encode())
                number += 1
            start = end
    except (csv.Error, ValueError) as error:
        if str(error).startswith("new-line character"):  # csv's advice is for programs
            raise DataProblem(
                f"{file} has lines that end in a carriage return alone; save it with line feeds"
            ) from None
        raise DataProblem(f"{file} is damaged after byte {start}: {error}; correct it, or get it again") from None


def _json_entries(file: Path) -> Iterator[Entry]:
    return object_entries(file) if first_line(file).startswith("{") else list_entries(file)


_ENTRIES: Mapping[str, Callable[[Path], Iterator[Entry]]] = {
    ".jsonl": line_entries,
    ".json": _json_entries,
    ".csv": csv_entries,
}


def _entries(file: Path) -> Iterator[Entry]:
    """An entry's key is empty where it is no more than a place."""
    is_object = file.suffix == ".json" and first_line(file).startswith("{")
    for entry in _ENTRIES[file.suffix](file):
        yield entry if is_object else Entry("", entry.value, entry.text)


def _id_of(entry: Entry, field: str, place: str) -> str:
    given = entry.value.get(field) if isinstance(entry.value, dict) else None
    return entry.key or place if given is None else str(given)


def _texts(value: Mapping[str, Json], field: str, where: str) -> list[str]:
    given = value.get(field, [])
    texts = given if isinstance(given, list) else [given]
    if not all(isinstance(text, str | int) for text in texts):
        raise DataProblem(
            f"{where}: {field} is {str(given)[:60]}; a field of keywords has a string or a list of strings"
        )
    return [str(text) for text in texts]


def _header(file: Path) -> list[str]:
    """The names of the columns. Raises DataProblem."""
    first_line(file)  # raises where it cannot be read
    with file.open(encoding="utf-8-sig", newline="") as stream:
        names = next(csv.reader(stream), [])
    if not names or len(set(names)) < len(names):
        raise DataProblem(f"{file} must begin with a line of column names that differ, not {names}")
    return names


def _gold(file: Path, field: str) -> dict[str, bytes]:
    """Gold by sample id, as JSON. Raises DataProblem."""
    return {_id_of(entry, field, str(place)): entry.text for place, entry in enumerate(_entries(file))}
