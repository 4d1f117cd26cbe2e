"""Numbers in the pages of what AgentGauge contains."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from agentgauge.core.registry import Registry
from bench_mmau.metrics import CAPABILITIES, DOMAINS
from tests.docs.pages import ROOT, rows, text

TASKS = {task.name: task for task in Registry.installed() if not task.data.in_run_folder}
SAMPLES = {name: len(task.data.index(task.data.bundled).rows) for name, task in TASKS.items()}
TABLE = {row[0]: row for row in rows(text("README.md"), "benchmark", "what it measures")}
MINI = ROOT / "bench_gta" / "atomic" / "mini"
ATOMIC, WORKFLOW = (
    set(json.loads((ROOT / "bench_gta" / name / "mini" / "toolmeta.json").read_text()))
    for name in ("atomic", "workflow")
)
"""Names of tools."""


def numbers(words: str) -> list[int]:
    return [int(found) for found in re.findall(r"\b\d+\b", words)]


@pytest.mark.parametrize(
    ("title", "task"),
    [
        ("GTA-Atomic", "gta_atomic.e2e"),
        ("GTA-Workflow", "gta_workflow"),
        ("WildToolBench", "wild"),
        ("Apple MMAU", "mmau."),
    ],
)
def test_the_bundled_samples_are_as_many_as_the_pages_say(title: str, task: str) -> None:
    count = sum(number for name, number in SAMPLES.items() if name.startswith(task))
    assert int(TABLE[title][3]) == count
    cell = next(row[1] for row in rows(text("docs/data.md"), "benchmark", "bundled") if row[0] == title)
    assert f"{count} samples" in cell
    if title == "WildToolBench":
        data = TASKS[task].data
        sessions = {data.group_of(row) for row in data.index(data.bundled).rows}
        assert cell == f"{count} samples in {len(sessions)} sessions"


def test_the_page_of_comparisons_has_the_smallest_and_the_largest_bundled_set() -> None:
    sizes = f"{min(SAMPLES.values())} to {max(SAMPLES.values())} samples a task"
    assert f"The bundled sets ({sizes})" in text("docs/comparing.md")


def test_the_first_page_has_the_benchmarks_tools_and_parts() -> None:
    assert len(TABLE) == 4 and "four published benchmarks" in text("README.md")
    assert numbers(TABLE["GTA-Atomic"][1]) == [len(ATOMIC)]
    assert numbers(TABLE["GTA-Workflow"][1]) == [len(WORKFLOW)]
    assert f"four of {len(ATOMIC)} real tools" in text("docs/benchmarks/gta_atomic.md")
    assert f"and {len(WORKFLOW)} tools. A judge" in text("docs/benchmarks/gta_workflow.md")
    capabilities = {name.partition("_with")[0] for name in CAPABILITIES}  # two of them also without tool use
    shape = (len(capabilities), sum(name.startswith("mmau.") for name in TASKS), len(DOMAINS))
    assert shape == (5, 20, 5)
    assert "five agent capabilities in twenty offline tasks of five domains" in TABLE["Apple MMAU"][1]


def test_the_page_of_tools_has_the_numbers_of_both_lists() -> None:
    sentence = re.search(r"^GTA-Atomic has \d+ tools.*$", text("docs/benchmarks/tools.md"), re.MULTILINE)
    assert sentence
    assert numbers(sentence[0]) == [
        len(ATOMIC),
        len(WORKFLOW),
        len(ATOMIC & WORKFLOW),
        len(WORKFLOW - ATOMIC),
    ]
    listed = rows(text("docs/benchmarks/tools.md"), "category", "GTA-Atomic", "added by GTA-Workflow")
    assert Counter(name for row in listed for name in row[1].split(", ")) == Counter(ATOMIC)


def test_the_bundled_files_of_gta_atomic_are_as_many_as_the_page_says() -> None:
    cell = next(row[3] for row in rows(text("docs/data.md"), "benchmark", "bundled") if row[0] == "GTA-Atomic")
    files = {folder: len(list((MINI / folder).iterdir())) for folder in ("image", "search")}
    assert f"{files['image']} pictures, {files['search']} texts as the web" in cell
