"""What is checked before the first request: the tasks' options, the real tools, and where programs run."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agentgauge import sandbox
from agentgauge.core.capabilities import Oracle, OwnOptions, RealTools
from agentgauge.core.errors import UsageProblem
from agentgauge.core.task import Task
from agentgauge.core.task_registry import find_task
from agentgauge.pytest_plugin.options import Settings
from agentgauge.store import RunFolder
from agentgauge.store.jsonl import CaseId


class Checked(NamedTuple):
    tools: dict[str, Mapping[str, Any]]  # what identifies each tool of the run, by its name
    sandbox: tuple[str, ...]  # see ``sandbox.layers``; empty where no real tool and no program runs on this machine


def get_ready(settings: Settings, config: pytest.Config) -> None:
    """Load what ``check`` takes, before it is known which cases there will be."""
    if settings.earlier_tools is not None or settings.tool_server is not None:
        return
    tasks = [
        task for task in map(find_task, settings.roots) if isinstance(task, RealTools) and is_asked_for(task, config)
    ]
    if tasks:
        sandbox.look_early()
    for task in tasks:
        task.prepare_check()


def is_asked_for(task: Task, config: pytest.Config) -> bool:
    """Whether a task's test functions may be among those that pytest was started for, before anything is collected:
    they are where its package is."""
    package = getattr(sys.modules.get(type(task).__module__.partition(".")[0]), "__file__", None)
    if package is None:
        return False
    folder = Path(package).parent
    places = [config.invocation_params.dir / argument.partition("::")[0] for argument in config.args]
    return any(place.is_relative_to(folder) or folder.is_relative_to(place) for place in places)


def check(settings: Settings, plan: Iterable[CaseId]) -> Checked:
    """The run's tools, and what confines its programs.

    Raises UsageProblem for a model or options that do not fit the tasks or their data, for tools that cannot work or
    that a resumed run had otherwise, and where programs cannot run.
    """
    planned = {(task, sample) for task, sample, _ in plan}
    chosen = {name: find_task(name) for name in sorted({task for task, _ in planned})}
    runs_code = any(task.runs_code for task in chosen.values())
    serves_tools = settings.tool_server is None and any(isinstance(task, RealTools) for task in chosen.values())
    if settings.earlier_tools is None and (runs_code or serves_tools):
        sandbox.look_early()
    without_gold = [name for name, task in chosen.items() if not isinstance(task, Oracle)]
    if without_gold and settings.spec and settings.spec.kind == "oracle":
        raise UsageProblem(f"--model oracle: {', '.join(without_gold)} has no gold replies; give another model")
    for name, task in chosen.items():
        if isinstance(task, OwnOptions):
            task.check_options(settings.roots[name])
    if settings.earlier_tools is not None:
        return Checked(dict(settings.earlier_tools), ())
    if runs_code:
        sandbox.check_minimum()
    tools: dict[str, Mapping[str, Any]] = {}
    for name, task in chosen.items():
        if isinstance(task, RealTools):
            index = task.data.index(settings.roots[name])
            used = {tool for row in index.rows if (name, row.id) in planned for tool in task.tools_of(index, row)}
            tools |= task.check_tools(
                sorted(used),
                settings.file,
                scoring=settings.scoring,
                allow_unsafe=settings.allow_unsafe_code,
                server=settings.tool_server,
            )
    layers = sandbox.layers() if runs_code or serves_tools else ()
    return Checked(_with_those_before(tools, settings.run_dir) if settings.resume else tools, layers)


def _with_those_before(tools: Mapping[str, Mapping[str, Any]], run: Path) -> dict[str, Mapping[str, Any]]:
    """Records of one run must have had the same tools. Raises UsageProblem."""
    before: Mapping[str, Mapping[str, Any]] = RunFolder(run).read_json("run.json")["settings"]["tools"]
    if other := sorted(name for name in before.keys() & tools.keys() if before[name] != tools[name]):
        raise UsageProblem(
            f"--resume {run}: that run had another {', '.join(other)} (see settings.tools in its run.json); "
            "give the same tools, or start a new run"
        )
    return {**before, **tools}
