"""Where the golden data is, and how the parity tests read it.

The folder is ``tests/golden``, or the one that the environment variable ``AGENTGAUGE_GOLDEN`` names (same
sub-folders, one per benchmark). A benchmark folder that is missing is skipped as a whole; a file in a present folder
that no test knows is a failure, so that no case goes unnoticed.

In a parity module::

    from tests.parity.golden import golden_folder, load, unknown_files

    pytestmark = pytest.mark.skipif(golden_folder("gta_atomic") is None, reason="no golden data for gta_atomic")
    KNOWN = {"similarity.json", ...}

    def test_every_file_is_known():
        assert unknown_files("gta_atomic", KNOWN) == []

    @pytest.mark.parametrize("case", (load("gta_atomic", "similarity.json") or {}).get("cases", []))
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

VARIABLE = "AGENTGAUGE_GOLDEN"
DEFAULT = Path(__file__).parent.parent / "golden"


def golden_folder(benchmark: str) -> Path | None:
    """The folder of one benchmark's golden files; None where it does not exist."""
    folder = Path(os.environ.get(VARIABLE) or DEFAULT) / benchmark
    return folder if folder.is_dir() else None


def load(benchmark: str, name: str) -> Any:
    """A golden file, decoded; None where the benchmark's whole folder is missing (its tests are then skipped).

    A file that is missing from a present folder raises FileNotFoundError: it must not pass silently.
    """
    folder = golden_folder(benchmark)
    return None if folder is None else json.loads((folder / name).read_text(encoding="utf-8"))


def unknown_files(benchmark: str, known: Collection[str]) -> list[str]:
    """Files of a present folder that are not in ``known`` (README.md always is)."""
    folder = golden_folder(benchmark)
    if folder is None:
        return []
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.name not in {*known, "README.md"})
