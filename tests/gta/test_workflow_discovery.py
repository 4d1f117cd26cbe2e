"""What counts as delivered in the extended search. Upstream's search is tested by the golden cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench_gta.workflow.trace import attached_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run's output folder beside files that are none of its business."""
    (tmp_path / "private.txt").write_text("not yours")
    out = tmp_path / "out"
    for name in (
        "b.wav",
        "a.csv",
        "data.csv",
        "notes",
        "site/index.html",
        ".hidden",
        ".git/config",
        "__pycache__/x.pyc",
    ):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("x")
    return out


def names(folder: Path, *steps: Any) -> list[str]:
    found = attached_files([steps], extended=True, folder=folder)
    return [path.removeprefix(f"{folder}/") for path in found]


def test_every_visible_file_is_delivered_in_order(folder: Path) -> None:
    assert names(folder) == ["a.csv", "b.wav", "data.csv", "notes", "site/index.html"]


@pytest.mark.parametrize(
    ("step", "first"),
    [
        ({"role": "tool", "content": [{"type": "audio", "content": "{out}/b.wav"}]}, "b.wav"),
        ({"role": "assistant", "content": "I wrote `site/index.html`."}, "site/index.html"),
        ({"role": "assistant", "content": "See [the page](sandbox:/mnt/data/index.html)."}, "site/index.html"),
        ({"role": "assistant", "content": "All rows are in data.csv"}, "data.csv"),
        ({"role": "assistant", "content": "Nothing of note: notes_old, xb.wav"}, "a.csv"),
    ],
)
def test_files_that_the_run_speaks_of_come_first(step: Any, first: str, folder: Path) -> None:
    content = step["content"]
    if isinstance(content, list):
        content[0]["content"] = content[0]["content"].format(out=folder)
    found = names(folder, step)
    assert found[0] == first
    assert sorted(found) == ["a.csv", "b.wav", "data.csv", "notes", "site/index.html"]


@pytest.mark.parametrize(
    "path",
    ["{above}/private.txt", "../private.txt", "{out}/../private.txt", "{out}/missing.pdf", "sandbox:/missing.pdf"],
)
def test_naming_a_file_does_not_deliver_it(path: str, folder: Path) -> None:
    step = {"role": "tool", "content": path.format(above=folder.parent, out=folder)}
    assert names(folder, step) == names(folder)


def test_links_are_not_followed(folder: Path) -> None:
    (folder / "link.txt").symlink_to(folder.parent / "private.txt")
    (folder / "up").symlink_to(folder.parent, target_is_directory=True)
    assert not {"link.txt", "up/private.txt"} & set(names(folder, {"role": "tool", "content": f"{folder}/link.txt"}))
