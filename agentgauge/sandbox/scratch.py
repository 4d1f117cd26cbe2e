"""A folder for code to work in, removed afterwards in any state."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """A new empty folder below ``parent`` (the system's temporary folder if None); it is gone at the end."""
    folder = Path(tempfile.mkdtemp(prefix="code-", dir=parent))
    try:
        yield folder
    finally:
        remove_tree(folder)


def remove_tree(folder: Path) -> None:
    """Remove a folder also if it is nested too deep for Python, or has folders without rights. Links are not
    followed."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except (OSError, RecursionError):
        for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
            subprocess.run(
                [*command, "--", str(folder)], check=False, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
