"""Checks before the first request: the tasks' options, prices, the real tools, and where programs run."""

from __future__ import annotations

import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agentgauge import sandbox
from agentgauge.core.capabilities import Breakdowns, ExternalAgents, Oracle, OwnOptions, RealTools, headline_of
from agentgauge.core.errors import AgentGaugeError, Fault, UsageProblem
from agentgauge.core.estimate import estimate
from agentgauge.core.task import Task
from agentgauge.core.task_registry import find_task, known_tasks
from agentgauge.core.tools import united, without_devices
from agentgauge.core.types import Score, Scoring
from agentgauge.model.batch.journal import FILE as JOURNAL
from agentgauge.model.batch.journal import Journal
from agentgauge.run.costs.estimate import asked_models, check_dollars
from agentgauge.run.settings import Settings, runs_here
from agentgauge.run.solve import broken_score
from agentgauge.store import RunFolder
from agentgauge.store.jsonl import CaseId


class Checked(NamedTuple):
    tools: dict[str, Mapping[str, Any]]  # what identifies each tool of the run, by its name
    sandbox: tuple[str, ...]  # see ``sandbox.layers``; empty where no tool, program or agent runs on this machine


def load_early(settings: Settings, paths: Sequence[Path]) -> None:
    """Load what ``check`` needs, before the cases are known. ``paths``: where pytest looks for tests."""
    if settings.launch or settings.earlier_tools is not None or settings.tool_server is not None:
        return
    tasks = [
        task for task in map(find_task, settings.roots) if isinstance(task, RealTools) and _may_be_selected(task, paths)
    ]
    if tasks:
        sandbox.look_early()
    for task in tasks:
        task.prepare_check()


def _may_be_selected(task: Task, paths: Sequence[Path]) -> bool:
    """Whether tests of a task may lie below one of the paths: they lie in its package."""
    folder = package_of(task)
    return folder is not None and any(path.is_relative_to(folder) or folder.is_relative_to(path) for path in paths)


def package_of(task: Task) -> Path | None:
    """The folder of a task's top-level package. None where its module is in no package, such as a ``conftest.py``."""
    package = sys.modules.get(type(task).__module__.partition(".")[0])
    file = getattr(package, "__file__", None)
    return Path(file).parent if file and hasattr(package, "__path__") else None


def check(settings: Settings, plan: Iterable[CaseId]) -> Checked:
    """The run's tools, and what confines its programs.

    Raises UsageProblem for a model or options that do not fit the tasks or their data, for tools that cannot work or
    that differ from those of the resumed run, for a damaged journal of batches, and if programs cannot run.
    """
    planned = {(task, sample) for task, sample, _ in plan}
    chosen = {name: find_task(name) for name in sorted({task for task, _ in planned})}
    if settings.batch:
        Journal(settings.run_dir / JOURNAL)
    check_dollars(settings.budget, asked_models(settings, chosen), shared=settings.shared is not None)
    here = [task for task in chosen.values() if runs_here(settings, task)]
    runs_code = any(task.runs_code for task in here)
    serves_tools = settings.tool_server is None and any(isinstance(task, RealTools) for task in here)
    if settings.earlier_tools is None and (runs_code or serves_tools):
        sandbox.look_early()
    if settings.agent:
        refused = [name for name, task in chosen.items() if not isinstance(task, ExternalAgents)]
        if refused:
            able = [name for name, task in known_tasks().items() if isinstance(task, ExternalAgents)]
            raise UsageProblem(
                f"--agent: {', '.join(refused)} cannot be run with an agent program; select tasks that can:"
                f" {', '.join(able)}"
            )
    without_gold = [name for name, task in chosen.items() if not isinstance(task, Oracle)]
    if without_gold and settings.spec and settings.spec.kind == "oracle":
        raise UsageProblem(f"--model oracle: {', '.join(without_gold)} has no gold replies; give another model")
    for name, task in chosen.items():
        if isinstance(task, OwnOptions):
            task.check_options(settings.roots[name])
        _rehearse(settings, task, {sample for of, sample in planned if of == name})
    if settings.earlier_tools is not None:
        return Checked(dict(settings.earlier_tools), ())
    if runs_code:
        sandbox.check_minimum()
    tools: dict[str, Mapping[str, Any]] = {}
    for task in here:
        if isinstance(task, RealTools):
            name = task.name
            index = task.data.index(settings.roots[name])
            used = {tool for row in index.rows if (name, row.id) in planned for tool in task.tools_of(index, row)}
            tools |= task.check_tools(
                sorted(used),
                settings.file,
                scoring=settings.scoring,
                allow_unsafe=settings.allow_unsafe_code,
                server=settings.tool_server,
            )
    layers = sandbox.layers() if runs_code or serves_tools or settings.program else ()
    return Checked(_with_those_before(tools, settings.run_dir) if settings.resume else tools, layers)


def _rehearse(settings: Settings, task: Task, samples: Container[str]) -> None:
    """Score a broken case and make figures of it, as after the run: a defect there must not cost the requests before.

    Raises UsageProblem where that fails for the first, the middle and the last sample: a single one may be damaged.
    """
    index = task.data.index(settings.roots[task.name])
    rows = [row for row in index.rows if row.id in samples]
    why = ""
    mistake: Exception | None = None
    for row in dict.fromkeys((rows[0], rows[len(rows) // 2], rows[-1])) if rows else ():
        try:
            score = broken_score(task, index, row, settings.scoring, settings.similarity[task.name])
        except Fault as fault:  # it is no score
            why = str(fault)
        except AgentGaugeError:
            return  # of the data, which each case tells by itself
        except Exception as error:
            call = f"{task.name}: score(sample, None, …), which scores a broken case"
            why, mistake = f"{call}, fails: {type(error).__name__}: {error}", error
        else:
            why, mistake = _without_figures(task, score, settings.scoring)
        if not why:
            return
    if why:
        raise UsageProblem(f"{why} (sample {rows[0].id}); no request was sent") from mistake


def _without_figures(task: Task, score: Score, scoring: Scoring) -> tuple[str, Exception | None]:
    """Why no figures can be made of a score, empty where they can; and what was raised."""
    try:
        figures = estimate((score,), task.metrics(scoring))
        if isinstance(task, Breakdowns):
            task.breakdowns((score,), scoring)
    except Exception as error:
        values = ", ".join(f"{name}={value:g}" for name, value in score.values.items())
        what = f"its metrics and breakdowns of one score ({values}) fail: {type(error).__name__}: {error}"
        return f"{task.name}: {what}", error
    headline = headline_of(task)
    lacking = f"{task.name}: its metrics of one score lack {headline}, its headline figure"
    return "" if headline in figures else lacking, None


def _with_those_before(tools: Mapping[str, Mapping[str, Any]], run: Path) -> dict[str, Mapping[str, Any]]:
    """Records of one run must have had the same tools, on whatever devices. Raises UsageProblem."""
    before: Mapping[str, Mapping[str, Any]] = RunFolder(run).read_json("run.json")["settings"]["tools"]
    olds, news = without_devices(before), without_devices(tools)
    if other := sorted(name for name in olds.keys() & news.keys() if olds[name] != news[name]):
        raise UsageProblem(
            f"--resume {run}: that run had another {', '.join(other)} (see settings.tools in its run.json); "
            "give the same tools, or start a new run"
        )
    return united([before, tools])
