"""What a run holds is for the user who runs it: answers, files that agents made, logs."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgauge.store import RunFolder


@pytest.fixture
def usual_mask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_mask")
def test_a_new_run_folder_is_closed_to_other_users_and_the_folders_above_are_as_usual(tmp_path: Path) -> None:
    RunFolder(tmp_path / "runs" / "first").create()
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("runs", "runs/first", "runs/first/records")]
    assert modes == [0o755, 0o700, 0o700]


@pytest.mark.usefixtures("usual_mask")
def test_a_folder_that_was_there_keeps_its_rights(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(mode=0o755)
    RunFolder(tmp_path / "mine").create()
    assert stat.S_IMODE((tmp_path / "mine").stat().st_mode) == 0o755
