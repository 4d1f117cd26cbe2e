"""The tasks that a run, a command or a reader of runs knows, by name. A process may have many registries."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from types import ModuleType

from agentgauge.core.announcement import announced
from agentgauge.core.errors import UsageProblem, did_you_mean
from agentgauge.core.task import Task
from agentgauge.core.task_options import Chosen, TaskOption
from agentgauge.core.types import Json
from agentgauge.core.validation import complete


class Registry:
    """Tasks by name, in the order in which they were added. Adding a task validates it."""

    def __init__(self, tasks: Iterable[Task] = ()) -> None:
        """Raises UsageProblem for a task that is not complete."""
        self._tasks: dict[str, Task] = {}
        self.unknown: dict[str, str] = {}
        """Name of a task that is not there → why, a sentence for the user."""
        self.add(*tasks)

    @classmethod
    def installed(cls) -> Registry:
        """The tasks that all installed packages announce.

        Raises UsageProblem for a package that cannot be imported, and for a task that is not complete.
        """
        return cls(task for _, task in announced("tasks"))

    def add(self, *tasks: Task) -> None:
        """Raises UsageProblem for a task that is not complete."""
        self._tasks |= {task.name: task for task in map(complete, tasks)}

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks.values())

    def __contains__(self, name: object) -> bool:
        return name in self._tasks

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tasks)

    def get(self, name: str) -> Task | None:
        return self._tasks.get(name)

    def __getitem__(self, name: str) -> Task:
        """Raises UsageProblem for a name that is not known."""
        try:
            return self._tasks[name]
        except KeyError:
            raise UsageProblem(
                self.unknown.get(name)
                or f"there is no task {name!r}{did_you_mean(name, self._tasks)}; agentgauge --tasks FILE COMMAND knows"
                " those of a file, and so does pytest FILE; in Python, hand in the task; known are"
                f" {', '.join(sorted(self._tasks)) or 'none (is AgentGauge installed?)'}"
            ) from None

    def options(self, reserved: Container[str] = ()) -> dict[str, TaskOption]:
        """The options of all tasks by name.

        Raises UsageProblem if two tasks define one option differently, and for a ``reserved`` name.
        """
        found: dict[str, tuple[str, TaskOption]] = {}
        for task in self:
            for option in task.options:
                other, known = found.setdefault(option.name, (task.name, option))
                if option.name in reserved:
                    raise UsageProblem(
                        f"the task {task.name} has an option {option.name}, which every run has; rename it"
                    )
                if known != option:
                    raise UsageProblem(
                        f"{option.name} is an option of the tasks {other} and {task.name}, which differ in it; rename"
                        " one, or let both have the same TaskOption"
                    )
        return {name: option for name, (_, option) in found.items()}

    def chosen(self, given: Mapping[str, Json]) -> Chosen:
        """The values of all options; one that is missing or None gets that which its task was made with, or else its
        default.

        Raises UsageProblem for a value that is not accepted, and for tasks that were made with different ones.
        """
        chosen: dict[str, str | bool] = {}
        for name, option in self.options().items():
            value = given.get(name)
            if value is None:
                value = self._made_with(option)
            if option.default is None and value not in (option.accepted or (True, False)):
                raise UsageProblem(
                    f"{name} {value!r} is unknown; accepted are {', '.join(option.accepted) or 'true and false'}"
                )
            chosen[name] = value
        return chosen

    def _made_with(self, option: TaskOption) -> str | bool:
        made = {
            task.name: (task.chosen or {}).get(option.name, option.usual) for task in self if option in task.options
        }
        if len(set(made.values())) > 1:
            values = ", ".join(f"{name} with {value}" for name, value in made.items())
            raise UsageProblem(f"the tasks of a run have one value of {option.name}, and were made {values}; name one")
        return next(iter(made.values()))

    def configured(self, given: Mapping[str, Json]) -> Registry:
        """The same tasks with these values of their options; for the others see ``chosen``. A task that was made with
        just these stays as it is. Raises UsageProblem for a value that is not accepted."""
        chosen = self.chosen(given)
        found = Registry()
        for task in self:
            own = {option.name: chosen[option.name] for option in task.options}
            if task.configured and task.chosen != own:
                task = replace(task.configured(own), chosen=own)
            found._tasks[task.name] = task
        return found


def tasks_of(module: ModuleType) -> list[Task]:
    """The tasks that a module holds: objects of its own, and those in a tuple or list ``TASKS``."""
    # an object that is made when it is first used may raise anything where isinstance asks for its class
    own = [value for value in vars(module).values() if type(value) is Task]
    listed = getattr(module, "TASKS", ())
    return list(dict.fromkeys([*own, *(listed if isinstance(listed, tuple | list) else ())]))
