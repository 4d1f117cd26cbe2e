from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with six samples."""
    (tmp_path / "toy").mkdir()
    lines = [json.dumps({"id": f"s{number}", "say": f"word{number}"}) for number in range(6)]
    (tmp_path / "toy" / "toy.jsonl").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path
