"""One test over many values, where ``pytest.mark.parametrize`` makes a test of each.

A test costs a millisecond and more of the suite's time however little it does. Use this where nothing is told apart by
the test: the same check over the records of a file. Every value is tried, and each that fails is named.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from tests.vectors import VECTOR

Check = Callable[..., None]


def every(names: str | Sequence[str], values: Iterable[Any], ids: Any = str) -> Callable[[Check], Check]:
    """Arguments as those of ``parametrize``; ``ids`` name the value that fails, where ``pytest.param`` does not.

    Values with marks of their own, which are skipped, are left out beside others. A test without others has their
    marks, and one without any value is skipped. The mark ``vector`` makes a value a counted one: see tests.vectors.
    """
    single = isinstance(names, str)
    wanted = [names] if isinstance(names, str) else names
    rows = [value if hasattr(value, "marks") else pytest.param(*([value] if single else value)) for value in values]
    named = [ids(row.values[0] if single else row.values) for row in rows] if callable(ids) else ids
    labelled = [(row.id or str(name)[:200], row) for row, name in zip(rows, named, strict=True)]
    whole = [(label, row) for label, row in labelled if all(mark.name == VECTOR for mark in row.marks)]
    marks = [] if whole else [mark for row in rows[:1] for mark in row.marks]
    if not rows:
        marks = [pytest.mark.skip(reason="there are no values")]
    counted = any(row.marks for _, row in whole)

    def over_all(check: Check) -> Check:
        def test(**fixtures: Any) -> None:
            failures: list[BaseException] = []
            record = fixtures.pop("record_property") if counted else None
            for label, row in whole:
                found = len(failures)
                try:
                    check(**dict(zip(wanted, row.values, strict=True)), **fixtures)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"{', '.join(wanted)}: {label}")
                    failures.append(error)
                for mark in row.marks:
                    record(VECTOR, [*mark.args, len(failures) == found])
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(whole)} values", failures)

        parameters = [one for one in inspect.signature(check).parameters.values() if one.name not in wanted]
        if counted:
            parameters.append(inspect.Parameter("record_property", inspect.Parameter.POSITIONAL_OR_KEYWORD))
        test.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        test.pytestmark = [*getattr(check, "pytestmark", []), *marks]  # type: ignore[attr-defined]
        return test

    return over_all
