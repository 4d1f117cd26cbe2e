"""The declaration of a benchmark's official data, and the note in a fetched data set's folder.

There is one ``DataSet`` a name on the command line, announced by the hook ``pytest_agentgauge_data``. Weights of tools
are fetched as data sets, too (``agentgauge.data.weights``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from agentgauge.core.announcement import announced, refused
from agentgauge.core.errors import AgentGaugeError, UsageProblem, did_you_mean
from agentgauge.core.files import write_whole
from agentgauge.core.registry import Registry
from agentgauge.core.text import parse_json
from agentgauge.data.fetch.sources import Kind, Source


@dataclass(frozen=True, slots=True)
class Verified:
    """The outcome of a verification, in sentences."""

    samples: int  # that its tasks would run, each file counted once
    found: tuple[str, ...]  # "229 queries, 252 pictures"
    problems: tuple[str, ...] = ()  # what the official data must not have
    strange: tuple[str, ...] = ()  # what differs from uncertain figures


def _never(_task: str, _file: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class DataSet:
    name: str  # on the command line: "gta-atomic"
    title: str  # "GTA-Atomic"
    folder: str  # below the data folder; the ``DataSource.name`` of the tasks it serves
    main: tuple[str, ...]  # file name patterns of which one lies in the data set's root: ("dataset.json",)
    licence: str  # one sentence
    citation: tuple[str, ...]  # lines
    homepage: str
    sources: Mapping[str, Source]  # "github", "hub" → source; the first is the default
    verify: Callable[[Path], Verified]  # lets DataProblem through where nothing can be read
    serves: Callable[[str, str], bool] = _never  # whether a task needs a file; for ``--only``
    divisible: bool = False  # whether a part of its files is of use
    # archive → folder that its content belongs in; others: the root
    unpacked_below: Mapping[str, str] = field(default_factory=dict)
    kind: Kind = "dataset"  # of a copy on the hub
    needed: tuple[str, ...] = ()  # file name patterns; a source without one of them is refused before the download
    checksums: Mapping[str, str] = field(default_factory=dict)  # file → SHA-256 that its usual sources must have
    use: str = ""  # what it is for, where that is no task

    def tasks_among(self, tasks: Registry) -> list[str]:
        """The names of the tasks that it serves, sorted."""
        return sorted(task.name for task in tasks if task.data.name == self.folder)


def served(tasks: Registry, data_set: DataSet, base: Path) -> dict[str, Path]:
    """The tasks of a data set with files below a data folder, and the folder of each."""
    found: dict[str, Path] = {}
    for name in data_set.tasks_among(tasks):
        with suppress(AgentGaugeError):  # damaged: the fetch command reports why
            if root := tasks[name].data.find(base):
                found[name] = root
    return found


def shortened(tasks: Registry, names: Collection[str]) -> list[str]:
    """Task names, sorted; ``mmau.*`` where all tasks of a benchmark are among them."""
    families: dict[str, set[str]] = {}
    for name in tasks.names:
        families.setdefault(name.partition(".")[0], set()).add(name)
    short = {
        name: f"{family}.*"
        for family, members in families.items()
        if len(members) > 1 and members <= set(names)
        for name in members
    }
    return sorted({short.get(name, name) for name in names})


@cache
def known_data_sets() -> dict[str, DataSet]:
    """Every announced data set by name. Raises UsageProblem for what is none."""
    found: list[DataSet] = []
    for plugin, one in announced("data"):
        if not isinstance(one, DataSet):
            raise refused(plugin, "data", f"names {one!r:.200}; accepted is a DataSet of agentgauge.data.fetch.dataset")
        found.append(one)
    return {one.name: one for one in sorted(found, key=lambda one: one.name)}


def find_data_set(name: str, known: Mapping[str, DataSet]) -> DataSet:
    """The set with this name among the known ones, which are data sets and weights. Raises UsageProblem."""
    try:
        return known[name]
    except KeyError:
        listed = ", ".join(known_data_sets()) or "none (is AgentGauge installed?)"
        raise UsageProblem(
            f"there is no data set {name!r}{did_you_mean(name, known)}; known are {listed}, and the weights that"
            " `agentgauge fetch tools` lists"
        ) from None


def size(count: float) -> str:
    """``1.2 GB``, in powers of 1000 as publishers count."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


# -- the note in a fetched data set's folder: where it came from, and what its verification found

NOTE = "agentgauge-source.json"
PUBLISHED, FIRST_USE = "published", "recorded at first use"


@dataclass(frozen=True, slots=True)
class FetchedFile:
    url: str  # never a mirror's
    size: int
    sha256: str
    checksum: str  # PUBLISHED or FIRST_USE


@dataclass(frozen=True, slots=True)
class FetchNote:
    data_set: str
    source: str
    revision: str
    files: Mapping[str, FetchedFile]  # as downloaded: archives, not what was in them
    complete: bool  # False: with ``--only``
    verified: str = ""  # time, UTC; empty: not yet
    samples: int = 0
    found: Sequence[str] = ()
    problems: Sequence[str] = ()
    strange: Sequence[str] = ()

    def after(self, verified: Verified) -> FetchNote:
        return replace(self, verified=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), **asdict(verified))


def read_note(root: Path) -> FetchNote | None:
    """The note in a fetched data set; None without a readable note, because the data is then the user's own."""
    try:
        data = parse_json((root / NOTE).read_bytes())
        return FetchNote(**{**data, "files": {name: FetchedFile(**file) for name, file in data["files"].items()}})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write_note(root: Path, note: FetchNote) -> None:
    write_whole(root / NOTE, f"{json.dumps(asdict(note), indent=2, sort_keys=True, ensure_ascii=False)}\n".encode())
