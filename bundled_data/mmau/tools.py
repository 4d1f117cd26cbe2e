"""The bundled records of tool use: our own tools, run by the script, and conversations that call them (MMAU spec
2.3)."""

from __future__ import annotations

from bundled_data.mmau.tool_use import worlds_home, worlds_out, worlds_work
from bundled_data.mmau.tool_use.cases_double import double
from bundled_data.mmau.tool_use.cases_once import parallel, single
from bundled_data.mmau.tool_use.cases_retry import self_correct
from bundled_data.mmau.tool_use.cases_triple import triple
from bundled_data.mmau.tool_use.words import TOOLS, Json, Tool

_WORLDS = (worlds_out, worlds_home, worlds_work)  # importing them registers their tools


def catalogue() -> dict[str, Tool]:
    """Every tool by its name."""
    assert all(any(used.work.__module__ == world.__name__ for world in _WORLDS) for used in TOOLS.values())
    return dict(TOOLS)


def files() -> dict[str, list[Json]]:
    """The records of each file by its official name."""
    return {
        "tool_use_execution_single_step_20240712.jsonl": single(),
        "tool_use_execution_parallel_20240712.jsonl": parallel(),
        "tool_use_execution_multi_step_double_20240712.jsonl": double(),
        "tool_use_execution_multi_step_triple_20240712.jsonl": triple(),
        "tool_use_self_correct_20240712.jsonl": self_correct(),
    }
