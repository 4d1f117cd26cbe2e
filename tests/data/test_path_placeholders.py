"""Stored texts hold tokens in place of the folders of one machine."""

from __future__ import annotations

from typing import Any

import pytest

from agentgauge.core.placeholders import with_placeholders

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
    assert with_placeholders(value, TOKENS) == expected


def test_the_root_of_everything_is_no_folder_to_replace() -> None:
    assert with_placeholders("/a/b", {"/": "{ROOT}", "": "{RUN}"}) == "/a/b"


def test_a_value_without_folders_is_left_as_it_is_and_one_with_any_is_not() -> None:
    """Looking for plain folders takes a shortcut, which must miss none."""
    plain = {"/data/gta": "{ROOT}", "/data/gta/runs/1": "{RUN}"}
    silent = ({"a": ["/data/other", 1.5, None]}, "/data/gt")
    assert with_placeholders(silent, plain) is silent
    assert with_placeholders({"a": ({"b": ['say "/data/gta/x"']},)}, plain) == {"a": [{"b": ['say "{ROOT}/x"']}]}
    assert with_placeholders({"/data/gta": 1}, plain) == {"{ROOT}": 1}
    assert with_placeholders('{"a": "/data/gta/runs/1/y"}', plain) == '{"a": "{RUN}/y"}'
    assert with_placeholders({"a": {1, 2}, "b": "/data/gta"}, plain) == {"a": {1, 2}, "b": "{ROOT}"}  # no JSON
