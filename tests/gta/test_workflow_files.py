"""Prediction files that are judged outside a run: records that cannot be judged, files that are missing or
elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.config import Config
from agentgauge.core.errors import DataProblem, UsageProblem
from bench_gta.workflow.score import Thresholds
from bench_gta.workflow.score_files import make_judge, score_predictions

TREE = [{"id": "1", "requirements": "r", "check": {"answer": {"contains": ["Thursday"]}}}]


def entry(answer: str = "Thursday.", **changes: Any) -> dict[str, Any]:
    said = [{"role": "assistant", "content": answer}]
    made = {
        "gold": [[]],
        "prediction": [said],
        "origin_prompt": ["q"],
        "steps": [],
        "full_tree": TREE,
        "attached_files": [],
    }
    return {**made, "assistant_outputs": [said], **changes}


def scored(folder: Path, *entries: Any, samples: Path | None = None) -> dict[str, Any]:
    file = folder / "predictions.json"
    file.write_text(json.dumps({str(place): one for place, one in enumerate(entries)}))
    return dict(score_predictions(samples, file, make_judge("rules", config=Config()), Thresholds(), strict=False))


def test_a_file_is_scored_as_released(tmp_path: Path) -> None:
    told = scored(tmp_path, entry(), entry("Monday."))
    assert (told["metrics"]["gpt_score"], told["metrics"]["Root SR"], [one["score"] for one in told["samples"]]) == (
        5.0,
        50.0,
        [10, 0],
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"full_tree": "x"}, "must be a list of nodes"),
        ({"full_tree": [{"id": "1", "requirements": "r"}]}, "has no 'check'"),
    ],
)
def test_a_record_that_cannot_be_judged_fails_alone(change: dict[str, Any], reason: str, tmp_path: Path) -> None:
    told = scored(tmp_path, entry(), entry(**change))
    assert [one["score"] for one in told["samples"]] == [10, 0] and reason in told["samples"][1]["error"]
    assert (told["metrics"]["Root Score"], told["metrics"]["Root Score (scored)"]) == (5.0, 10.0)
    assert any(note.startswith("record 1 could not be judged and counts as failed") for note in told["notes"])


@pytest.mark.parametrize("path", ["a long search result " * 20 + "/page.html", "a/\0.png", "files/report.pdf"])
def test_files_that_are_missing_are_named(path: str, tmp_path: Path) -> None:
    told = scored(tmp_path, entry(delivered=[path]))
    assert told["samples"][0]["score"] == 10 and any(
        note.startswith("record 0 names files that are missing") for note in told["notes"]
    )


@pytest.mark.parametrize(
    "change",
    [{"attached_files": "a/report.pdf"}, {"delivered": "a/report.pdf", "attached_files": []}],
)
def test_one_file_may_be_given_as_a_text(change: dict[str, Any], tmp_path: Path) -> None:
    assert "record 0 names files that are missing: report.pdf" in scored(tmp_path, entry(**change))["notes"]
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "report.pdf").write_bytes(b"%PDF-")
    assert not any("missing" in note for note in scored(tmp_path, entry(**change))["notes"])


@pytest.mark.parametrize("path", ["/etc/hostname", "../other.pdf", "/dev/zero"])
def test_files_elsewhere_are_refused(path: str, tmp_path: Path) -> None:
    (tmp_path / "other.pdf").write_text("x")
    (tmp_path / "here").mkdir()
    with pytest.raises(UsageProblem, match="is not a plain file below"):
        scored(tmp_path / "here", entry(delivered=[path]))


@pytest.mark.parametrize("change", [{"assistant_outputs": [None]}, {"delivered": [1]}, {"prediction": ["x"]}])
def test_a_damaged_record_is_told(change: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match=r"record '1', .*: must be a list"):
        scored(tmp_path, entry(), entry(**change))


def test_a_damaged_data_set_is_told(tmp_path: Path) -> None:
    (tmp_path / "end.json").write_text('{"0": 5}')
    with pytest.raises(DataProblem, match="must be an object, not int"):
        scored(tmp_path, entry(), samples=tmp_path)
