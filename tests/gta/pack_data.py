"""A small task set and agents' outputs for the tests of eval packs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agentgauge.core.errors import AgentGaugeError
from bench_gta.pack.command import main

TASKS: dict[str, Any] = {
    "7": {
        "files": [{"type": "csv", "path": "files/sales.csv"}],
        "dialogs": [
            {
                "role": "user",
                "content": "Add up files/sales.csv.",
                "resources": [{"type": "csv", "path": "files/sales.csv"}],
            }
        ],
        "sub_tasks": [
            {"id": "1", "weight": 1, "requirements": "The sum is given.", "check": {"answer": ["12"]}},
            {"id": "2", "weight": 3, "requirements": "There is a report."},
        ],
    },
    "8": {
        "dialogs": [{"role": "user", "content": "Say hello."}],
        "sub_tasks": [{"id": "1", "requirements": "It greets."}],
    },
    "12": {
        "dialogs": [{"role": "user", "content": "Draw a tree."}],
        "sub_tasks": [{"id": "1", "requirements": "A tree is drawn."}],
    },
}


def write_tasks(folder: Path, tasks: Any = TASKS) -> Path:
    """A data folder."""
    (folder / "files").mkdir(parents=True)
    (folder / "files" / "sales.csv").write_text("item,amount\ntea,5\ncake,7\n")
    (folder / "end.json").write_text(json.dumps(tasks), encoding="utf-8")
    return folder


def write_outputs(folder: Path, outputs: dict[int, str], files: dict[str, str] | None = None) -> Path:
    """A folder of outputs: final answers by task id, and files by their path below the folder."""
    for number, answer in outputs.items():
        (folder / str(number)).mkdir(parents=True)
        (folder / str(number) / "final.txt").write_text(answer, encoding="utf-8")
    for name, content in (files or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def pack(*words: str | Path) -> int:
    """``agentgauge pack ...``; 4 for what ends it, as the command line says it."""
    try:
        return main([str(word) for word in words])
    except AgentGaugeError as problem:
        print(f"agentgauge: {problem}")
        return 4


def stored(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
