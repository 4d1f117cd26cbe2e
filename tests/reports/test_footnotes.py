"""What is known to be inconsistent in published tables stands at the figures, wherever published rows are shown."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from agentgauge_reports.leaderboard import leaderboard
from agentgauge_reports.several import joint_leaderboard
from agentgauge_reports.tables import rows

from agentgauge.core.errors import UsageProblem
from agentgauge.core.published import Column, Footnote, Leaderboard, Published
from tests.plugin.toy import toy
from tests.reports.runs import INSTALLED, TASKS, known, page_data, write_run

ROOT = Path(__file__).resolve().parents[2]
FILES = {file.stem: json.loads(file.read_text("utf-8")) for file in sorted(ROOT.glob("bench_*/**/reference/*.json"))}
OF_THE_DATA = "table_4_dataset"  # it is in docs/benchmarks/mmau.md

BOARDS = {board.title: board for task in INSTALLED if task.published for board in task.published.leaderboards()}
NOTED = [(title, note) for title, board in BOARDS.items() for note in board.footnotes]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of every task that has published tables, with a figure in each of their columns."""
    path = tmp_path_factory.mktemp("runs") / "run"
    write_run(
        path, [], missing=[(task.name, "s") for task in INSTALLED if task.published and task.published.leaderboards()]
    )
    summary = json.loads((path / "summary.json").read_text(encoding="utf-8"))
    for column in (column for board in BOARDS.values() for column in board.columns):
        if part := summary["tasks"].get(column.part):
            part["metrics"].setdefault(column.name, {"value": 1.0, "low": None, "high": None, "n": 1})
    (path / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def summary(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    return found


def sections(page: str) -> dict[str, list[str]]:
    """Heading of a table → the lines below it."""
    parts = re.split(r"^#{2,3} (.*)$", page, flags=re.MULTILINE)
    return {title: text.splitlines() for title, text in zip(parts[1::2], parts[2::2], strict=True)}


def is_at_its_figures(title: str, note: Footnote, lines: list[str]) -> bool:
    """Whether the footnote's line is below the table, and its sign at every figure, and at no other."""
    (line,) = (line for line in lines if line.endswith(note.text))
    sign = line.removeprefix("- ").removesuffix(note.text).strip().removeprefix("\\")
    assert bool(sign) is bool(note.models or note.columns) and sign == (note.mark or sign)
    rows = [line for line in lines if re.match(r"\| (?!\*[^*])", line)]  # without the names of groups
    cells = [re.sub(r" \(.*?\)|\*\*", "", row).strip("| ").split(" | ") for row in rows]
    board = BOARDS[title]
    keys = ["", *(column.key for column in board.columns)]
    found = {
        ("" if place == 0 else re.sub(r"[†‡§‖¶]+$", "", row[0]), key)
        for place, row in enumerate(cells)
        for key, cell in zip(keys, row, strict=True)
        if sign and sign in re.sub(r".*[\w)–]", "", cell)
    }
    return found == {(model, key) for model in note.models or [""] for key in note.columns or [""] if model or key}


@pytest.mark.parametrize(("title", "note"), NOTED, ids=lambda value: getattr(value, "text", value)[:40])
def test_a_footnote_stands_below_its_table_and_its_sign_at_its_figures(
    title: str, note: Footnote, run: Path, summary: dict[str, Any]
) -> None:
    both = joint_leaderboard({"one": summary, "other": summary}, TASKS)
    for page in (leaderboard(summary, TASKS), both, rows(run, "md", tasks=TASKS)):
        assert is_at_its_figures(title, note, sections(page)[title])


def test_groups_have_their_names_and_older_editions_are_folded(summary: dict[str, Any]) -> None:
    page = leaderboard(summary, TASKS).partition("## GTA-Atomic\n")[2].partition("\n## ")[0]
    newest, _, others = page.partition("\n### Other editions\n\n<details><summary>show them</summary>\n")
    assert "### GTA-Atomic, February 2026" in newest and "### GTA, March 2025" in others.partition("</details>")[0]
    api, own = newest.partition("| *open models* |")[::2]
    assert "| *models behind an API* |" in api and "| gpt-5 |" in api and "| qwen3-8b |" in own


@pytest.mark.uses("page")
def test_the_page_has_every_footnote_at_its_figures(run: Path) -> None:
    from agentgauge_reports.page.page import write_page

    boards = page_data(write_page(run, run / "report.html", tasks=TASKS))["boards"]
    shown = {one["title"]: one for board in boards for one in board["editions"]}
    for title, note in NOTED:
        ((sign, _),) = [one for one in shown[title]["footnotes"] if one[1] == note.text]
        titles = [column.title for column in BOARDS[title].columns if column.key in note.columns] or ["model"]
        marks = {row["model"]: row["marks"] for row in shown[title]["rows"]}
        for at in ([marks[model] for model in note.models] or [shown[title]["marks"]]) if sign else []:
            assert all(sign in at[name] for name in titles), (title, note)


def test_csv_and_json_keep_figures_numbers_and_have_the_footnotes_beside(run: Path) -> None:
    blocks = [list(csv.DictReader(io.StringIO(block))) for block in rows(run, "csv", tasks=TASKS).split("\n\n")]
    of_tables = {block[0]["table"]: block for block in blocks if "footnotes" in block[0]}
    tables = {one["table"]: one for one in json.loads(rows(run, "json", tasks=TASKS)) if "footnotes" in one}
    assert of_tables.keys() == tables.keys() == BOARDS.keys()
    for title, note in NOTED:
        named = [row for row in of_tables[title] if row["this_run"] == "0" and row["model"] in note.models]
        for row in named or of_tables[title][1:]:
            assert note.text in row["footnotes"]
        assert note.text in {text for _, text in tables[title]["footnotes"]}
    swapped = {row["model"]: row["Task 2"] for row in of_tables["WildToolBench, main results (all models)"]}
    assert (swapped["Claude-3.7-Sonnet"], swapped["Grok-4"]) == ("52.34", "50.00")  # as published


def test_every_note_of_a_reference_file_is_at_a_table_that_reports_show() -> None:
    shown = [note for _, note in NOTED]
    for file in FILES.values():
        for one in file["footnotes"]:
            tables = [table for table in one["tables"] if table != OF_THE_DATA]
            assert sum(note.text == one["note"] for note in shown) == len(tables), one
    for one in FILES["mmau"]["derived"]["published_inconsistencies"]:
        named = [note for note in shown if one["model"] in note.models and one["column"] in note.columns]
        assert [note for note in named if f"{one['recomputed']:.2f}" in note.text], one


def test_figures_that_the_publication_stars_are_starred() -> None:
    starred = {(model, key) for _, note in NOTED if note.mark == "*" for model in note.models for key in note.columns}
    tables = FILES["mmau"]["tables"].values()
    rows = [row for table in tables for row in table.get("rows", ()) if "partial" in row]
    assert starred == {(row["model"], key) for row in rows for key in row["partial"]} != set()


def test_statistics_of_the_data_are_in_the_docs_with_their_notes() -> None:
    page = " ".join((ROOT / "docs" / "benchmarks" / "mmau.md").read_text(encoding="utf-8").split())
    tables = FILES["mmau"]["tables"]
    for domain, source, task, prompts, _ in tables[OF_THE_DATA]["rows"]:
        assert f"| {domain} | {source} | {task} | {prompts}" in page
    models = tables["table_5_models"]
    assert all(name in page for name in (*models["commercial"], *models["open"]))
    for one in FILES["mmau"]["footnotes"]:
        assert OF_THE_DATA not in one["tables"] or one["note"] in page


def test_a_footnote_to_a_figure_that_the_table_lacks_is_a_mistake_of_the_author() -> None:
    notes = (Footnote("Misprinted: 9 & 0 are exchanged.", ("worst",), ("Acc",)),)
    columns = (Column("Acc", "Acc", "toy.say", "Acc"),)
    board = Leaderboard("first", "paper", "2025", columns, [{"model": "best", "Acc": 90.0}], footnotes=notes)
    with pytest.raises(UsageProblem, match="a footnote to worst, which it does not have"):
        known(toy(published=Published(dialects=("native",), leaderboards=lambda: [board])))
