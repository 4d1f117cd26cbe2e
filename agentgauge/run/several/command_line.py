"""The command line of several runs: what the launcher reads of it, and what each run gets."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.core.option import SEVERAL, prefixed
from agentgauge.core.options import OPTIONS

_REFUSED = {name: option.excludes[SEVERAL] for name, option in OPTIONS.items() if SEVERAL in option.excludes}
_TAKEN = [name for name, option in OPTIONS.items() if (option.together or not option.to_models) and name != "--model"]

_FOLDERS = ("--basetemp",)
_FILES = ("--junitxml", "--junit-xml", "--html", "--report-log", "--log-file", "--benchmark-json")
"""Options of pytest and its plugins that name what a run writes: each run gets a folder of its own there."""


@dataclass(frozen=True)
class CommandLine:
    models: tuple[str, ...]
    taken: Mapping[str, str]  # options that are the launcher's: name → value
    model_url: str | None  # of all models; the words have it, too
    words: tuple[str, ...]  # all else
    given: frozenset[str]  # options of these words that several runs cannot have

    def check(self, given: Collection[str] = ()) -> None:
        """Raises UsageProblem for what several runs cannot have. ``given``: further options, such as those of the
        project's settings."""
        for name, why in _REFUSED.items():
            if name in self.given or name in given:
                raise UsageProblem(f"{name} and {SEVERAL} cannot be used together: {why}")
        for model in self.models:
            if self.models.count(model) > 1:
                raise UsageProblem(f"--model={model} is given twice; give each model once")


def read_command_line(words: Sequence[str], short: Container[str]) -> CommandLine:
    """Arguments of pytest. ``short``: our options that have a name without the prefix here."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, fromfile_prefix_chars="@")

    def add(name: str, **more: str) -> None:
        forms = [prefixed(name), *([name] if name in short else [])]
        parser.add_argument(*forms, dest=name, **more)  # type: ignore[arg-type]

    add("--model", action="append")
    for name in (*_TAKEN, "--model-url", *_REFUSED):
        add(name)
    known, others = parser.parse_known_args(list(words))
    found = {name: value for name, value in vars(known).items() if value is not None}
    url: str | None = found.get("--model-url")
    if url is not None:  # in front, because paths may follow a --
        others.insert(0, f"{prefixed('--model-url')}={url}")
    taken = {name: found[name] for name in _TAKEN if name in found}
    models = tuple(found.get("--model", ()))
    return CommandLine(models, taken, url, tuple(others), frozenset(found.keys() & _REFUSED.keys()))


def own_paths(words: Sequence[str], name: str) -> list[str]:
    """The words with a folder of the run's own in the paths that it writes to: ``--basetemp=tmp`` becomes
    ``--basetemp=tmp/NAME``, and ``--junitxml=out/junit.xml`` becomes ``--junitxml=out/NAME/junit.xml``. Allure tells
    the runs of a folder apart."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for option in (*_FOLDERS, *_FILES):
        parser.add_argument(option, dest=option)
    found, others = parser.parse_known_args(list(words))
    written = []
    for option, value in vars(found).items():
        if value:
            path = Path(value)
            written.append(f"{option}={path / name if option in _FOLDERS else path.parent / name / path.name}")
    return [*with_options(others, written)]


def with_options(words: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    """The words with further ones, which count where both have an option. Paths may follow a ``--``."""
    place = words.index("--") if "--" in words else len(words)
    return (*words[:place], *more, *words[place:])
