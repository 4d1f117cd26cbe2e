"""Each of AgentGauge's own plugins is a folder that nothing else needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgauge.core.features import features
from tests.docs.pages import ROOT

FOLDERS = {plugin.value.removesuffix(".plugin"): plugin.name for plugin in features()}
IMPORTED = {
    ("bench_wild/generate", "agentgauge.plugins.recording"),  # options of its own, which it refuses without the folder
    ("agentgauge/pytest_plugin", "agentgauge_reports.allure"),  # the side of pytest, unused without the folder
    ("agentgauge/pytest_plugin", "agentgauge_reports.formats"),  # the same
}
"""The exceptions: folder of the project → plugin."""


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_nothing_outside_of_its_folder_imports_a_plugin() -> None:
    found = set()
    for top in ("agentgauge", "reports", "bench_gta", "bench_wild", "bench_mmau", "tool_impls"):
        for file in (ROOT / top).rglob("*.py"):
            place = file.relative_to(ROOT).parent.as_posix()
            package = place.removeprefix("reports/").replace("/", ".")
            for name in imported(file):
                for folder in FOLDERS:
                    if f"{name}.".startswith(f"{folder}.") and not f"{package}.".startswith(f"{folder}."):
                        found.add((place, folder))
    assert found == {(place, folder) for place, folder in IMPORTED if folder in FOLDERS}


@pytest.mark.parametrize("name", FOLDERS.values())
def test_every_plugin_has_tests_of_its_own(name: str) -> None:
    assert list((ROOT / "tests" / "plugins" / name).rglob("test_*.py"))
