"""A pytest plugin (``-p benchmarks.peaks``) with which the workers of a run write down the most memory that each had.

Into the folder that ``PEAKS`` names, one file a worker, ``gw0``, ``gw1`` and so on, in KiB. Written when a worker's
session ends: what comes later, xdist may cut off.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.memory import kib


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    worker = getattr(session.config, "workerinput", None)
    if worker is not None:
        (Path(os.environ["PEAKS"]) / worker["workerid"]).write_text(str(kib("VmHWM")))
