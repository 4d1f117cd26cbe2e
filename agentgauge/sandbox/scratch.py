"""A folder for code to work in, removed afterwards in any state."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from agentgauge.core.files import OwnFolder, remove_tree


@contextlib.contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """A new empty folder below ``parent`` (the system's temporary folder if None); it is gone at the end."""
    if parent is None:
        with OwnFolder("code") as folder:
            yield folder
        return
    folder = Path(tempfile.mkdtemp(prefix="code-", dir=parent))
    try:
        yield folder
    finally:
        remove_tree(folder)
