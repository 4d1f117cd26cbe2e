"""Which commits a run was made with."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from agentgauge.store import revisions
from agentgauge.store.revisions import Revisions, own_revision, revision_of


def git(folder: Path, *words: str) -> str:
    named = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = os.environ | named | {"GIT_CONFIG_GLOBAL": "/dev/null"}
    return subprocess.run(
        ["git", "-C", str(folder), *words], env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("one")
    git(tmp_path, "add", "a.txt")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


def test_a_clean_tree_and_a_changed_one(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    (repository / "new.txt").touch()  # not tracked
    assert revision_of(repository) == {"commit": commit, "dirty": False}
    (repository / "sub").mkdir()
    (repository / "a.txt").write_text("two")
    assert revision_of(repository / "sub") == {"commit": commit, "dirty": True}


def test_a_hook_of_another_repository_does_not_matter(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(repository / "nowhere"))
    assert revision_of(repository) is not None


def test_without_a_repository_a_commit_or_git_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert revision_of(tmp_path) is None
    git(tmp_path, "init", "-q")
    assert revision_of(tmp_path) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert revision_of(tmp_path) is None


def test_ours_is_that_of_the_checkout_or_of_the_installation(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert own_revision(repository) == revision_of(repository)

    class Installed:
        def read_text(self, name: str) -> str:
            assert name == "direct_url.json"
            return json.dumps({"url": "x", "vcs_info": {"vcs": "git", "commit_id": "abc"}})

    monkeypatch.setattr(revisions, "distribution", lambda name: Installed())
    assert own_revision(repository / "site-packages") == {"commit": "abc", "dirty": False}


def test_both_are_found_in_the_background(repository: Path) -> None:
    found = Revisions(repository)
    assert found.known().keys() == found.known(wait=True).keys() == {"agentgauge", "project"}
    assert found.known(wait=True)["project"] == revision_of(repository)
