"""Reports of ordinary tests beside benchmark cases say the same with workers and without."""

from __future__ import annotations

TESTS = """
import pytest
def test_wrong(record_property):
    record_property("seen", 7)
    print("printed")
    assert [1, 2] == [1, 3]
def test_skipped():
    pytest.skip("no need")
"""


def test_reports_of_a_run_say_the_same_with_workers(project, model):
    (project.path / "test_ordinary.py").write_text(TESTS)
    told = []
    for workers in ((), ("-n", "2")):
        result = project.run(*model, *workers, "-rA", "--junitxml", "report.xml", "--run-dir", f"run{len(told)}")
        assert result.status == 1, result.output
        lines = [line.strip() for line in result.output.splitlines()]
        summary = sorted(line for line in lines if line.startswith(("PASSED", "FAILED", "SKIPPED", "E   ", "printed")))
        told.append((summary, (project.path / "report.xml").read_text().count('<property name="seen" value="7" />')))
    assert told[0] == told[1]
    assert told[0][1] == 1
