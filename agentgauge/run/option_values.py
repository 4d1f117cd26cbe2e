"""The values of a run's options: read from the command line and the earlier run, stored, and passed on, as the table in
``core.options`` says."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Protocol

from agentgauge.core.errors import UsageProblem
from agentgauge.core.option import EARLIER, LAUNCH, RESUMED, VALUE, Option, prefixed, written
from agentgauge.core.options import DIVIDED, OPTIONS
from agentgauge.core.processes import checked_address
from agentgauge.core.redaction import without_logins
from agentgauge.core.text import cut


class HasValues(Protocol):
    """The settings of a run."""

    def value(self, option: Option) -> Any: ...


def refuse_together(given: Namespace, *, launched: bool) -> None:
    """``given``: by the options' keys. ``launched``: the run was started by ``agentgauge launch``. Raises
    UsageProblem."""
    for option in OPTIONS.values():
        if not getattr(given, option.key):
            continue
        if launched and LAUNCH in option.excludes:
            why = option.excludes[LAUNCH]
            raise UsageProblem(f"{LAUNCH} and {option.name} cannot be used together: {why}")
        for other, why in option.excludes.items():
            value = getattr(given, other, None)
            if value is not None and value is not False:
                raise UsageProblem(f"{option.name} and {written(other)} cannot be used together: {why}")


def read_values(given: Namespace, earlier: Mapping[str, Any]) -> dict[str, Any]:
    """The value of each option: the given one, or else that of the run that this one starts from, or the default; by
    their attributes. ``earlier``: the settings that that run has stored; empty where there is none. Raises
    UsageProblem."""
    ways = {RESUMED, EARLIER} if given.resume else {EARLIER}
    values: dict[str, Any] = {}
    for option in sorted(OPTIONS.values(), key=lambda option: bool(option.beside)):
        value = getattr(given, option.key)
        default = option.default_beside(values)
        # a default beside another option: the earlier value is of use if that run had the same default
        if _is_missing(value) and option.kept in ways and default == option.default_beside({**_OFF, **earlier}):
            value = earlier.get(option.stored)
        values[option.attribute] = default if _is_missing(value) else checked(option, value)
    return values


_OFF = dict.fromkeys((key for option in OPTIONS.values() for key in option.beside), False)


def _is_missing(value: Any) -> bool:
    return value is None or value is False or value in ("", [])


def checked(option: Option, value: Any) -> Any:
    """A value that was given, as the run has it. Raises UsageProblem."""
    if option.accepted and value not in option.accepted:
        raise UsageProblem(f"{option.name} {value!r} is unknown; accepted are {', '.join(option.accepted)}")
    if option.kind in (int, float):
        what = "an integer" if option.kind is int else "a number"
        if not value >= option.least:
            raise UsageProblem(f"{option.name} {value} is too small; give {what} from {option.least}")
        if value > option.most:
            raise UsageProblem(f"{option.name} {cut(str(value))} is too large; give {what} up to {option.most:,}")
    if option.kind is Path:
        return Path(value).absolute()
    return resolve_name(option.reader)(value) if option.reader else value


def stored_values(settings: HasValues, way: str) -> dict[str, Any]:
    """What a run stores of its options for one that starts from it. ``way``: RESUMED for one that may go on with it,
    EARLIER for any other."""
    kept = [option for option in OPTIONS.values() if option.stored and option.kept in (EARLIER, way)]
    return {option.stored: _plain(settings.value(option)) for option in kept}


def _plain(value: Any) -> Any:
    """For JSON, without logins in addresses."""
    if isinstance(value, tuple):
        return [str(each) for each in value]
    return without_logins(str(value)) if isinstance(value, str | Path) else value


def fingerprinted_values(settings: HasValues) -> dict[str, Any]:
    """The options whose values are parts of the fingerprint of a case. One without a value is left out, so that a new
    option whose default is None leaves the fingerprints of earlier runs as they are."""
    mine = [option for option in OPTIONS.values() if option.fingerprint == VALUE]
    values = {option.key: settings.value(option) for option in mine}
    return {key: value for key, value in values.items() if value is not None}


def shard_words(settings: HasValues) -> list[str]:
    """The options of a shard's pytest. Raises UsageProblem for a login in an address, which is sent to no node."""
    words = []
    for option in OPTIONS.values():
        value = settings.value(option) if option.to_shards else None
        if value is None or value is False:
            continue
        name = prefixed(option.name)
        words.append(name if value is True else f"{name}={value}")
        if without_logins(words[-1]) != words[-1]:
            raise UsageProblem(
                f"{name} has a login in its address, which agentgauge launch sends to no node; name a variable that"
                " holds the key in the model's table of agentgauge.toml (key_env)"
            )
    return words


def divided_words(settings: HasValues, part: Callable[[int], int]) -> list[str]:
    """The options of a shard's pytest that are its part of a total of the run."""
    return [f"{prefixed(option.name)}={part(settings.value(option))}" for option in DIVIDED]


# -- Readers that the table names.


def server_address(text: str) -> str:
    """Raises UsageProblem."""
    problem = "is not an address; give one such as http://localhost:16181, a password in it percent-encoded"
    return checked_address("--tool-server", text, problem)


def folder_of_texts(text: str) -> Path:
    """Raises UsageProblem."""
    folder = Path(text).absolute()
    if not folder.is_dir():
        raise UsageProblem(
            f"--prompts: there is no folder {folder}; give a folder of texts, such as workflow_judge.txt"
        )
    if not any(folder.glob("*.txt")):
        raise UsageProblem(f"--prompts: {folder} holds no .txt file; docs/options.md lists names of texts")
    return folder
