"""The file of ``agentgauge launch --matrix``: models, dialects, temperatures, token limits and attempts, whose
combinations are runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem, did_you_mean
from agentgauge.core.option import prefixed
from agentgauge.core.options import DIVIDED, OPTIONS, TOGETHER
from agentgauge.core.text import read_toml
from agentgauge.run.several.command_line import read_command_line
from agentgauge.run.several.parent import Member, RunGroup, named, totals

_LISTS: Mapping[str, tuple[type, ...]] = {
    "models": (str,),
    "dialects": (str,),
    "temperatures": (int, float),
    "max_tokens": (int,),
    "attempts": (int,),
    "arguments": (str,),
}
_LEAST = {"temperatures": 0, "max_tokens": 1, "attempts": 1}
_TOTALS = {option.key: option.name for option in DIVIDED}
_TOGETHER = {option.key: option.name for option in TOGETHER}
_SINGLE: Mapping[str, type] = {
    "folder": str,
    **dict.fromkeys(_TOGETHER, str),
    **dict.fromkeys(_TOTALS, int),
    "side_by_side": int,
}


@dataclass(frozen=True)
class Matrix:
    """The content of the file. Lists that the file lacks are empty."""

    models: tuple[str, ...]
    dialects: tuple[str, ...] = ()
    temperatures: tuple[float, ...] = ()
    max_tokens: tuple[int, ...] = ()
    attempts: tuple[int, ...] = ()
    arguments: tuple[str, ...] = ()  # of pytest, for every run
    folder: str = ""  # of the runs
    together: Mapping[str, str] = field(default_factory=dict)  # options that all runs have together, by their names
    totals: Mapping[str, int] = field(default_factory=dict)  # of all runs at one provider, by their keys
    side_by_side: int = 4  # runs at a time

    def runs(self) -> RunGroup:
        """One for each combination, in the order of the file. The name has each value that the file lists."""
        known = (
            ("dialect", "{}", self.dialects),
            ("temperature", "t{:g}", self.temperatures),
            ("max-tokens", "m{}", self.max_tokens),
            ("attempts", "k{}", self.attempts),
        )
        given = [(option, form, values) for option, form, values in known if values]
        found: list[tuple[str, str, tuple[str, ...]]] = []
        for model, values in product(self.models, list(product(*(values for _, _, values in given)))):
            settings = list(zip(given, values, strict=True))
            name = "-".join([model.rpartition("/")[2], *(form.format(value) for (_, form, _), value in settings)])
            words = tuple(f"{prefixed(option)}={value}" for (option, _, _), value in settings)
            found.append((name, model, (*self.arguments, *words)))
        names = named([name for name, _, _ in found])
        members = (Member(name, model, words) for name, (_, model, words) in zip(names, found, strict=True))
        given_words = {option.key: bool({name, prefixed(name)} & {*self.arguments}) for name, option in OPTIONS.items()}
        return RunGroup(tuple(members), totals({**given_words, **self.totals}), self.side_by_side)


def read_matrix(path: Path, words: Sequence[str] = ()) -> Matrix:
    """``words``: further arguments of pytest, for every run.

    Raises UsageProblem for a file that cannot be read, and for what is wrong in it.
    """
    try:
        data = read_toml(path)
    except OSError as error:
        raise UsageProblem(
            f"the matrix {path} cannot be read ({error.strerror}); give the path of a TOML file"
        ) from None
    except ValueError as error:
        raise UsageProblem(f"{path} is not valid TOML: {error}; correct the file") from None
    known = [*_LISTS, *_SINGLE]
    for key, value in data.items():
        if key not in known:
            raise UsageProblem(
                f"{path} has no setting {key!r}{did_you_mean(key, known)}; accepted are {', '.join(known)}"
            )
        _check(path, key, value)
    if not data.get("models"):
        raise UsageProblem(f'{path} names no model; add models = ["gpt-4o", "..."]')
    lists = {key: tuple(data[key]) for key in _LISTS if key in data}
    own = {key: data.pop(key) for key in _TOTALS if key in data}
    together = {name: data.pop(key) for key, name in _TOGETHER.items() if key in data}
    lists["arguments"] = (*lists.get("arguments", ()), *words)
    matrix = Matrix(**{"folder": f"runs/{path.stem}", **data, **lists}, totals=own, together=together)
    _check_arguments(path, matrix)
    return matrix


def _check(path: Path, key: str, value: Any) -> None:
    if key in _LISTS:
        if not isinstance(value, list) or not all(_is(item, _LISTS[key], _LEAST.get(key)) for item in value):
            kind = "strings" if _LISTS[key] == (str,) else "numbers" if float in _LISTS[key] else "integers"
            least = f" from {_LEAST[key]}" if key in _LEAST else ""
            raise UsageProblem(f"{path}: {key} must be a list of {kind}{least}, not {value!r}")
        if twice := [item for item in value if value.count(item) > 1 and key != "arguments"]:
            raise UsageProblem(f"{path}: {key} has {twice[0]!r} twice; give each value once")
    elif not value or not _is(value, (_SINGLE[key],), 1 if _SINGLE[key] is int else None):
        kind = "an integer from 1" if _SINGLE[key] is int else "a string that is not empty"
        raise UsageProblem(f"{path}: {key} must be {kind}, not {value!r}")


def _is(value: Any, kinds: tuple[type, ...], least: int | None) -> bool:
    is_one = isinstance(value, kinds) and not isinstance(value, bool)
    return is_one and (least is None or value >= least)


def _check_arguments(path: Path, matrix: Matrix) -> None:
    """Raises UsageProblem for arguments of pytest that the file has keys for, or that several runs cannot have."""
    line = read_command_line(matrix.arguments, OPTIONS)
    line.check()
    for given, option, key in (
        (line.models, "--model", "models"),
        (line.taken.get("--run-dir") or line.taken.get("--resume"), "--run-dir and --resume", "folder"),
        *((line.taken.get(name), name, key) for key, name in {**_TOGETHER, **_TOTALS}.items()),
    ):
        if given:
            raise UsageProblem(f"{path}: arguments must not have {option}; the file has the key {key} for it")
