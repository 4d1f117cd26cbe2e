"""A pytest plugin (``-p benchmarks.memory_probe``) that writes down how much memory its own process had.

Into the file that ``MEMORY_PROBE`` names, as JSON: ``collected``, resident KiB when collection was done (on an xdist
controller: when the session started, as it collects nothing), and ``peak``, the most until the very end.
Only the first process writes: workers have memory of their own.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks.memory import kib

_collected = 0


@pytest.hookimpl(trylast=True)
def pytest_sessionstart() -> None:
    global _collected
    _collected = kib("VmRSS")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish() -> None:
    global _collected
    _collected = kib("VmRSS")


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        Path(os.environ["MEMORY_PROBE"]).write_text(json.dumps({"collected": _collected, "peak": kib("VmHWM")}))
