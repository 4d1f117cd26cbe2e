"""Messages and steps beyond the golden cases."""

from __future__ import annotations

from typing import Any

import pytest

from bench_gta.workflow.trace import error_step, opening, until_error

NOTE = "Files: "


@pytest.mark.parametrize(("dialect", "role"), [("react", "user"), ("native", "system"), ("hermes", "system")])
def test_files_are_announced_by_the_user_under_react_only(dialect: str, role: str) -> None:
    assert opening("Go.", ["/d/a.csv", "/d/b.png"], note=NOTE, dialect=dialect) == [
        {"role": role, "content": "Files: `/d/a.csv`, `/d/b.png`"},
        {"role": "user", "content": "Go."},
    ]


def test_earlier_turns_have_announced_the_files() -> None:
    first = opening("One.", ["/d/a.csv"], note=NOTE, dialect="react")
    assert opening("Two.", ["/d/a.csv"], note=NOTE, dialect="react", memory=first) == [
        *first,
        {"role": "user", "content": "Two."},
    ]


@pytest.mark.parametrize(
    ("turns", "kept"),
    [
        ([], 0),
        ([[], [error_step("KeyError", "x")], ["never"]], 2),
        ([[{"role": "assistant", "content": "x"}, error_step("KeyError", "x")], []], 2),
        ([["text"], [{"meta": "error"}], [{"meta": {"type": "thought"}}]], 3),
    ],
)
def test_a_turn_that_begins_with_an_error_is_the_last(turns: Any, kept: int) -> None:
    assert until_error(turns) == turns[:kept]
