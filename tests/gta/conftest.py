"""A small GTA data set that tests may change before it is read."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TEXT = [{"type": "text"}]
PICTURE = {"type": "image", "name": "image"}
META = {
    "OCR": {"name": "OCR", "description": "Reads.", "inputs": [PICTURE], "outputs": TEXT},
    "Calculator": {
        "name": "Calculator",
        "description": "Works out.",
        "inputs": [{"type": "text", "name": "expression"}],
        "outputs": TEXT,
    },
    "DrawBox": {
        "name": "DrawBox",
        "description": "Draws.",
        "inputs": [PICTURE, {"type": "text", "name": "bbox"}],
        "outputs": [{"type": "image"}],
    },
}


def called(name: str, **arguments: Any) -> dict[str, Any]:
    return {
        "role": "assistant",
        "thought": "I need it.",
        "tool_calls": [{"type": "function", "function": {"name": name, "arguments": arguments}}],
    }


def returned(name: str, content: str, type: str = "text") -> dict[str, Any]:
    return {"role": "tool", "name": name, "content": {"type": type, "content": content}}


SAMPLES: dict[str, Any] = {
    "3": {
        "tools": [{"name": "OCR"}, {"name": "Calculator"}],
        "files": [{"type": "image", "path": "image/a.png", "url": None}],
        "dialogs": [
            {"role": "user", "content": "How much?"},
            called("OCR", image="image/a.png"),
            returned("OCR", "$12 $30"),
            called("Calculator", expression="12+30"),
            returned("Calculator", "42"),
            {"role": "assistant", "content": "It is $42."},
        ],
        "gt_answer": {"whitelist": [["$42"]], "blacklist": None},
    },
    "5": {
        "tools": [{"name": "OCR"}],
        "files": [{"type": "image", "path": "image/a.png", "url": None}],
        "dialogs": [
            {"role": "user", "content": "What is it?"},
            called("OCR", image="image/a.png"),
            returned("OCR", "cat"),
            {"role": "assistant", "content": "It shows a cat."},
        ],
        "gt_answer": ["A cat is sitting there.", "It shows a cat."],
    },
    "9": {
        "tools": [{"name": "DrawBox"}],
        "files": [{"type": "image", "path": "image/a.png", "url": None}],
        "dialogs": [
            {"role": "user", "content": "Frame it twice."},
            called("DrawBox", image="image/a.png", bbox="(1, 1, 5, 5)"),
            returned("DrawBox", "image/framed.png", "image"),
            called("DrawBox", image="image/framed.png", bbox="(2, 2, 4, 4)"),
            returned("DrawBox", "image/twice.png", "image"),
        ],
        "gt_answer": None,
    },
}

Write = Callable[..., Path]


@pytest.fixture
def samples() -> dict[str, Any]:
    return copy.deepcopy(SAMPLES)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a data set in the official layout; returns its folder."""
    root = tmp_path / "gta"

    def writer(samples: Any = SAMPLES, meta: Any = META) -> Path:
        (root / "image").mkdir(parents=True, exist_ok=True)
        (root / "image" / "a.png").touch()
        (root / "dataset.json").write_text(
            samples if isinstance(samples, str) else json.dumps(samples), encoding="utf-8"
        )
        (root / "toolmeta.json").write_text(meta if isinstance(meta, str) else json.dumps(meta), encoding="utf-8")
        return root

    return writer
