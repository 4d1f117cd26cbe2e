"""The entries of ``changelog.d/``, and what ``make release-notes`` makes of them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]
KINDS = [kind["directory"] for kind in SETTINGS["type"]]


def test_every_entry_has_a_kind_and_a_name():
    names = [path.name for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"]
    assert [name for name in names if not re.fullmatch(rf"\+[a-z0-9-]+\.({'|'.join(KINDS)})\.md", name)] == []


def test_no_entry_is_a_list():
    """``make release-notes`` makes each entry an item of one list, which would begin with two dashes."""
    lists = [path.name for path in (ROOT / "changelog.d").glob("+*.md") if path.read_text().startswith(("-", "*"))]
    assert lists == []


def test_a_release_puts_them_above_earlier_releases_by_kind(tmp_path):
    entries = tmp_path / "changelog.d"
    entries.mkdir()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for kind in reversed(KINDS):
        (entries / f"+{kind}-entry.{kind}.md").write_text(f"What {kind} says,\nin two lines.\n")
    head = f"# Changelog\n\n{SETTINGS['start_string']}\n"
    (tmp_path / "CHANGELOG.md").write_text(f"{head}## [1.0.0], 2026-01-01\n\n- Earlier.\n")
    words = ("-m", "towncrier", "build", "--yes", "--version", "1.1.0", "--date", "2026-02-01")
    done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "CHANGELOG.md").read_text()
    assert text.startswith(head)
    heads = [line for line in text.splitlines() if line.startswith("##")]
    kinds = [f"### {kind['name']}" for kind in SETTINGS["type"]]
    assert heads == ["## [1.1.0], 2026-02-01", *kinds, "## [1.0.0], 2026-01-01"]
    assert "- What figures says,\n  in two lines.\n" in text
    assert list(entries.iterdir()) == []


def test_the_changelog_has_the_mark():
    assert (ROOT / "CHANGELOG.md").read_text().count(SETTINGS["start_string"]) == 1
