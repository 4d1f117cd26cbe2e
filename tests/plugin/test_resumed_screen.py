"""What a resumed run shows concerns its plan alone."""

from __future__ import annotations

import pytest

from tests.plugin.project import run_bundled


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_a_part_of_the_cases_is_resumed_without_a_word_of_the_others(project, model, workers):
    assert "4 deselected" in project.run(*model, "-k", "s0 or s1", "--run-dir", "run").output
    resumed = project.run(*model, "--resume", "run", *workers)
    assert resumed.status == 0 and "deselected" not in resumed.output, resumed.output
    assert "2 passed" in resumed.output and ("collected 2 items" in resumed.output or workers)
    scored = project.run("--rescore", "run", "--run-dir", "again", *workers)
    assert scored.status == 0 and "deselected" not in scored.output and "2 passed" in scored.output


def test_names_that_two_cases_share_are_resumed_as_they_were(project, model):
    data = project.path / "toy" / "toy.jsonl"
    data.write_text('{"id": "x", "say": "a"}\n{"id": "x#2", "say": "b"}\n')
    assert "4 passed" in project.run(*model, "--attempts", "2", "--run-dir", "run").output
    resumed = project.run(*model, "--resume", "run")
    assert resumed.status == 0 and "4 passed" in resumed.output
    project.run(*model, "--attempts", "2", "--run-dir", "part", "test_toy.py::test_say[x#2_0]")
    part = project.run(*model, "--resume", "part")
    assert part.status == 0 and "1 passed, 3 deselected" in part.output


def test_one_task_of_a_benchmark_is_resumed_without_a_letter_of_the_others(tmp_path):
    first = run_bundled("-m", "mmau_tool_single", "--limit=2", "--model=baseline", "--run-dir=run", cwd=tmp_path)
    assert "incomplete" not in first.output
    assert "Apple MMAU: 13 combined scores need tasks that were not selected" in first.output
    resumed = run_bundled("--resume=run", cwd=tmp_path)
    assert "collected 2 items\n" in resumed.output and "2 wrong in" in resumed.output
    assert "skipped" not in resumed.output and "deselected" not in resumed.output
