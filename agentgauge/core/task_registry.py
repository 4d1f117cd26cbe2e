"""Every announced task, by its name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points

from agentgauge.core.capabilities import OwnOptions, TaskOption, options_of
from agentgauge.core.errors import UsageProblem
from agentgauge.core.task import Task
from agentgauge.core.types import Json

ENTRY_POINTS = "agentgauge.tasks"


def known_options() -> dict[str, TaskOption]:
    """The options of every announced task by name."""
    return {option.name: option for task in known_tasks().values() for option in options_of(task)}


def configure_tasks(given: Mapping[str, Json]) -> dict[str, str | bool]:
    """Configure every task; what is not given, or None, is the default. Returns all values.

    Raises UsageProblem for a value that is not accepted.
    """
    chosen: dict[str, str | bool] = {}
    for name, option in known_options().items():
        default = option.accepted[0] if option.accepted else option.default if option.default is not None else False
        value = default if given.get(name) is None else given[name]
        if option.default is None and value not in (option.accepted or (True, False)):
            raise UsageProblem(
                f"{name} {value!r} is unknown; accepted are {', '.join(option.accepted) or 'true and false'}"
            )
        chosen[name] = value
    for task in known_tasks().values():
        if isinstance(task, OwnOptions):
            task.configure({option.name: chosen[option.name] for option in task.options})
    return chosen


@cache
def known_tasks() -> dict[str, Task]:
    """Every announced task by name."""
    return {task.name: task for point in entry_points(group=ENTRY_POINTS) for task in point.load()}


def announce(task: Task) -> None:
    """Add a task without an entry point: for a benchmark that lives in a ``conftest.py``."""
    known_tasks()[task.name] = task


def find_task(name: str) -> Task:
    try:
        return known_tasks()[name]
    except KeyError:
        raise UsageProblem(
            f"there is no task {name!r}; known are"
            f" {', '.join(sorted(known_tasks())) or 'none (is AgentGauge installed?)'}"
        ) from None
