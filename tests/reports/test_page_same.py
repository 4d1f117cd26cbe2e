"""However a run is made, its page is the same apart from times."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.project import Project
from tests.reports.page_runs import chunks, page_data

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def without_times(page):
    return page_data(page), [[case["said"] for case in part] for part in chunks(page)]


def test_resumed_rescored_and_replayed_runs_have_the_same_page(tmp_path):
    def run(*arguments):
        done = Project(ROOT).run(*arguments, data="mini", env={"XDG_CACHE_HOME": str(tmp_path)})
        assert done.status == 0, done.output

    one, two, three, four = (tmp_path / name for name in ("one", "two", "three", "four"))
    chosen = ("bench_wild", "--limit", "8")
    run(*chosen, f"--record={tmp_path}/tape.jsonl", f"--run-dir={one}")
    run(*chosen, f"--rescore={one}", f"--run-dir={two}")
    run(*chosen, f"--replay={tmp_path}/tape.jsonl", f"--run-dir={three}", "-n", "2")
    run(*chosen, f"--run-dir={four}")
    stored = four / "records.jsonl"
    stored.write_text("".join(stored.read_text(encoding="utf-8").splitlines(keepends=True)[:2]), encoding="utf-8")
    run(*chosen, f"--resume={four}")
    expected = without_times(one / "report.html")
    assert len(expected[0]["cases"]["sample"]) == 8
    for folder in (two, three, four):
        assert without_times(folder / "report.html") == expected, folder.name
