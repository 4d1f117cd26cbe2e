"""The ``outcome`` fixture's value, and how pytest is told of a wrong answer and of a fault."""

from __future__ import annotations

import pytest

from agentgauge.core.types import Record
from agentgauge.store import Line


class WrongAnswer(AssertionError, pytest.fail.Exception):  # type: ignore[misc, name-defined]
    """The model's answer is wrong: the case fails. Shown as its text alone, without a traceback of ours."""

    def __init__(self, message: str) -> None:
        pytest.fail.Exception.__init__(self, message, pytrace=False)


class BrokenCase(pytest.fail.Exception):  # type: ignore[misc, name-defined]
    """A fault that is not the model's. Raised in set-up, so pytest says *error* and Allure says *broken*."""

    def __init__(self, message: str) -> None:
        super().__init__(message, pytrace=False)


class Outcome:
    """How a case ended."""

    def __init__(self, kept: Line | Record) -> None:
        self._kept = kept

    @property
    def record(self) -> Record:
        """Everything that is kept of the case, read when it is asked for: most passed cases need none of it."""
        return self._kept.read() if isinstance(self._kept, Line) else self._kept

    def check(self) -> None:
        """Pass for a right answer. Raises WrongAnswer with what was expected, what came and at which step."""
        __tracebackhide__ = True
        if self._kept.status != "passed":
            told = self._explanation()
            raise WrongAnswer("no score" if told is None else told)

    def _explanation(self) -> str | None:
        if isinstance(self._kept, Line):
            return self._kept.explanation()
        return self._kept.score.explanation if self._kept.score else None
