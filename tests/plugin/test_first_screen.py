"""What a newcomer sees first: all benchmarks, the built-in model, one screen."""

from __future__ import annotations

from tests.plugin.project import run_bundled


def test_the_end_of_a_run_over_all_benchmarks_is_one_screen(tmp_path):
    result = run_bundled("--limit=1", "--model=baseline", "--run-dir=run", cwd=tmp_path)
    lines = result.output.splitlines()
    last = max(number for number, line in enumerate(lines) if " · passed " in line)
    screen = "\n".join(lines[last:])
    assert len(lines) - last <= 40
    for words in ("a floor", "bundled samples", "GTA-Atomic", "GTA-Workflow", "WildToolBench", "Apple MMAU"):
        assert words in screen
    assert "run/report.html" in screen and "agentgauge view" in screen
