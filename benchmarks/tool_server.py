"""A tool server in a process of its own, for measurements."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple


class Serving(NamedTuple):
    url: str
    pid: int


@contextmanager
def tool_server(folder: Path, *arguments: str) -> Iterator[Serving]:
    """A server without a token, whose cache lies in ``folder``."""
    command = [sys.executable, "-m", "tool_impls.server.command", "--port", "0", "--no-token", *arguments]
    env = {**os.environ, "XDG_CACHE_HOME": str(folder)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as server:
        assert server.stdout is not None
        try:
            yield Serving(json.loads(server.stdout.readline())["url"], server.pid)
        finally:
            server.terminate()
