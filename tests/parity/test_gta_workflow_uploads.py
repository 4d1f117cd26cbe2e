"""Every case of judge_uploads.json: the parts that the released judge shows of delivered files
(docs/benchmarks/gta_workflow.md#files-for-the-judge)."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Any

import pytest

from agentgauge.core.errors import DataProblem
from bench_gta.workflow.rendering import ShownFile, upstream_parts
from tests.parity.golden import cases, needs

pytestmark = needs("gta_workflow")


class Scripted:
    """Names results as the golden files do, and fails where a case says so."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.fails = case.get("conversion_fails", [])
        self.counts = case.get("frames", {})

    def to_pdf(self, path: str) -> str | None:
        return None if path in self.fails else f"pdf/{PurePath(path).stem}.pdf"

    def frames(self, path: str) -> list[str]:
        return [f"frames/{PurePath(path).stem}_{number:03}.jpg" for number in range(1, self.counts.get(path, 0) + 1)]

    def show(self, path: str, max_frames: int) -> ShownFile:
        raise AssertionError("upstream has no such thing")


@pytest.mark.parametrize("case", cases("gta_workflow", "judge_uploads.json"))
def test_uploads_and_blocks(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in case.get("existing", []):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    asked: list[str] = []

    def upload(path: str) -> bool:
        asked.append(path)
        return path not in case.get("upload_fails", [])

    expected = case["expected"]
    if "error" in expected:
        with pytest.raises(DataProblem):
            upstream_parts(case["attached_files"], convert=Scripted(case), upload=upload)
        return
    parts = upstream_parts(case["attached_files"], convert=Scripted(case), upload=upload)
    blocks = [
        {"kind": "text", "text": part["text"]}
        if part["type"] == "text"
        else {"kind": part["kind"], "source": str(Path(part["path"]).relative_to(tmp_path))}
        for part in parts
    ]
    assert (asked, blocks) == (expected["uploads"], expected["blocks"])


def test_a_refused_file_is_dropped_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "a.png").touch()
    (part,) = upstream_parts([str(tmp_path / "a.png")], convert=Scripted({}), upload=lambda path: True)
    assert (part["name"], part["instead"]) == ("a.png", "")
