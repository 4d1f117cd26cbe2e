"""The ``outcome`` fixture's value, and how pytest is told of a wrong answer and of a fault."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from harness.types import Record


class WrongAnswer(AssertionError, pytest.fail.Exception):  # type: ignore[misc, name-defined]
    """The model's answer is wrong: the case fails. Shown as its text alone, without a traceback of ours."""

    def __init__(self, message: str) -> None:
        pytest.fail.Exception.__init__(self, message, pytrace=False)


class BrokenCase(pytest.fail.Exception):  # type: ignore[misc, name-defined]
    """A fault that is not the model's. Raised in set-up, so pytest says *error* and Allure says *broken*."""

    def __init__(self, message: str) -> None:
        super().__init__(message, pytrace=False)


@dataclass(frozen=True)
class Outcome:
    """How a case ended."""

    record: Record

    def check(self) -> None:
        """Pass for a right answer. Raises WrongAnswer with what was expected, what came and at which step."""
        __tracebackhide__ = True
        if self.record.status != "passed":
            score = self.record.score
            raise WrongAnswer(score.explanation if score else "no score")
