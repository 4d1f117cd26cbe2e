"""The benchmarks can be collected, and each has its place on the page on performance or on scaling."""

from __future__ import annotations

import pytest

from tests.plugin.project import ROOT, python

pytestmark = pytest.mark.slow

PAGES = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("performance.md", "scaling.md"))


def test_all_are_collected_and_have_a_place(tmp_path):
    command = ["-m", "pytest", "benchmarks", "--benchmark-only", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = python(*command, cwd=ROOT, env={"XDG_CACHE_HOME": str(tmp_path)})
    assert done.status == 0, done.output
    modules = {line.partition("::")[0] for line in done.output.splitlines() if "::" in line}
    assert modules
    assert [module for module in modules if f"<!-- figures: {module[11:-3]} -->" not in PAGES] == []
