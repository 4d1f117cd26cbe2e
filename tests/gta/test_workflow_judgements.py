"""Kept judgements: found again, shared, damaged, and those of earlier versions."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agentgauge.core.errors import UsageProblem
from bench_gta.workflow.judge import key_of
from bench_gta.workflow.judgements import FILE, NONE, USER, Judgements, StoredReply, open_judgements

A, B, C, D = (key_of(number) for number in range(4))
GIVEN = StoredReply('{"score": 8}', "seer-2")


def earlier(folder: Path, key: str, content: str) -> Path:
    """A vote as earlier versions have kept it."""
    file = folder / key[:2] / f"{key}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    return file


def stored(reply: object, **more: object) -> str:
    return json.dumps({"reply": reply, "model": "seer-2", "about": {"judge": "seer", "vote": 0}, **more})


def test_a_judgement_is_found_by_others_and_nothing_is_kept_in_no_folder(tmp_path: Path) -> None:
    ours, theirs = Judgements(tmp_path / "kept"), Judgements(tmp_path / "kept")
    assert theirs.find(A) is None and not (tmp_path / "kept").exists()
    ours.keep(A, GIVEN, {"judge": "seer", "vote": 0})
    assert (theirs.find(A), theirs.find(B)) == (GIVEN, None)
    theirs.keep(A, StoredReply("another", "seer-3"), {})
    assert ours.find(A) == StoredReply("another", "seer-3")
    nothing = Judgements(None)
    nothing.keep(A, GIVEN, {})
    assert nothing.find(A) is None


def test_what_is_damaged_is_asked_again(tmp_path: Path) -> None:
    kept = Judgements(tmp_path)
    for key in (A, B, C):
        kept.keep(key, GIVEN, {})
    lines = (tmp_path / FILE).read_text().splitlines()
    lines[1], lines[2] = lines[1].replace('"reply": "', '"reply": 7, "x": "'), lines[2][:70]
    (tmp_path / FILE).write_text("\n".join(lines) + "\n")
    again = Judgements(tmp_path)
    assert (again.find(A), again.find(B), again.find(C)) == (None, None, GIVEN)
    again.keep(A, GIVEN, {})
    assert again.find(A) == GIVEN


def test_judgements_of_earlier_versions_are_found_each_by_itself(tmp_path: Path) -> None:
    for key, content in ((A, stored('{"score": 8}')), (B, stored(None)), (C, "["), (D, json.dumps({"reply": "?"}))):
        earlier(tmp_path, key, content)
    kept = Judgements(tmp_path)
    assert [kept.find(key) for key in (A, B, C, D)] == [GIVEN, None, None, None]
    kept.keep(A, StoredReply("newer", "seer-3"), {})
    assert [Judgements(tmp_path).find(key) for key in (A, B)] == [StoredReply("newer", "seer-3"), None]


def test_a_folder_that_cannot_be_used_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / FILE)
    for folder in (tmp_path / "file" / "below", tmp_path, Path("/proc/nothing")):
        kept = Judgements(folder)
        kept.keep(A, GIVEN, {})
        assert kept.find(A) is None


def test_what_can_be_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    open_judgements(USER).keep(A, GIVEN, {})
    assert (tmp_path / "agentgauge" / "index" / "judgements" / FILE).exists()
    open_judgements(NONE).keep(A, GIVEN, {})
    for name in ("", str(tmp_path / "agentgauge" / "index" / "judgements" / FILE)):
        with pytest.raises(UsageProblem, match="is not a folder; give one, user or none"):
            open_judgements(name)
