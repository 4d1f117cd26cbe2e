"""Packages that are made up in a test: a folder with modules and what an installer writes beside them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def install(folder: Path, modules: Mapping[str, str], *plugins: str) -> Path:
    """Write modules (name → text) and the metadata of a distribution ``made-up``; with the folder on ``sys.path``
    (``PYTHONPATH`` of a process), its plugins (modules) are found as those of an installed package."""
    for name, text in modules.items():
        file = folder / f"{name.replace('.', '/')}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    metadata = folder / "made_up-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: made-up\nVersion: 1.0\n")
    lines = [f"{name.partition('.')[0]} = {name}" for name in plugins]
    (metadata / "entry_points.txt").write_text("\n".join(["[agentgauge]", *lines, ""]))
    return folder
