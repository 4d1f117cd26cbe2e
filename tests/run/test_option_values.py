"""The values of options: given, kept from an earlier run, or the default; what is refused; what the table names."""

from __future__ import annotations

from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.core.option import LAUNCH, SEVERAL
from agentgauge.core.options import OPTIONS, RunOptions
from agentgauge.run.option_values import checked, folder_of_texts, read_values, refuse_together, server_address

KEYS = {option.key for option in OPTIONS.values()}


def given(**values: Any) -> Namespace:
    return Namespace(**{**dict.fromkeys(KEYS), **values})


EARLIER = {
    "dialect": "react",
    "scoring": "strict",
    "attempts": 3,
    "data": "mini",
    "temperature": 0.5,
    "max_tokens": 9,
    "in_flight": 4,
    "batch": False,
    "tool_server": "http://h",
    "gates": ["a>=1"],
    "limit": 7,
}


GATED = (
    ({}, {"gates": ()}),
    ({"gate": ["b>=2"]}, {"gates": ["b>=2"]}),
    ({"resume": "run"}, {"gates": ["a>=1"]}),
    ({"rescore": "run"}, {"gates": ()}),
)
"""Of an option that may repeat."""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"dialect": "native", "attempts": 1, "temperature": None, "slots": 32}),
        pytest.param({"batch": True}, {"slots": 5000, "batch": True}, marks=pytest.mark.uses("batch")),
        pytest.param({"batch": True, "in_flight": 6}, {"slots": 6}, marks=pytest.mark.uses("batch")),
        ({"temperature": 0.0}, {"temperature": 0.0}),
        *(pytest.param(*one, marks=pytest.mark.uses("gates")) for one in GATED),
        ({"data": "", "tool_server": ""}, {"data": "auto", "tool_server": None}),
        (
            {"resume": "run"},
            {
                **{name: EARLIER[name] for name in ("dialect", "scoring", "attempts", "data", "max_tokens")},
                "slots": 4,
                "temperature": 0.5,
                "tool_server": "http://h",
                "limit": None,
            },
        ),
        pytest.param({"resume": "run", "batch": True}, {"slots": 5000}, marks=pytest.mark.uses("batch")),
        ({"resume": "run", "in_flight": 8, "temperature": 0.0, "dialect": "qwen"}, {"slots": 8, "temperature": 0.0}),
        ({"rescore": "run"}, {"dialect": "react", "attempts": 3, "temperature": None, "slots": 32}),
        ({"replay": "file", "scoring": "parity"}, {"dialect": "react", "scoring": "parity", "tool_server": None}),
    ],
    ids=str,
)
def test_a_value_is_the_given_one_or_the_kept_one_or_the_default(options, expected):
    values = read_values(given(**options), EARLIER if {"resume", "rescore", "replay"} & {*options} else {})
    assert {name: values[name] for name in expected} == expected


@pytest.mark.uses("batch")
def test_the_slots_of_a_run_with_batches_are_kept_by_one_with_batches():
    earlier = {**EARLIER, "batch": True, "in_flight": 400}
    assert read_values(given(resume="run"), earlier)["slots"] == 400


@pytest.mark.uses("cache")
def test_a_path_is_of_this_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_values(given(cache="kept"), {})["cache"] == tmp_path / "kept"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("--attempts", 0, "--attempts 0 is too small; give an integer from 1"),
        ("--attempts", 10_001, "--attempts 10001 is too large; give an integer up to 10,000"),
        ("--temperature", -0.1, "--temperature -0.1 is too small; give a number from 0"),
        ("--temperature", float("nan"), "--temperature nan is too small"),
        ("--temperature", float("inf"), "--temperature inf is too large"),
        ("--scoring", "kind", "--scoring 'kind' is unknown; accepted are parity, strict"),
        pytest.param("--budget", "much", "--budget 'much' cannot be read", marks=pytest.mark.uses("budget")),
    ],
)
def test_a_wrong_value_is_told(name, value, says):
    with pytest.raises(UsageProblem) as problem:
        checked(OPTIONS[name], value)
    assert says in str(problem.value)


def test_what_the_readers_of_the_table_refuse(tmp_path):
    with pytest.raises(UsageProblem, match="--tool-server 'h:1' is not an address"):
        server_address("h:1")
    with pytest.raises(UsageProblem, match="there is no folder"):
        folder_of_texts(str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("options", "launched", "says"),
    [
        (
            {"rescore": "a", "temperature": 0.0},
            False,
            "--rescore and --temperature cannot be used together: a rescored",
        ),
        ({"resume": "a", "run_dir": "b"}, False, "--resume and --run-dir cannot be used together: a resumed run stays"),
        ({"rescore": "a", "allow_unsafe_code": False}, False, ""),
        ({"in_flight": 3}, True, ""),
    ],
)
def test_options_that_exclude_each_other_are_refused(options, launched, says):
    try:
        refuse_together(given(**options), launched=launched)
        told = ""
    except UsageProblem as problem:
        told = str(problem)
    assert told.startswith(says) and bool(told) == bool(says)


@pytest.mark.parametrize("option", OPTIONS.values(), ids=lambda option: option.name)
def test_what_an_option_names_is_there(option):
    assert find_spec(option.owner)
    assert not option.reader or callable(resolve_name(option.reader))
    if issubclass(RunOptions, option.holder):  # what a plugin has may exclude an option of another that is deleted
        assert {*option.excludes} <= {*KEYS, LAUNCH, SEVERAL}
    assert {*option.beside} <= KEYS
    assert {*option.sets} <= {*OPTIONS}
    assert isinstance(option.default, option.kind | None | tuple) or option.kind is Path
