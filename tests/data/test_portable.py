"""Stored texts hold tokens in place of the folders of one machine."""

from __future__ import annotations

from typing import Any

import pytest

from harness.portable import portable

TOKENS = {"/data/gta": "{ROOT}", "/data/gta/runs/1": "{RUN}", "/h\u00e9/x": "{E}"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("/data/gta/image/a.png", "{ROOT}/image/a.png"),
        ("see `/data/gta/a.png`, `/data/gta/b.png`", "see `{ROOT}/a.png`, `{ROOT}/b.png`"),
        ("[image](/data/gta/runs/1/x.png)", "[image]({RUN}/x.png)"),
        ("/data/gta2/x", "/data/gta2/x"),
        ("/mnt/data/gta/x", "/mnt/data/gta/x"),
        ("it is in /data/gta.", "it is in {ROOT}."),
        ("/data/gta.old/x", "/data/gta.old/x"),
        ('{"image": "/h\\u00e9/x/a.png"}', '{"image": "{E}/a.png"}'),
        ("/h\u00e9/x/a", "{E}/a"),
        ({"/data/gta": ["/data/gta/a", 3, None]}, {"{ROOT}": ["{ROOT}/a", 3, None]}),
        (("/data/gta",), ["{ROOT}"]),
    ],
)
def test_folders_become_tokens(value: Any, expected: Any) -> None:
    assert portable(value, TOKENS) == expected


def test_the_root_of_everything_is_no_folder_to_replace() -> None:
    assert portable("/a/b", {"/": "{ROOT}", "": "{RUN}"}) == "/a/b"
