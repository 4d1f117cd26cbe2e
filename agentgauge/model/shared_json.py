"""A small JSON file that the workers of a run change one after the other."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def shared_json(path: Path) -> Iterator[dict[str, Any]]:
    """The file's object, empty at first, which is written back at the end if it has changed. No other process changes
    it meanwhile. Raises OSError, also on a file system without locks."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        before = os.pread(file, os.fstat(file).st_size, 0)
        try:
            found = json.loads(before or b"{}")
        except ValueError:  # torn, because the disk was full
            found = {}
        content = found if isinstance(found, dict) else {}
        yield content
        after = json.dumps(content).encode().ljust(len(before))  # spaces cover what was longer
        if after != before:  # a process that only reads must not fail on a full disk
            os.pwrite(file, after, 0)  # in one call, so that no kill leaves a part
    finally:
        os.close(file)  # which ends the lock
