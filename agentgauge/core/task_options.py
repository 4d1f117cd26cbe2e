"""Options of the command line that tasks have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TaskOption:
    """A command line option of a benchmark. Tasks that share an option use the same object."""

    name: str  # "--wild-language"
    help: str
    accepted: tuple[str, ...] = ()  # the first is the default; none: a switch, or any text where there is a ``default``
    default: str | None = None
    asks: bool = True  # requests to a model depend on it, so that stored transcripts are bound to the value
    model: bool = False  # the value is the name of a model with a role of its own; ``same`` is the tested model
    metavar: str = "NAME"  # what stands for the value in texts, where ``accepted`` does not
    matters: bool = True  # the outcome of a case depends on it
    instead: tuple[str, ...] = ()  # of a model option, values that name no model: the benchmark itself has the role
    requests: float = 0.0  # of a model option: how many of a case's expected requests go to this role
    pictures: bool = False  # of a model option: its model is shown pictures, so one that sees none is refused

    @property
    def usual(self) -> str | bool:
        """The value where none is given."""
        return self.accepted[0] if self.accepted else self.default if self.default is not None else False


SAME = "same"
"""The value of a model option that stands for the tested model."""


def role_option(role: str) -> TaskOption:
    """The option that names the model of a role: ``--user-model`` for ``user``. Tasks with the same role share it."""
    text = f"model with the role {role} in benchmarks that have one (default: {SAME}, the tested model)"
    return TaskOption(f"--{role}-model", text, default=SAME, model=True)


Chosen = Mapping[str, str | bool]
"""Option name to value."""
