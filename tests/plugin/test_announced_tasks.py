"""Tasks that a conftest.py announces, and no entry point: the process of the embedded model knows them too, and what is
wrong with them is told before the first request."""

from __future__ import annotations

import pytest

from tests.plugin.project import Project

CONFTEST = """
import pytest
from agentgauge import announce
from quiz import Quiz
announce(Quiz())
pytest_plugins = ["agentgauge.pytest_plugin"]
"""

QUIZ = """
from tests.plugin.toy import Toy

class Quiz(Toy):
    pass
"""


@pytest.fixture
def quiz(project: Project) -> Project:
    """Its task is in a module that only pytest's own settings put on the path."""
    (project.path / "lib").mkdir()
    (project.path / "lib" / "quiz.py").write_text(QUIZ)
    (project.path / "conftest.py").write_text(CONFTEST)
    (project.path / "pytest.ini").write_text("[pytest]\npythonpath = lib\n")
    return project


def test_the_oracle_gives_their_gold(quiz: Project) -> None:
    for name, workers in (("serial", ()), ("spread", ("-n", "2"))):
        result = quiz.run("--model=oracle", f"--run-dir={name}", *workers)
        assert result.status == 0, result.output
        assert result.summary(name)["tasks"]["toy.say"]["metrics"]["Acc"]["value"] == 100


def test_a_file_that_only_pytest_can_import_is_named(quiz: Project) -> None:
    quiz.path.joinpath("conftest.py").write_text(CONFTEST + "import sys; sys.modules['xdist.plugin']\n")
    result = quiz.run("--model=oracle", "--run-dir=run")
    assert result.status == 4, result.output
    assert "conftest.py announces tasks and cannot be imported without pytest (KeyError" in result.output


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        ("def score(self, *given): return None", "toy.say: score returned None; return a Score (sample s0)"),
        (
            "def score(self, sample, output, *given): return output['answer']",
            "toy.say: score(sample, None, …), which scores a broken case, fails: TypeError",
        ),
        (
            "def metrics(self, scoring): return MetricFormula(lambda sums: {'Acc': sums['rigth'] if sums else None})",
            "toy.say: its metrics and breakdowns of one score (right=0, all=1) fail: KeyError: 'rigth' (sample s0)",
        ),
    ],
    ids=["no-score", "broken-case", "metrics"],
)
def test_a_defect_in_scoring_costs_no_request(quiz: Project, method: str, sentence: str) -> None:
    (quiz.path / "lib" / "quiz.py").write_text(
        f"from agentgauge import MetricFormula\n{QUIZ.replace('pass', method)}", encoding="utf-8"
    )
    result = quiz.run("--model=oracle", "--run-dir=run")
    assert result.status == 4, result.output
    assert sentence in result.output and "; no request was sent" in result.output
