"""An option of every run: its name, what it accepts, its default, its text in ``--help``, what it excludes, and who
gets its value: a run that is resumed, rescored or replayed, the fingerprint, the members of a fleet.

Imports nothing heavy, because the pytest side imports it in every project.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

PREFIX = "--agentgauge-"
"""Each option also exists with this prefix, so that other plugins and the project can use the short name."""

LAUNCH = "agentgauge launch"
SEVERAL = "several models"
"""What an option may exclude beside other options: that cases run on a cluster, and several runs of one command."""

VALUE = "value"
"""What the fingerprint has of an option: the value itself."""

RESUMED, EARLIER = "resumed", "earlier"
"""Where the value of an earlier run holds: in a run that goes on with it, or in every run that starts from it."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option of every run."""

    name: str  # "--in-flight"
    holder: type = object  # the class that it is a field of
    attribute: str = ""  # of that class
    metavar: str  # what stands for the value in texts; empty for a switch
    help: str  # without the default
    owner: str = ""  # the module or package that does what the option says; of a plugin: its package

    # -- its values
    kind: type = str  # of the value: str, int, float, Path; bool: a switch
    many: bool = False  # it may repeat
    accepted: tuple[str, ...] = ()  # none: any value of the kind
    least: int = 1  # of a number
    most: int = 10**12
    reader: str = ""  # "module:function" that makes the value of a text, and raises UsageProblem
    default: Any = None
    beside: Mapping[str, Any] = field(default_factory=dict)  # defaults beside other options: their key → default
    sets: Mapping[str, Any] = field(default_factory=dict)  # such defaults of other options beside this one, by name
    usual: str = ""  # the default in words, if it is no value

    # -- who gets them
    kept: str = ""  # RESUMED or EARLIER: where the earlier run's value holds, unless one is given
    stored: str = ""  # its key in the settings of run.json; empty: not stored, or part of another value there
    same: bool = False  # --resume refuses another value
    fingerprint: str = ""  # it changes results, so the fingerprint of a case has the VALUE, or what follows from it
    to_shards: bool = False  # the pytest processes of ``agentgauge launch`` get the value
    to_models: bool = True  # so do the runs of several models; otherwise their launcher alone reads it
    judges: bool = False  # it judges a run: where it is given, one that has ended is judged again
    divided: bool = False  # it is a total: each of these processes and runs gets a part
    together: bool = False  # several runs have it together: their launcher reads it, and passes it on whole
    keeps_run: bool = False  # beside it, the run folder stays after a run of a project's own tests alone
    excludes: Mapping[str, str] = field(default_factory=dict)  # key of an option, LAUNCH or SEVERAL → why

    @property
    def key(self) -> str:
        """Its name in Python, and in files."""
        return key_of(self.name)

    @property
    def is_path(self) -> bool:
        """Whether the value may be a path."""
        return not {"DIR", "FILE"}.isdisjoint(self.metavar.split("|"))

    @property
    def shown_default(self) -> str:
        """The default as texts show it; empty where there is nothing to say."""
        others = (f"; {value} with {written(key)}" for key, value in self.beside.items())
        return (self.usual or str(self.default or "")) + "".join(others)

    def default_beside(self, values: Mapping[str, Any]) -> Any:
        """The default where others have these values, by their keys."""
        return next((default for key, default in self.beside.items() if values[key]), self.default)

    def arguments(self) -> dict[str, Any]:
        """For pytest's ``addoption``."""
        more: dict[str, Any] = {"action": "append"} if self.many else {}
        if self.kind in (int, float):
            more["type"] = self.kind
        default = f" (default: {self.shown_default})" if self.shown_default else ""
        return described(self.metavar, self.help + default, **more)


def prefixed(option: str) -> str:
    """The name that no other plugin has."""
    return PREFIX + option.removeprefix("--")


def key_of(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")


def written(key: str) -> str:
    """The name of the option with this key."""
    return "--" + key.replace("_", "-")


def destination(option: str) -> str:
    """The attribute of pytest's parsed options that holds an option of ours. It has a prefix, because a project may
    have a ``--model``, too."""
    return "agentgauge_" + key_of(option)


def described(metavar: str | None, text: str, **more: Any) -> dict[str, Any]:
    """For pytest's ``addoption``; without a ``metavar`` the option is a switch."""
    return {"help": text, **({"metavar": metavar} if metavar else {"action": "store_true"}), **more}


def option(form: str, help: str, **more: Any) -> Any:
    """A field of a class of options. ``form``: "--in-flight=N"."""
    name, _, metavar = form.partition("=")
    return field(metadata={"option": Option(name=name, metavar=metavar, help=help, **more)})


def options_of(owner: type) -> dict[str, Option]:
    """The options that are the fields of a class, by their names."""
    package = owner.__module__.rpartition(".")[0]
    found = [(each.metadata["option"], each.name) for each in fields(owner)]
    return {one.name: replace(one, holder=owner, attribute=name, owner=one.owner or package) for one, name in found}
