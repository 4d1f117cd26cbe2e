"""Every announced task, by its name. Announcing a task validates it."""

from __future__ import annotations

from collections.abc import Container, Mapping
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any

from agentgauge.core.announcement import announced
from agentgauge.core.capabilities import OwnOptions, TaskOption, options_of
from agentgauge.core.errors import UsageProblem, did_you_mean
from agentgauge.core.task import Task
from agentgauge.core.types import Json
from agentgauge.core.validation import complete

ENTRY_POINTS = "agentgauge.tasks"


def known_options(reserved: Container[str] = ()) -> dict[str, TaskOption]:
    """The options of every announced task by name.

    Raises UsageProblem if two tasks define one option differently, and for a ``reserved`` name.
    """
    found: dict[str, tuple[str, TaskOption]] = {}
    for task in known_tasks().values():
        for option in options_of(task):
            other, known = found.setdefault(option.name, (task.name, option))
            if option.name in reserved:
                raise UsageProblem(f"the task {task.name} has an option {option.name}, which every run has; rename it")
            if known != option:
                raise UsageProblem(
                    f"{option.name} is an option of the tasks {other} and {task.name}, which differ in it; rename one,"
                    " or let both have the same TaskOption"
                )
    return {name: option for name, (_, option) in found.items()}


def configure_tasks(given: Mapping[str, Json]) -> dict[str, str | bool]:
    """Configure every task; an option that is missing or None gets its default. Returns all values.

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


def known_tasks() -> dict[str, Task]:
    """Every announced task by name. An entry point names tasks, or a module that announces its own.

    Raises UsageProblem for a task that is not complete.
    """
    global _is_loaded
    if not _is_loaded:
        _is_loaded = True  # now: a module that announces its own tasks comes here while it is loaded
        try:
            for point in announced(ENTRY_POINTS):
                loaded = _loaded(point)
                if not isinstance(loaded, ModuleType):
                    _tasks.update({task.name: task for task in map(complete, loaded)})
        except BaseException:
            _is_loaded = False
            raise
    return _tasks


def _loaded(point: EntryPoint) -> Any:
    """Raises UsageProblem where the package of an entry point cannot be imported."""
    try:
        return point.load()
    except UsageProblem:
        raise
    except Exception as error:  # of another package
        raise UsageProblem(
            f"the entry point {point.name} = {point.value} of {ENTRY_POINTS} cannot be imported"
            f" ({type(error).__name__}: {error}); correct its package, or uninstall it"
        ) from error


_tasks: dict[str, Task] = {}
_is_loaded = False


def announce(*tasks: Task) -> None:
    """Announce tasks without an entry point, for example from a ``conftest.py``.

    Raises UsageProblem for an incomplete task.
    """
    known_tasks().update({task.name: task for task in map(complete, tasks)})


def find_task(name: str) -> Task:
    try:
        return known_tasks()[name]
    except KeyError:
        raise UsageProblem(
            f"there is no task {name!r}{did_you_mean(name, known_tasks())}; known are"
            f" {', '.join(sorted(known_tasks())) or 'none (is AgentGauge installed?)'};"
            " agentgauge --tasks FILE COMMAND knows those of a file, and so does pytest FILE; in Python, import its"
            " module first"
        ) from None
