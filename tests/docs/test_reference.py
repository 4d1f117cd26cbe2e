"""Tables of the pages say what the code does."""

from __future__ import annotations

import argparse
import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from agentgauge.agent.dialects.registry import OURS
from agentgauge.cli.main import COMMANDS, brought_along
from agentgauge.core.capabilities import TaskOption, presentation_of
from agentgauge.core.task_registry import known_options, known_tasks
from agentgauge.run.options import OPTIONS
from bench_gta.atomic.fixes import Fix
from bench_gta.similarity import BACKENDS
from bench_mmau.fixes import Fixes as MmauFixes
from bench_wild.fixes import Fix as WildFix
from tests.docs.pages import PAGES, blocks, rows, text
from tool_impls.availability import check
from tool_impls.operation.search import SERPER_KEY
from tool_impls.registry import BACKENDS as BACKENDS_OF_TOOLS
from tool_impls.registry import OURS as OURS_OF_TOOLS
from tool_impls.registry import parse
from tool_impls.server.command import parser
from tool_impls.settings import TOP, ToolSettings

OPTIONS_PAGE = text("docs/options.md")
PYTESTS_OWN = {
    "--alluredir",
    "--junitxml",
    "--lf",
    "--maxfail",
    "--dist",
    "--durations",
    "--clean-alluredir",
    "--benchmark-only",
    "--pyargs",
    "--help",
}
OF_THE_BENCHMARKS = set(re.findall(r'addoption\(\s*"(--[\w-]+)"', text("benchmarks/conftest.py")))
NOT_YET: set[str] = set()


def _plain(cell: str) -> str:
    return cell.replace("`", "")


def test_the_page_has_every_option_in_the_order_of_help() -> None:
    written = [_plain(row[0]) for row in rows(OPTIONS_PAGE, "option", "default")]
    assert written == [f"{name}={more['metavar']}" if "metavar" in more else name for name, more in OPTIONS.items()]


@pytest.mark.parametrize("row", rows(OPTIONS_PAGE, "option", "default"), ids=lambda row: row[0].strip("`"))
def test_the_page_has_the_default_that_help_tells(row: list[str]) -> None:
    told = re.search(r"\(default: (.*)\)$", OPTIONS[_plain(row[0]).partition("=")[0]]["help"])
    assert _plain(row[1]) == (told[1] if told else "–")


def test_the_page_has_every_option_of_the_benchmarks() -> None:
    written = [(_plain(row[0]), _plain(row[1])) for row in rows(OPTIONS_PAGE, "option", "accepted")]
    assert sorted(written) == sorted((option.name, _values(option)) for option in known_options().values())


def _values(option: TaskOption) -> str:
    return ", ".join(option.accepted) or (
        "–" if option.default is None else f"{option.metavar}, default {option.default}"
    )


def test_the_page_has_every_task_with_its_columns() -> None:
    written = [
        [_plain(row[0]), _plain(row[1]), *row[2].split(", ")] for row in rows(OPTIONS_PAGE, "task", "marker for `-m`")
    ]
    expected = [
        [name, name.replace(".", "_"), *presentation_of(task).columns]
        for name, task in known_tasks().items()
        if name != "toy.say" and not task.data.in_run_folder
    ]
    assert sorted(written) == sorted(expected)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_option_that_a_page_gives_to_pytest_exists(page: Path) -> None:
    given = re.findall(
        r"(?:^ {4}|`|and |then `)(?:AGENTGAUGE\S+ )?(?:\S*bin/)?pytest\b([^`\n#]*)",
        page.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    used = {option for words in given for option in re.findall(r"(?<=\s)--[\w-]+", words)}
    assert used - set(OPTIONS) - set(known_options()) - PYTESTS_OWN - OF_THE_BENCHMARKS == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_agentgauge_command_that_a_page_names_exists(page: Path) -> None:
    used = set(
        re.findall(r"(?:^ {4}|`)(?:\S*bin/)?agentgauge ([a-z][\w-]*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    )
    known = COMMANDS.keys() | brought_along().keys()
    assert used - known - NOT_YET == set()
    assert not NOT_YET & known, "a command that is said to be missing is there"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_make_target_that_a_page_names_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    assert set(re.findall(r"(?:^ {4}|`)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE)) <= targets


FIXES = {
    "GTA-Atomic": [fix.name for fix in Fix],
    "GTA-Workflow": [],
    "WildToolBench": [fix.name for fix in WildFix],
    "Apple MMAU": [switch.name for switch in fields(MmauFixes)],
}


@pytest.mark.parametrize("name", FIXES)
def test_every_fix_of_strict_scoring_is_in_the_table_of_its_benchmark(name: str) -> None:
    """Each at the beginning of a cell under *strict*; no other name stands there."""
    section = text("docs/score-fidelity.md").partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    table = rows(section, "rule", "original", "parity", "strict")
    assert all(len(row) == 4 for row in table)
    named = {found[1] for row in table if (found := re.match(r"`(\w+)`:", row[3]))}
    assert named == set(FIXES[name])


def test_every_dialect_is_listed() -> None:
    assert [_plain(row[0]) for row in rows(text("docs/dialects.md"), "dialect", "for")] == [
        "native",
        "react",
        *OURS,
    ]


def test_every_similarity_is_listed() -> None:
    assert [_plain(row[0]) for row in rows(text("docs/score-fidelity.md"), "backend", "E")] == list(BACKENDS)


def test_every_tool_is_listed_with_its_category_and_whether_it_works_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (SERPER_KEY, "MATHPIX_APP_ID", "MATHPIX_APP_KEY"):
        monkeypatch.delenv(name, raising=False)
    listed = [
        [_plain(row[0]), row[1], row[3] == "yes"] for row in rows(text("docs/tools.md"), "tool", "category", "backend")
    ]
    states = check(ToolSettings())
    assert listed == [[name, kind.category, states[name] == "ready"] for name, kind in OURS_OF_TOOLS.items()]
    assert sum(offline for _, _, offline in listed) >= 27


def test_every_setting_of_the_tools_has_an_example_that_is_read(tmp_path: Path) -> None:
    tables = [tomllib.loads(found) for found in blocks(text("docs/tools.md"), "toml")]
    written = [table["tools"] for table in tables if "project" not in table]
    shown = {key for tools in written for key in _keys(tools)}
    for tools in written:
        parse(tools, tmp_path)
    own = {name: kind.options for name, kind in OURS_OF_TOOLS.items()}
    known = {(table, option.name) for table, options in {**BACKENDS_OF_TOOLS, **own}.items() for option in options}
    known -= {(table, "device") for table, _ in known if table != "detection"}  # one example for all
    assert shown - {("OCR", "seconds"), ("OCR", "queue")} == known | {("", option.name) for option in TOP} | {
        ("", "disable")
    }


def _keys(tools: dict[str, Any]) -> set[tuple[str, str]]:
    """Table and key of every value; the table of the top is empty."""
    return {(table, key) for table, value in tools.items() for key in (value if isinstance(value, dict) else ())} | {
        ("", key) for key, value in tools.items() if not isinstance(value, dict)
    }


def test_every_option_of_the_tool_server_is_listed() -> None:
    listed = {row[0].strip("`").split()[0] for row in rows(text("docs/tools.md"), "option", "default", "meaning")}
    told = [action for action in parser()._actions if action.help != argparse.SUPPRESS]
    offered = {name for action in told for name in action.option_strings} - {"-h", "--help"}
    assert listed == offered
