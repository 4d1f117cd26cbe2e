"""A run's folder: who writes there, whether it is the same run, and what run.json says."""

from __future__ import annotations

import errno
import os
import platform
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from agentgauge.agent.dialects.registry import wording
from agentgauge.core.announcement import own_version
from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import refusal
from agentgauge.core.option import RESUMED
from agentgauge.core.options import OPTIONS
from agentgauge.core.redaction import without_logins
from agentgauge.core.task import Task
from agentgauge.core.task_options import SAME
from agentgauge.core.text import counted, digest
from agentgauge.core.tools import by_device, by_state, devices_of, not_ready, without_devices
from agentgauge.data.find import difference_notes, refuse_other_data, used_data
from agentgauge.model.embedded.scripted import ReplyScript
from agentgauge.model.unread_variables import unread_variables
from agentgauge.run.option_values import fingerprinted_values
from agentgauge.run.preflight import not_applicable, stored_vision, vision_lines
from agentgauge.run.settings import Settings, config_fingerprint, moved, stored_settings
from agentgauge.store import RunFolder
from agentgauge.store.folder import FORMAT
from agentgauge.store.folder_lock import FolderLock
from agentgauge.store.jsonl import CaseId

# -- Takes the folder of a run for this process alone.


def take_folder(settings: Settings, *, is_named: bool) -> tuple[Settings, Callable[[], None] | None]:
    """Lock the run folder. Returns the settings with the folder, and a function that releases it and removes what a run
    without cases has left; None if no folder could be made, which matters only where a case is to be written.

    ``is_named``: the user chose the folder; otherwise another name is taken if the folder is in use. Raises
    UsageProblem if another process has locked the folder, or if it cannot be made.
    """
    if settings.resume or is_named:
        try:
            if settings.resume:
                _check_access(settings.run_dir)
            lock = FolderLock(settings.run_dir)
        except OSError as error:
            if settings.resume:
                why = f"--resume {settings.run_dir}: {refusal(error)}, or copy the folder and resume the copy"
            else:
                why = (
                    f"the run folder {settings.run_dir} cannot be made ({error.strerror}); name another with --run-dir"
                )
            raise UsageProblem(why) from None
        return settings, partial(_give_back, settings, lock)
    for folder in _free_names(settings.run_dir):
        try:
            hold = FolderLock(folder)
        except UsageProblem:
            continue  # of another run that began in this second
        except OSError:
            break
        if hold.is_alone:
            settings = moved(settings, folder)
            return settings, partial(_give_back, settings, hold)
        hold.release()
    return settings, None


def _check_access(run: Path) -> None:
    """Raises OSError for the first file of a run that this user cannot read, and the first folder that he cannot use:
    the run would ask again for what is stored there."""
    for path in (run, *run.iterdir(), *(run / "records").glob("*")):
        needed = os.R_OK | os.W_OK | os.X_OK if path.is_dir() else os.R_OK
        if path.parent != run and path != run:
            needed |= os.W_OK  # of a worker, which appends to it
        if not os.access(path, needed):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def _free_names(folder: Path) -> Iterator[Path]:
    yield folder
    for number in count(2):
        if not (other := folder.with_name(f"{folder.name}-{number}")).exists():
            yield other


def _give_back(settings: Settings, hold: FolderLock) -> None:
    folder = RunFolder(settings.run_dir)
    if not settings.resume and not folder.has_plan and not folder.has_records:
        with suppress(OSError):
            folder.discard()
    hold.release()


# -- Whether a run may be written into its folder: it is new there, or still the run that it goes on with.


def check_run(settings: Settings) -> None:
    """A new run needs a folder of its own; a resumed one must yield what the earlier one would have; the answers of a
    run that is scored again belong to its data. Raises UsageProblem naming what differs.
    """
    if settings.rescore:
        source = RunFolder(settings.rescore)
        source.plan()
        refuse_other_data(settings.tasks, source, source.read_json("run.json"), settings.roots)
    if not settings.resume:
        RunFolder(settings.run_dir).refuse_taken()
        return
    folder = RunFolder(settings.run_dir)
    if folder.has_plan:
        folder.plan()
    earlier = folder.read_json("run.json")
    before = earlier["settings"]
    same = [option for option in OPTIONS.values() if option.same]
    for name, old, new in (
        ("model", before["model"]["name"], settings.model.name),
        ("model settings", before["model"]["fingerprint"], settings.model.fingerprint),
        *((each.key, before.get(each.stored, each.default), settings.value(each)) for each in same),
    ):
        if old != new:
            differs = f"that run has {name} {old!r}, this one {new!r}"
            raise UsageProblem(f"--resume {settings.run_dir}: {differs}; give the same, or start a new run")
    for name, config in earlier["configs"].items():
        task = settings.tasks[name]  # raises where it is announced by a file that is not named now
        if name not in settings.roots or config_fingerprint(settings, task) != config:
            raise UsageProblem(
                f"--resume {settings.run_dir}: the data, prompts, options or tool settings of {name} "
                "have changed since; restore them, or start a new run"
            )


# -- Describes a run: in the header on the terminal, in run.json and in its summary.


MANY = 3
"""Tasks of one benchmark from which on the header counts them and does not name them."""


def header(settings: Settings, plan: Sequence[CaseId], tools: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The lines about the run that the terminal shows at its start."""
    at = f" at {settings.spec.url}" if settings.spec and settings.spec.url else ""
    own = any(_is_own(settings, case) for case in plan)
    if all(_is_own(settings, case) for case in plan):
        yield f"model {settings.model.name}{at}"
        yield from _unread(settings)
        yield from _role_lines(settings, plan)
        yield from _unused_by_tests(settings) if own else ()
        yield from _unmatched(settings, plan)
        yield from _plan_lines(settings, plan)
        return
    how = f"dialect {settings.dialect} · scoring {settings.scoring}"
    if not settings.patient:
        how += f" · {settings.slots} concurrent request{'s' * (settings.slots != 1)}"
    yield f"model {settings.model.name}{at} · {how}" if settings.asks else how
    yield from _unread(settings)
    yield from _role_lines(settings, plan)
    yield from _data_lines(settings, Counter(task for task, _, _ in plan))
    yield from _unused(settings, [settings.tasks[name] for name in sorted({task for task, _, _ in plan})])
    yield from _unused_by_tests(settings) if own else ()
    yield from _unmatched(settings, plan)
    yield from difference_notes(settings.tasks, {name: settings.roots[name] for name, _, _ in plan})
    yield from vision_lines(settings)
    yield from by_state(not_ready(tools))
    yield from by_device(devices_of(tools))
    if launch := settings.launch:
        each = f"{launch.cpus:g} CPUs" + (f", {launch.gpus:g} GPUs" if launch.gpus else "")
        yield f"cases run on Ray ({launch.address}): up to {launch.workers} shards at a time, {each} each"
    yield from _plan_lines(settings, plan)


def _unread(settings: Settings) -> Iterator[str]:
    """A line for variables that may have been meant for the model, and are not read."""
    asked = [settings.spec, *settings.roles.values()] if settings.spec else []
    yield from dict.fromkeys(line for spec in asked for line in unread_variables(spec, os.environ))


def _role_lines(settings: Settings, plan: Sequence[CaseId]) -> Iterator[str]:
    """The other models that are asked, such as a judge, with their addresses."""
    if settings.spec is None:
        return
    tasks = [settings.tasks[name] for name in dict.fromkeys(task for task, _, _ in plan)]
    found: dict[str, list[str]] = {}  # model → the options that name it
    for name in dict.fromkeys(option.name for task in tasks for option in task.options if option.model):
        if spec := settings.roles.get(name):
            found.setdefault(f"{spec.name}{f' at {spec.url}' if spec.url else ''}", []).append(name)
        elif settings.options[name] == SAME:
            found.setdefault("the tested model", []).append(name)
    for model, names in found.items():
        yield f"{', '.join(names)}: {model}"


def _plan_lines(settings: Settings, plan: Sequence[CaseId]) -> Iterator[str]:
    """What the run takes from an earlier one."""
    if settings.resume:
        lines = RunFolder(settings.run_dir).lines()
        finished = [case for case in plan if case in lines and lines[case].finished]
        failed = [case for case in finished if _is_own(settings, case) and lines[case].status != "passed"]
        kept = len(finished) - len(failed)  # failed tests run again
        what = "tests have passed" if all(_is_own(settings, case) for case in plan) else "cases are kept"
        yield f"resuming {settings.run_dir}: {kept} {what}, {len(plan) - kept} run"
    if settings.rescore:
        yield f"scoring the transcripts of {settings.rescore} again; no model is called"


def _unused_by_tests(settings: Settings) -> Iterator[str]:
    """A line where the option for attempts changes nothing for a project's own tests."""
    if (count := settings.attempts) > 1:
        yield f"--attempts={count} has no effect on tests of your own; pytest-repeat repeats them: --count={count}"


def _unmatched(settings: Settings, plan: Sequence[CaseId]) -> Iterator[str]:
    """A line for keys of the model's script that fit nothing: mistyped ones, and those of cases not selected."""
    if settings.spec is None or settings.spec.script is None or not plan:
        return
    names = [f"{task}/{sample}" for task, sample, _ in plan]
    if keys := ReplyScript.load(settings.spec.script).unmatched(names):
        listed = ", ".join(keys[:MANY]) + (f" and {len(keys) - MANY} more" if keys[MANY:] else "")
        yield f"keys of {settings.spec.script.name} that fit no case of this run, such as {names[0]}: {listed}"


def _unused(settings: Settings, tasks: Sequence[Task]) -> Iterator[str]:
    """A line for each option that changes nothing for some of the selected tasks."""
    silent = [task.name for task in tasks if not (task.data.in_run_folder or settings.dialect in task.dialects)]
    if silent:
        listed = ", ".join(silent[:MANY]) + (f" and {len(silent) - MANY} more" if silent[MANY:] else "")
        them = f"{listed} {'has' if len(silent) == 1 else 'have'} none"
        yield f"--dialect {settings.dialect} is for tasks with tools of their own: {them}, and --dialect is not used"
    used = {option.name for task in tasks for option in task.options}
    for name, option in settings.tasks.options().items():
        value = settings.options[name]
        if name not in used and value and value != (option.default or (option.accepted or ("",))[0]):
            yield f"{name}{'' if value is True else f' {value}'} is not used: no selected task has this option"
    if settings.tool_server and not any(task.tools for task in tasks):
        yield "--tool-server is not used: no selected task has tools that run on a server"
    if settings.temperature is not None and settings.spec:
        asked = f"--temperature {settings.temperature:g} is not used: {settings.model.name}"
        if settings.spec.embedded:
            yield f"{asked} answers by fixed rules"
        elif not settings.spec.quirks.temperature:
            yield f"{asked} takes no temperature; if it does, set temperature = true in the quirks of its table"


def _data_lines(settings: Settings, cases: Mapping[str, int]) -> Iterator[str]:
    """A line for the tasks of one benchmark on the same data, then what is left out of it."""
    alike: dict[tuple[str, str], list[str]] = {}
    for name in cases:
        task = settings.tasks[name]
        data = task.data
        if data.in_run_folder:
            yield f"{name}: {cases[name]} of the project's own tests"
            continue
        is_bundled = settings.roots[name] == data.bundled
        kind = "bundled data" if not settings.official[name] else "all data" if is_bundled else "your data"
        used = f"{kind} in {settings.roots[name]}{_compared_by(task, settings.similarity[name])}"
        alike.setdefault((task.shown.benchmark, used), []).append(name)
    for (benchmark, used), names in alike.items():
        title = ", ".join(names) if len(names) < MANY else f"{benchmark}, {counted(len(names), 'task')}"
        yield f"{title}: {counted(sum(cases[name] for name in names), 'case')}, {used}"
        for name in names:
            if left_out := settings.tasks[name].data.left_out(settings.roots[name]):
                more = f", and {len(left_out) - 1} more (see run.json)" if left_out[1:] else ""
                yield f"{name}: left out: {left_out[0]}{more}"


def _compared_by(task: Task, similarity: str) -> str:
    place = task.similarity.device(similarity) if task.similarity else ""
    return f", texts compared by {similarity}{f' on {place}' if place else ''}" if similarity else ""


def _is_own(settings: Settings, case: CaseId) -> bool:
    """Whether a case is a test of the project's own."""
    return settings.tasks[case[0]].data.in_run_folder


def run_json(
    settings: Settings, selection: Mapping[str, Any], plan: Sequence[CaseId] = (), **more: Any
) -> dict[str, Any]:
    """The content of run.json. A resumed run keeps its first command and selection.

    ``plan``: empty before it is known. ``more``: ``tools``, the identity of each; ``sandbox``, the protections for code
    that a model wrote; ``reported``, what endpoints call their models; ``started`` and ``finished``, seconds since
    the epoch; ``revisions``, the commits of AgentGauge and of the user's project; and what plugins add.
    """
    earlier = RunFolder(settings.run_dir).read_json("run.json") if settings.resume else {}
    tasks = sorted({task for task, _, _ in plan})
    kept = stored_settings(settings, more.pop("tools", {}), RESUMED) | {
        "limit": _limit(settings),
        "vision": stored_vision(settings),
    }
    return {
        "format": FORMAT,
        "agentgauge": own_version(),
        "revisions": {"agentgauge": None, "project": None},
        "python": platform.python_version(),
        "command": earlier.get("command") or [without_logins(word) for word in sys.argv[1:]],
        "selection": earlier.get("selection") or selection,
        "settings": kept,
        "data": used_data(settings.tasks, settings.roots, settings.official, tasks),
        "configs": {name: config_fingerprint(settings, settings.tasks[name]) for name in tasks},
        "planned": len(plan),
        "sandbox": (),
        "rescore": str(settings.rescore) if settings.rescore else None,  # where the files of its cases lie
        "started": None,
        "finished": None,
        **more,
    }


def _limit(settings: Settings) -> int | None:
    """The limit of samples per task that the plan was made with. A resumed run keeps its plan, and transcripts that are
    scored again have one already."""
    source = settings.run_dir if settings.resume else settings.rescore
    if source is None:
        return settings.limit
    about = RunFolder(source).read_json("run.json")  # of an earlier version of AgentGauge, if only the selection has it
    earlier: int | None = about["settings"].get("limit") or about.get("selection", {}).get("limit")
    limits = [limit for limit in (earlier, None if settings.resume else settings.limit) if limit]
    return min(limits, default=None)


def _prompts(settings: Settings, tasks: Sequence[Task]) -> dict[str, str]:
    """The wording of each task, and that of the dialect; of transcripts that are scored again, the one they had."""
    folder = settings.prompts
    now = {
        **{task.name: task.prompt_version(folder) for task in tasks},
        "dialect": wording(settings.dialect, folder),
    }
    if settings.rescore:
        with suppress(UsageProblem):  # a run that was killed has no summary
            before = RunFolder(settings.rescore).read_json("summary.json").get("run", {}).get("prompts", {})
            return {name: before.get(name, version) for name, version in now.items()}
    return now


def describe(settings: Settings, tasks: Sequence[Task], tools: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Everything that determines this run's figures. Two equal runs have the same description, on any machine."""
    not_planned = not_applicable(settings)
    return {
        "model": settings.tested,
        **settings.described,
        **({"asked_model": settings.model.name} if settings.instead and settings.asks else {}),
        "model_fingerprint": settings.model.fingerprint,
        **fingerprinted_values(settings),
        "attempts": settings.attempts,
        **({"limit": limit} if (limit := _limit(settings)) else {}),
        **({"not_applicable": not_planned} if not_planned else {}),
        "agentgauge": own_version(),
        "data": {
            task.name: {
                "official": settings.official[task.name],
                "fingerprint": (index := task.data.index(settings.roots[task.name])).fingerprint,
                "samples": len(index.rows) * (1 if task.data.in_run_folder else settings.attempts),
                "left_out": list(task.data.left_out(settings.roots[task.name])),
                "differences": list(task.data.differences(settings.roots[task.name])),
            }
            for task in tasks
        },
        "prompts": _prompts(settings, tasks),
        "tools": not_ready(tools),
        "tool_set": digest(without_devices(tools)) if tools else None,
        "options": {
            option.name: settings.options[option.name] for task in tasks for option in task.options if option.matters
        },
    }
