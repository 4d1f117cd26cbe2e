"""The lock file: what was downloaded, with checksums. Committed, it gives a team the same data.

It lies beside the data folder, ``agentgauge-data.lock`` for ``agentgauge-data``, and holds, by data set and source,
every file's URL (never a mirror's), size, SHA-256, and whether that was ``published`` or is ``recorded at first use``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.files import write_whole
from agentgauge.core.text import parse_json
from agentgauge.data.fetch.dataset import Verified

_FORMAT = 1
PUBLISHED, FIRST_USE = "published", "recorded at first use"


@dataclass(frozen=True, slots=True)
class LockedFile:
    url: str
    size: int
    sha256: str
    checksum: str  # PUBLISHED or FIRST_USE


@dataclass(frozen=True, slots=True)
class Entry:
    """The files of a data set from one source."""

    revision: str
    files: Mapping[str, LockedFile]


def lock_path(base: Path) -> Path:
    base = base.absolute()
    return base.with_name(f"{base.name}.lock")


def read_lock(path: Path) -> dict[str, dict[str, Entry]]:
    """Data set → source → entry. Empty where there is no lock file. Raises DataProblem for one that cannot be read."""
    try:
        content = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise DataProblem(
            f"the lock file {path} cannot be read: {error}; restore it from your version control"
        ) from None
    try:
        data = parse_json(content)
        if data["format"] != _FORMAT:
            raise DataProblem(f"the lock file {path} has format {data['format']!r}; this version reads {_FORMAT}")
        return {
            name: {source: _entry(**one) for source, one in sources.items()}
            for name, sources in data["data_sets"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataProblem(f"the lock file {path} is damaged ({error}); restore it from your version control") from None


def _entry(revision: str, files: Mapping[str, Any]) -> Entry:
    found = {name: LockedFile(**file) for name, file in files.items()}
    for one in found.values():
        if [type(value) for value in astuple(one)] != [str, int, str, str]:
            raise TypeError(f"{one} has a value of another kind")
    return Entry(str(revision), found)


def refuse_unwritable(path: Path) -> None:
    """Raises UsageProblem where the lock file cannot be written: before hours of download, not after."""
    if not os.access(path.parent, os.W_OK) or (path.exists() and not path.is_file()):
        raise _unwritable(path, "permission denied")


def _unwritable(path: Path, why: str) -> UsageProblem:
    return UsageProblem(
        f"the lock file {path} cannot be written ({why}); give a --dir below a folder that can be written"
    )


def write_lock(path: Path, name: str, source: str, entry: Entry) -> None:
    """Add the entry of one data set from one source; files of an earlier fetch that ``entry`` lacks stay.

    Raises DataProblem for a lock file that cannot be read, UsageProblem where it cannot be written.
    """
    held = read_lock(path)
    sources = held.setdefault(name, {})
    before = sources[source].files if source in sources else {}
    sources[source] = Entry(entry.revision, {**before, **entry.files})
    data_sets = {one: {where: asdict(known) for where, known in sources.items()} for one, sources in held.items()}
    data = {"format": _FORMAT, "data_sets": data_sets}
    try:
        write_whole(path, f"{json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False)}\n".encode())
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from None


def compare(path: Path, name: str, file: str, held: LockedFile | None, size: int | None, sha256: str | None) -> None:
    """Raises DataProblem where a file differs from its lock entry. None: not known yet."""
    if held is None:
        return
    for what, before, now in (("SHA-256", held.sha256, sha256), ("size", held.size, size)):
        if now is not None and before != now:
            raise DataProblem(
                f"{file} of {name} differs from its entry in {path}: {what} {now} instead of {before} ({held.checksum})"
                f"; if the publisher changed it on purpose, remove the entry of {file} from the lock file and"
                " fetch again, otherwise do not use it"
            )


# -- the note in a fetched data set's folder: where it came from, and what its verification found

NAME = "agentgauge-source.json"


@dataclass(frozen=True, slots=True)
class Marker:
    data_set: str
    source: str
    revision: str
    files: Mapping[str, LockedFile]  # as downloaded: archives, not what was in them
    complete: bool  # False: with ``--only``
    verified: str = ""  # time, UTC; empty: not yet
    samples: int = 0
    found: Sequence[str] = ()
    problems: Sequence[str] = ()
    strange: Sequence[str] = ()

    def after(self, verified: Verified) -> Marker:
        return replace(self, verified=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), **asdict(verified))


def read_marker(root: Path) -> Marker | None:
    """The note in a fetched data set; None without a readable note, because the data is then the user's own."""
    try:
        data = parse_json((root / NAME).read_bytes())
        return Marker(**{**data, "files": {name: LockedFile(**file) for name, file in data["files"].items()}})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write_marker(root: Path, marker: Marker) -> None:
    write_whole(root / NAME, f"{json.dumps(asdict(marker), indent=2, sort_keys=True, ensure_ascii=False)}\n".encode())
