"""From downloaded files to a data set's folder, which appears complete or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.data.fetch.dataset import DataSet
from agentgauge.data.fetch.lock import NAME
from agentgauge.data.fetch.progress import size
from agentgauge.data.fetch.transfer import Downloaded, disk_problem
from agentgauge.data.fetch.unpack import archives, unpack

WORK = ".fetch"
"""Folder below the data folder for incomplete data sets; no search for data looks into it."""

_RESERVE = 64 << 20
"""Bytes that stay free."""


def check_space(folder: Path, needed: int, what: str) -> None:
    """Raises UsageProblem where the disk of ``folder`` is too full."""
    free = shutil.disk_usage(folder).free
    if free < needed + _RESERVE:
        raise UsageProblem(
            f"{what} needs {size(needed + _RESERVE)} of space in {folder}, and {size(free)} are free; free some, or"
            " give another --dir"
        )


@contextmanager
def work_folder(base: Path, name: str) -> Iterator[Path]:
    """The folder that a data set is built in, for one process at a time. Raises UsageProblem where another uses it."""
    import fcntl

    work = base / WORK / name
    try:
        work.mkdir(parents=True, exist_ok=True)
        handle = os.open(work / "in-use", os.O_CREAT | os.O_RDWR, 0o644)
    except OSError as error:
        raise disk_problem(error, work) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageProblem(
                f"another process is fetching {name} to {base}; wait for its end, or give another --dir"
            ) from None
        yield work
    finally:
        os.close(handle)


def stage(data_set: DataSet, got: Mapping[str, Downloaded], work: Path) -> tuple[Path, list[str]]:
    """Put a data set together from its downloaded files, in a folder of ``work``. Returns it and notes.

    Raises DataProblem for archives that cannot be used, which are removed, and UsageProblem where the disk is full.
    """
    staged = work / "staged"
    shutil.rmtree(staged, ignore_errors=True)  # left by a killed process
    notes: list[str] = []
    packed = archives(got)
    try:
        staged.mkdir()
        for name, one in got.items():
            if not any(name in parts for parts in packed.values()):
                (staged / name).parent.mkdir(parents=True, exist_ok=True)
                _link_or_copy(one.path, staged / name)
        for archive, parts in packed.items():
            target = staged / data_set.unpacked_below.get(archive, "")
            target.mkdir(parents=True, exist_ok=True)
            paths = [got[part].path for part in parts]
            try:
                notes += unpack(archive, paths, target, lambda total: check_space(work, total, "unpacking it"))
            except FileExistsError as error:
                raise DataProblem(
                    f"{archive} holds {error.filename}, which another file of the source also holds"
                ) from None
            except DataProblem:
                for path in paths:
                    path.unlink()
                raise
    except OSError as error:
        raise disk_problem(error, staged) from None
    return _root(data_set, staged), notes


def _link_or_copy(source: Path, target: Path) -> None:
    """Link or copy a file: the downloaded one stays, should the rest fail."""
    try:
        os.link(source, target)
    except OSError:  # not every file system has links
        shutil.copyfile(source, target)


def _root(data_set: DataSet, staged: Path) -> Path:
    """The folder of ``staged`` that is the data set: itself, or the only folder in it. Raises DataProblem where
    neither is."""
    folders = [staged, *(path for path in sorted(staged.iterdir()) if path.is_dir())]
    for folder in folders:
        if any(next(folder.glob(pattern), None) for pattern in data_set.main):
            return folder
    there = ", ".join(sorted(path.name for path in staged.iterdir())[:8])
    raise DataProblem(
        f"the download is not {data_set.title}: it holds none of {', '.join(data_set.main)}; it holds {there}"
    )


def clear(work: Path) -> None:
    """Remove the work folder of a complete data set."""
    shutil.rmtree(work, ignore_errors=True)
    with suppress(OSError):  # another data set is being fetched
        work.parent.rmdir()


def put(staged: Path, target: Path) -> None:
    """Move a complete data set to its final folder, or its new files into that folder. Raises UsageProblem."""
    try:
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            staged.replace(target)
            return
        # the note comes last: it marks the rest as complete
        for path in sorted(staged.iterdir(), key=lambda path: path.name == NAME):
            goal = target / path.name
            if goal.is_dir():
                raise UsageProblem(
                    f"{goal} exists already and would be mixed with new files; move it away and run the command again"
                )
            path.replace(goal)
    except OSError as error:
        raise disk_problem(error, target) from None
