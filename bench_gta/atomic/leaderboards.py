"""The published tables of GTA-Atomic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentgauge.core.capabilities import Column, Leaderboard, footnotes_of

COLUMNS = (
    *(Column(key, key, "gta_atomic.step", f"{key}Acc") for key in ("Inst", "Tool", "Arg", "Summ")),
    *(Column(key, key, "gta_atomic.e2e", key) for key in "POLC"),
    Column("Ans", "Ans", "gta_atomic.e2e", "AnsAcc"),
    Column("Ans+I", "Ans+I", "gta_atomic.e2e", "AnsAcc+I"),
)

_EDITIONS = (
    ("GTA, mid 2024 (release table)", "README of the benchmark's first release", "2024-07"),
    ("GTA, March 2025", "README of the benchmark", "2025-03"),
    ("GTA-Atomic, February 2026", "README of the benchmark, later edition", "2026-02"),
)
"""Title, source, date, in the order of the reference file."""


def leaderboards(published: Mapping[str, Any]) -> Sequence[Leaderboard]:
    """``published``: the content of ``reference/gta_atomic.json``."""
    return [
        Leaderboard(title, source, date, COLUMNS, listed["rows"], footnotes=footnotes_of(published, listed["id"]))
        for (title, source, date), listed in zip(_EDITIONS, published["leaderboards"], strict=True)
    ]
