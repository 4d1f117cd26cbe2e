"""Command line options of a task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TaskOption:
    """A command line option that a benchmark brings along. Tasks may share one: it is then the same object."""

    name: str  # "--wild-language"
    help: str
    accepted: tuple[str, ...] = ()  # the first is the default; none: a switch, or any text where there is a ``default``
    default: str | None = None
    asks: bool = True  # what is asked of a model depends on it, so that stored transcripts are bound to the value
    model: bool = (
        False  # the value is the name of a model that plays a part of its own; ``same`` is the one that is tested
    )
    metavar: str = "NAME"  # what stands for the value in texts, where ``accepted`` does not
    matters: bool = True  # what a case yields depends on it
    instead: tuple[
        str, ...
    ] = ()  # of such an option, values that name no model: something of the benchmark's own plays the part


SAME = "same"
"""The value of a model option that stands for the model that is tested."""


Chosen = Mapping[str, str | bool]
"""Option name to value."""
