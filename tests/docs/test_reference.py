"""Tables of the pages say what the code does."""

from __future__ import annotations

import argparse
import inspect
import re
import runpy
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from agentgauge_reports.rows import CallResult, MetricResult, SampleResult

import agentgauge
import agentgauge.authoring
import agentgauge.dialects
import agentgauge.tools
from agentgauge.agent.dialects.registry import OURS
from agentgauge.core.options import OPTIONS
from agentgauge.core.registry import Registry
from agentgauge.core.task import Task
from bench_gta.atomic.fixes import Fix
from bench_gta.similarity import BACKENDS
from bench_mmau.fixes import Fixes as MmauFixes
from bench_wild.fixes import Fix as WildFix
from tests.docs.pages import PAGES, ROOT, blocks, of_all_plugins, rows, text
from tool_impls.availability import check
from tool_impls.operation.search import SERPER_KEY
from tool_impls.registry import BACKENDS as BACKENDS_OF_TOOLS
from tool_impls.registry import OURS as OURS_OF_TOOLS
from tool_impls.registry import parse
from tool_impls.server.command import parser
from tool_impls.settings import TOP, ToolSettings

OPTIONS_PAGE = text("docs/options.md")
WRITER = runpy.run_path(str(ROOT / "docs" / "write_tables.py"))


def _plain(cell: str) -> str:
    return cell.replace("`", "")


@pytest.mark.uses("agents", "batch", "budget", "cache", "gates", "recording", "shards")
@of_all_plugins
@pytest.mark.parametrize("page", ["options.md", "tools.md"])
def test_the_tables_are_those_that_the_code_writes(page: str) -> None:
    """Else ``make docs`` writes them anew."""
    assert WRITER["written"](page) == text(f"docs/{page}")


@of_all_plugins
def test_the_options_with_more_to_read_are_known() -> None:
    assert WRITER["MORE"].keys() <= OPTIONS.keys()


@pytest.mark.uses("agents", "batch", "budget", "cache", "gates", "recording", "shards")
@of_all_plugins
def test_every_option_has_its_row() -> None:
    listed = [_plain(row[0]) for row in rows(OPTIONS_PAGE, "option", "default", "meaning", "more")]
    assert listed == [f"{name}={one.metavar}" if one.metavar else name for name, one in OPTIONS.items()]
    listed = [_plain(row[0]).partition("=")[0] for row in rows(OPTIONS_PAGE, "option", "default", "meaning", "of")]
    assert listed == list(Registry.installed().options())


@pytest.mark.parametrize(
    ("text", "accepted", "expected"),
    [
        ("parity is so; strict is not parity", ("parity", "strict"), "`parity` is so; `strict` is not parity"),
        ("the model's, such as 'a>=1', with --model", (), "the model's, such as `a>=1`, with `--model`"),
        ("a [models.NAME] table, or scripted:FILE; so", (), "a `[models.NAME]` table, or `scripted:FILE`; so"),
        ("a well-known name--so", (), "a well-known name--so"),
    ],
)
def test_code_in_the_texts_of_help_is_marked(text: str, accepted: tuple[str, ...], expected: str) -> None:
    assert WRITER["marked"](text, accepted) == expected


def test_the_page_has_every_task_with_its_columns() -> None:
    written = [
        [_plain(row[0]), _plain(row[1]), *row[2].split(", ")] for row in rows(OPTIONS_PAGE, "task", "marker for `-m`")
    ]
    expected = [
        [task.name, task.name.replace(".", "_"), *task.shown.columns]
        for task in Registry.installed()
        if not task.data.in_run_folder
    ]
    assert sorted(written) == sorted(expected)


def test_every_make_target_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    pages = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert set(re.findall(r"(?:^ {4}|`)make ([a-z-]+)", pages, re.MULTILINE)) <= targets


FIXES = {
    "gta_atomic": [fix.name for fix in Fix],
    "gta_workflow": [],
    "wild": [fix.name for fix in WildFix],
    "mmau": [switch.name for switch in fields(MmauFixes)],
}


@pytest.mark.parametrize("name", FIXES)
def test_every_fix_of_strict_scoring_is_in_the_table_of_its_benchmark(name: str) -> None:
    """Each at the beginning of a cell under *strict*; no other name stands there."""
    section = text(f"docs/benchmarks/{name}.md").partition("\n## Fidelity\n")[2]
    table = rows(section, "rule", "original", "parity", "strict")
    assert all(len(row) == 4 for row in table)
    named = {found[1] for row in table if (found := re.match(r"`(\w+)`:", row[3]))}
    assert named == set(FIXES[name])


def test_every_dialect_is_listed() -> None:
    assert [_plain(row[0]) for row in rows(text("docs/models.md"), "dialect", "for")] == [
        "native",
        "react",
        *OURS,
    ]


def test_every_similarity_is_listed() -> None:
    assert [_plain(row[0]) for row in rows(text("docs/benchmarks/gta_atomic.md"), "backend", "E")] == list(BACKENDS)


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


@pytest.mark.uses("formats")
def test_every_format_of_reports_is_listed() -> None:
    from agentgauge_reports.formats.known import FORMATS

    table = rows(text("docs/reports.md"), "format", "what is written", "95 % intervals")
    assert [_plain(name) for row in table for name in row[0].split(", ")] == list(FORMATS)


def test_every_field_of_a_read_run_is_listed() -> None:
    table = rows(text("docs/reports.md"), "table", "a row", "fields")
    listed = {_plain(row[0]): re.findall(r"`(\w+)`", row[2]) for row in table}
    kinds = {"run.metrics": MetricResult, "run.samples": SampleResult, "run.calls": CallResult}
    assert listed == {name: [field.name for field in fields(kind)] for name, kind in kinds.items()}


def test_every_part_of_a_task_and_argument_is_on_the_page_about_benchmarks() -> None:
    page = text("docs/adding-a-benchmark.md")
    table = rows(page, "part")
    parts = [field.name for field in fields(Task) if field.default is None]
    assert sorted(_plain(row[0]) for row in table) == sorted(parts)
    assert all((ROOT / _plain(row[-1])).is_file() for row in table)
    arguments = list(inspect.signature(agentgauge.benchmark).parameters)[1:]
    assert sorted(_plain(row[0]) for row in rows(page, "argument")) == sorted(arguments)


def test_the_reference_has_every_public_name() -> None:
    public = [f"{module.__name__}.{name}" for module in MODULES for name in module.__all__]
    listed = re.findall(r"^\| `(\w+)` \| `([\w.]+)` \| .*\w", text("docs/api.md"), re.MULTILINE)
    assert sorted(f"{module}.{name}" for name, module in listed) == sorted(public)


MODULES = (agentgauge, agentgauge.authoring, agentgauge.tools, agentgauge.dialects)
