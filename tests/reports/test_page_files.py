"""The files that texts of a case name."""

from __future__ import annotations

import time

import pytest
from agentgauge_reports.page.transcript import PageFiles


@pytest.fixture
def files(tmp_path):
    (tmp_path / "files").mkdir()
    for name in ("a.png", "b.csv"):
        (tmp_path / "files" / name).write_bytes(b"1")
    return PageFiles(tmp_path, {"settings": {"data": "mini"}}, tmp_path / "report-data")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see {RUN}/files/a.png.", ["a.png"]),
        ('["{RUN}/files/a.png", {"b": "{RUN}/files/b.csv"}]', ["a.png", "b.csv"]),
        ("{RUN}/files/a.png{RUN}/files/b.csv", ["a.png", "b.csv"]),
        ("{RUN}/{RUN}/files/a.png", ["a.png"]),
        ("{RUN}/files/c.png {OTHER}/files/a.png", []),
    ],
)
def test_paths_are_found_in_a_text(files, text, found):
    assert list(files.links("t", [f"Files: {text}"])) == [f"{{RUN}}/files/{name}" for name in found]


@pytest.mark.parametrize("text", ["{RUN}/" * 150_000, "{RUN}/a" + ".a" * 400_000, "{RUN}/" + "a/" * 400_000])
def test_a_long_text_is_searched_in_a_moment(files, text):
    start = time.monotonic()
    assert files.links("t", [text]) == {}
    assert time.monotonic() - start < 5
