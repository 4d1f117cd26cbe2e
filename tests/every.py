"""One test over many values, where ``pytest.mark.parametrize`` makes a test of each.

A test costs a millisecond and more of the suite's time however little it does. Use this where nothing is told apart by
the test: the same check over the records of a file. Every value is tried, and each that fails is named.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

Check = Callable[..., None]


def every(names: str | Sequence[str], values: Iterable[Any], ids: Any = str) -> Callable[[Check], Check]:
    """Arguments as those of ``parametrize``; ``ids`` name the value that fails, where ``pytest.param`` does not.

    Without any value, or with a single one that is marked, the test has this mark or is skipped.
    """
    single = isinstance(names, str)
    wanted = [names] if isinstance(names, str) else names
    rows = [value if hasattr(value, "marks") else pytest.param(*([value] if single else value)) for value in values]
    named = [ids(row.values[0] if single else row.values) for row in rows] if callable(ids) else ids
    labels = [row.id or str(name)[:200] for row, name in zip(rows, named, strict=True)]
    marks = [mark for row in rows for mark in row.marks]
    if not rows:
        marks = [pytest.mark.skip(reason="there are no values")]
    assert not marks or len(rows) <= 1, "a value with marks of its own needs a test of its own"

    def over_all(check: Check) -> Check:
        def test(**fixtures: Any) -> None:
            failures: list[BaseException] = []
            for label, row in zip(labels, rows, strict=True):
                try:
                    check(**dict(zip(wanted, row.values, strict=True)), **fixtures)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"{', '.join(wanted)}: {label}")
                    failures.append(error)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(rows)} values", failures)

        parameters = inspect.signature(check).parameters.values()
        test.__signature__ = inspect.Signature([one for one in parameters if one.name not in wanted])  # type: ignore[attr-defined]
        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        test.pytestmark = [*getattr(check, "pytestmark", []), *marks]  # type: ignore[attr-defined]
        return test

    return over_all
