"""The example of a project that overrides ``model`` and ``tools``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.plugin.project import ROOT, pytest_here, records

GIVEN = {
    "system": "Where a tool does not work, give the answer that you think most likely.",
    "tools": "out of order",
}


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_cases_get_the_objects_of_the_folder(tmp_path: Path, workers: tuple[str, ...]) -> None:
    shutil.copytree(ROOT / "examples" / "without_tools", tmp_path, dirs_exist_ok=True)
    result = pytest_here("--model=oracle", "--limit=3", "-k=objective", "--run-dir=run", *workers, cwd=tmp_path)
    assert result.status == 0, result.output
    found = records(tmp_path / "run")
    assert [record["status"] for record in found] == ["passed"] * 3
    assert [record["given"] for record in found] == [GIVEN] * 3
    calls = [event for record in found for event in record["transcript"]["events"] if event["kind"] == "tool"]
    assert calls and all(call["error"].endswith("is out of order") for call in calls)
    assert "the tests of 3 of 3 cases gave another model or other tools" in " ".join(result.output.split())
