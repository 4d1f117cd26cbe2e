"""Reports that no list at the end shows are counted and not kept."""

from __future__ import annotations

import re

import pytest

from tests.plugin.test_run import WORKERS

SPY = """
def pytest_terminal_summary(terminalreporter):
    for name in ("passed", "wrong", ""):
        reports = terminalreporter.stats.get(name, ())
        print(f"KEPT {name or 'quiet'} {len(reports)} {len(set(map(id, reports)))}")
"""

HALF = """
from benchmarks.toys import HalfWrongToy
announce(HalfWrongToy())
"""


@pytest.fixture
def run(project, model):
    conftest = project.path / "conftest.py"
    conftest.write_text(conftest.read_text() + HALF + SPY)

    def run(*arguments):
        result = project.run(*model, "--attempts", "4", *arguments)
        assert result.status == 0, result.output
        return result.output, {
            name: (int(all), int(own)) for name, all, own in re.findall(r"KEPT (\w+) (\d+) (\d+)", result.output)
        }

    return run


@WORKERS
def test_the_first_few_stand_for_all(run, workers):
    output, kept = run(*workers)
    assert kept == {"passed": (12, 3), "wrong": (12, 3), "quiet": (0, 0)}
    assert "12 passed" in output and "12 wrong" in output
    assert "... and 9 more wrong; -v shows them all" in output


@pytest.mark.parametrize(
    ("option", "listed", "word"),
    [
        ("-rp", {"passed": (12, 12), "wrong": (12, 3)}, "PASSED"),
        ("-v", {"passed": (12, 3), "wrong": (12, 12)}, "wrong"),
    ],
)
def test_what_is_listed_is_kept(run, option, listed, word):
    output, kept = run(option)
    assert kept == listed | {"quiet": (0, 0)}
    assert len(set(re.findall(rf"^{word} .*\[(s\d(?:#\d)?)\]$", output, re.MULTILINE))) == 12


def test_durations_are_of_all_reports(run):
    output, kept = run("--durations", "0", "-vv")
    assert kept == {"passed": (12, 12), "wrong": (12, 12), "quiet": (48, 48)}
    assert len(re.findall(r"^\d+\.\d+s (?:setup|call|teardown) ", output, re.MULTILINE)) == 72
