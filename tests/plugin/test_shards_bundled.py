"""Every bundled benchmark in shards: put together they are the run in one piece."""

from __future__ import annotations

import pytest
from agentgauge_reports.merge import merge

from tests.plugin.project import records, run_bundled
from tests.reports.test_merge import reports_of

pytestmark = pytest.mark.slow

SHARDS = {"1/3": "first", "2/3": "second", "3/3": "third"}
"""Shard → its folder. The baseline model sees the path, and would answer with a digit of it."""


@pytest.mark.parametrize("model", ["oracle", "baseline"])
def test_every_bundled_benchmark(tmp_path, tool_server, model):
    common = (f"--model={model}", f"--tool-server={tool_server}", "--limit=5")
    run_bundled(*common, "-n", "2", "--run-dir=whole", cwd=tmp_path)
    folders = [tmp_path / name for name in SHARDS.values()]
    for shard, folder in zip(SHARDS, folders, strict=True):
        run_bundled(*common, f"--shard={shard}", f"--run-dir={folder}", cwd=tmp_path)
    merge(folders, tmp_path / "out")
    assert reports_of(tmp_path / "out") == reports_of(tmp_path / "whole")
    sessions = [
        {case["sample"].rpartition("-t")[0] for case in records(folder) if case["task"] == "wild"} for folder in folders
    ]
    assert sum(map(len, sessions)) == len(set.union(*sessions))
