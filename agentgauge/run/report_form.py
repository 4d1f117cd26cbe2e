"""A form of ``agentgauge report`` (``pytest_agentgauge_reports``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ReportForm:
    name: str  # "--allure" is an option; "csv", without dashes, is one of what ``--format`` takes
    metavar: str  # what stands for the place to write to: DIR or FILE
    help: str
    usual: str  # the place in the folder of the run, where an option names none; empty if it must name one
    write: Callable[..., str]
    """Called with the folder of the run, the place, ``tasks``, all that are known, ``omitted``, which notes what
    cannot be shown, and each switch by its name: ``embed=True``. Returns what the command says. Raises UsageProblem."""
    switches: Mapping[str, str] = field(default_factory=dict)
    """Name, such as "--embed" → help."""
    serve: Callable[..., str] | None = None
    """Of a page that ``agentgauge view`` can show: called with the folder of the run, the file to write, ``tasks``,
    ``links_from``, the folder of the page as browsers see it, and ``home``, the address of the list of runs. What the
    page loads is written to the folder ``<the file's stem>-data`` beside it. Returns the page's
    Content-Security-Policy."""

    @property
    def is_option(self) -> bool:
        return self.name.startswith("--")

    @property
    def key(self) -> str:
        return key(self.name)


def key(name: str) -> str:
    """Of an option of a command, as its parser keeps it."""
    return name.removeprefix("--").replace("-", "_")
