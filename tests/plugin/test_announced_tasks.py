"""Tasks that a conftest.py announces, and no entry point: the process of the embedded model knows them too."""

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
