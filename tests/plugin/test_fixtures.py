"""The fixtures of a benchmark's cases beside those of a project."""

from __future__ import annotations

import pytest

from tests.plugin.project import CONFTEST

OWN_SAMPLE = """
import pytest

@pytest.fixture
def sample():
    raise RuntimeError("for other tests")
"""

NAMED = """
from agentgauge.pytest_plugin import benchmark_task

@benchmark_task("toy.say")
def test_say(sample, outcome):
    assert outcome.record.sample == sample
"""

CATCHES = """
import pytest
from agentgauge.pytest_plugin import benchmark_task

@pytest.fixture
def room(outcome):
    try:
        outcome.check()
        wrong = None
    except AssertionError as error:
        wrong = error
    yield wrong
    print("released")

@benchmark_task("toy.say")
def test_say(room):
    if room is not None:
        raise room
"""

OWN_WORD = """
import pytest

class Word(str):
    pass

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    report = yield
    report.outcome = Word(report.outcome)
    return report
"""

WALKS_ITSELF = """
import pytest
from _pytest.runner import runtestprotocol

class Walker:
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        if "odd" in item.extra_keyword_matches:
            runtestprotocol(item, nextitem=nextitem)
            return True

def pytest_sessionstart(session):
    session.config.pluginmanager.register(Walker())
"""

MISTAKEN = """
def test_ordinary(outcome):
    pass
"""


@pytest.mark.parametrize("own", ["", OWN_SAMPLE], ids=["ours alone", "the project has one of the name"])
def test_sample_is_the_case_whatever_the_project_calls_so(project, model, own):
    (project.path / "conftest.py").write_text(CONFTEST + own)
    (project.path / "test_toy.py").write_text(NAMED)
    result = project.run(*model, "--run-dir", "run")
    assert result.status == 0, result.output
    assert "5 passed, 1 wrong" in result.output  # nobody called check


def test_a_case_has_its_own_outcome_whichever_plugin_walks_through_it(project, model, endpoint):
    (project.path / "conftest.py").write_text(CONFTEST + WALKS_ITSELF)
    (project.path / "test_toy.py").write_text(NAMED)
    result = project.run(*model, "--run-dir", "run")
    assert "5 passed, 1 wrong" in result.output
    assert len(endpoint.requests) == 6


def test_a_fixture_that_caught_a_wrong_answer_is_torn_down(project, model):
    (project.path / "test_toy.py").write_text(CATCHES)
    result = project.run(*model, "-s", "--run-dir", "run")
    assert result.output.count("released") == 6
    assert "5 passed, 1 wrong" in result.output


def test_a_report_with_a_word_of_its_own_type_ends_nothing(project, model):
    (project.path / "conftest.py").write_text(CONFTEST + OWN_WORD)
    result = project.run(*model, "--run-dir", "run")
    assert result.status == 0, result.output


def test_an_ordinary_test_is_told_that_an_outcome_needs_a_task(project, model):
    (project.path / "test_toy.py").write_text(MISTAKEN)
    result = project.run(*model, "-q", "--run-dir", "run")
    assert result.status == 1
    assert (
        "the fixtures sample and outcome are for test functions that are marked with benchmark_task(name)"
        in result.output
    )
    assert "worker.py" not in result.output
