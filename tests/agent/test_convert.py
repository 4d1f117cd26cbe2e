"""Arguments become what a tool takes, by the published agent's rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentgauge.agent.dialect import convert
from agentgauge.core.tools import Parameter, Tool


def one(type: Any, value: Any) -> Any:
    return convert(Tool("T", "", (Parameter(type, "x"),)), {"x": value})["x"]


@pytest.mark.parametrize(
    ("type", "value", "expected"),
    [
        ("text", "a", "a"),
        ("text", 3, "3"),
        ("text", None, "None"),
        ("text", [1, "b"], "[1, 'b']"),
        ("int", "3", 3),
        ("int", 2.9, 2),
        ("int", True, True),
        ("float", 3, 3.0),
        ("float", "0.5", 0.5),
        ("bool", "false", True),
        ("bool", "", False),
        ("bool", 0, False),
        ("image", "", ""),
    ],
)
def test_values(type: str, value: Any, expected: Any) -> None:
    got = one(type, value)
    assert (got, got.__class__) == (expected, expected.__class__)


@pytest.mark.parametrize(
    ("type", "value", "error"),
    [
        ("int", "three", ValueError),
        ("int", None, TypeError),
        ("int", float("inf"), OverflowError),
        ("float", "x", ValueError),
        ("image", 5, TypeError),
        ("image", "not/there.png", FileNotFoundError),
        ("file", "x" * 5000, OSError),
        ("image", "a\0b", FileNotFoundError),
    ],
)
def test_values_that_cannot_be(type: str, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        one(type, value)


def test_files_and_folders_that_exist_pass_unchanged(tmp_path: Path) -> None:
    (tmp_path / "a.png").touch()
    assert one("image", f"{tmp_path}/a.png") == f"{tmp_path}/a.png"
    assert one("image", str(tmp_path)) == str(tmp_path)
