"""Takes the folder of a run for this process alone."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import refusal
from agentgauge.run.settings import Settings, moved
from agentgauge.store import RunFolder
from agentgauge.store.folder_lock import FolderLock


def take_folder(settings: Settings, *, is_named: bool) -> tuple[Settings, Callable[[], None] | None]:
    """Lock the run folder. Returns the settings with the folder, and a function that releases it and removes what a run
    without cases has left; None if no folder could be made, which matters only where a case is to be written.

    ``is_named``: the user chose the folder; otherwise another name is taken if the folder is in use. Raises
    UsageProblem if another process has locked the folder, or if it cannot be made.
    """
    if settings.resume or is_named:
        try:
            if settings.resume:
                _check_access(settings.run_dir)
            lock = FolderLock(settings.run_dir)
        except OSError as error:
            if settings.resume:
                why = f"--resume {settings.run_dir}: {refusal(error)}, or copy the folder and resume the copy"
            else:
                why = (
                    f"the run folder {settings.run_dir} cannot be made ({error.strerror}); name another with --run-dir"
                )
            raise UsageProblem(why) from None
        return settings, partial(_give_back, settings, lock)
    for folder in _free_names(settings.run_dir):
        try:
            hold = FolderLock(folder)
        except UsageProblem:
            continue  # of another run that began in this second
        except OSError:
            break
        if hold.is_alone:
            settings = moved(settings, folder)
            return settings, partial(_give_back, settings, hold)
        hold.release()
    return settings, None


def _check_access(run: Path) -> None:
    """Raises OSError for the first file of a run that this user cannot read, and the first folder that he cannot use:
    the run would ask again for what is stored there."""
    for path in (run, *run.iterdir(), *(run / "records").glob("*")):
        needed = os.R_OK | os.W_OK | os.X_OK if path.is_dir() else os.R_OK
        if path.parent != run and path != run:
            needed |= os.W_OK  # of a worker, which appends to it
        if not os.access(path, needed):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def _free_names(folder: Path) -> Iterator[Path]:
    yield folder
    for number in count(2):
        if not (other := folder.with_name(f"{folder.name}-{number}")).exists():
            yield other


def _give_back(settings: Settings, hold: FolderLock) -> None:
    folder = RunFolder(settings.run_dir)
    if not settings.resume and not folder.has_plan and not folder.has_records:
        with suppress(OSError):
            folder.discard()
    hold.release()
