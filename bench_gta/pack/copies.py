"""The folder of copies beside a pack of deliverables: made afresh, then put in place as a whole."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.sandbox.scratch import remove_tree
from bench_gta.pack.create import is_task

MARK = ".agentgauge-pack-files"
"""A file in every folder of copies. A folder without it is somebody's own and is never replaced."""


def copies_of(pack: Path, results: Path) -> Path:
    """The folder of copies of a pack: ``<pack>_files`` beside it, a real path. Raises UsageProblem where it would be,
    hold or lie among the deliverables themselves, and where such a folder is there that is not ours to replace."""
    folder = pack.absolute().parent.resolve() / f"{pack.stem}_files"
    own = results.resolve()
    below = folder.relative_to(own).parts if folder.is_relative_to(own) else ()
    if own.is_relative_to(folder) or (below and is_task(below[0])):
        raise UsageProblem(
            f"the copies for {pack} would go to {folder}, among the deliverables in {own}; give another --out-pack"
        )
    taken = folder.is_symlink() or folder.exists()
    if taken and (folder.is_symlink() or not (folder / MARK).is_file()):
        raise UsageProblem(
            f"{folder} is there and no folder of copies that this command made; move it, or give another --out-pack"
        )
    return folder


@contextlib.contextmanager
def made_afresh(folder: Path) -> Iterator[Path]:
    """A new folder, which takes the place of ``folder`` at the end; after an error everything is as it was."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name[:80]}-", dir=folder.parent))
    except OSError as error:
        raise UsageProblem(
            f"no folder can be made in {folder.parent} ({error.strerror}); give another --out-pack"
        ) from None
    old = fresh.with_name(f"{fresh.name}-old")
    try:
        fresh.chmod(0o755)
        (fresh / MARK).touch()
        yield fresh
        if folder.exists():
            folder.rename(old)
        fresh.rename(folder)
        remove_tree(old)
    finally:
        remove_tree(fresh)
