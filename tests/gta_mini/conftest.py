"""The bundled workflow data set, made again once for the tests of its bytes and for those of its scores."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest


class Rebuilt(NamedTuple):
    """``data``: the data set. ``scratch``: what the reference calls made, below the id of each task."""

    data: Path
    scratch: Path


@pytest.fixture(scope="package")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Rebuilt:
    from bundled_data.gta_workflow.build import build

    made = Rebuilt(tmp_path_factory.mktemp("rebuilt"), tmp_path_factory.mktemp("made"))
    build(*made)
    return made
