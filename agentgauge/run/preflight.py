"""Checks before the first case: what each model can be given, and what would fail later."""

from __future__ import annotations

import asyncio
import fcntl
import sys
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentgauge import sandbox
from agentgauge.core.errors import AgentGaugeError, Fault, ModelFault, UsageProblem
from agentgauge.core.estimate import estimate
from agentgauge.core.files import encoded
from agentgauge.core.reply_ends import TESTED
from agentgauge.core.task import Task
from agentgauge.core.task_options import SAME
from agentgauge.core.tools import united, without_devices
from agentgauge.core.types import Score, Scoring
from agentgauge.model.spec import ModelSpec
from agentgauge.run.planned import Planned
from agentgauge.run.scoring import broken_score
from agentgauge.run.settings import Settings, runs_here
from agentgauge.store import RunFolder
from agentgauge.store.jsonl import CaseId

if TYPE_CHECKING:
    from agentgauge.model.vision_probe import Sight


# -- Whether the models of a run see pictures: declared, or found out by a probe before the agent works.
#
# Cases that would show pictures to a model that sees none are not applicable: they are not planned
# (``agentgauge.core.task.Pictures``). A model that a benchmark's option names and that is shown pictures in
# every case, such as a judge, must see them (``TaskOption.pictures``). Its probe also says what the endpoint calls
# the model; workers need that name for replies that several runs use.


FILE = "vision.json"
"""In the run folder, if cases with pictures were selected. ``models``: by role the ``name`` of the model, whether it
``sees`` pictures (null: not known), ``why``, and the ``usage`` of a request that found it out. ``pictures``: by task
the number of ``cases`` with pictures, and the ``role`` that is shown them."""

NAMES_FILE = "models.json"
"""In the run folder: role → the name that the endpoint of its model reports; the tested model has the role ``""``."""

Roles = Mapping[str, Mapping[str, int]]
"""Role → task → number of cases that show pictures to the role's model."""

_RETRIES = 2
"""Retries of a probe that decides what is planned: a failure is no reason to hold up the run."""


def role_shown(settings: Settings, case: Planned) -> str | None:
    """The role whose model is shown pictures in a case; None if there are none. A program in the model's place looks at
    pictures in its own way."""
    role = case.task.pictures.shown_to(case.row.tags) if case.task.pictures else None
    if role and settings.options[role] == SAME:
        role = ""
    return None if role == "" and settings.instead else role


def applicable(settings: Settings, cases: Sequence[Planned | None], *, asks: bool = True) -> list[bool]:
    """Whether each case may be planned: not if it shows pictures to a model that sees none. None stands for what is no
    case. ``asks``: models may be asked whether they see; otherwise what is declared counts. Raises OSError and
    UsageProblem as ``blind_roles``."""
    roles = [role_shown(settings, case) if case else None for case in cases]
    shown: dict[str, Counter[str]] = {}
    for case, role in zip(cases, roles, strict=True):
        if case and role is not None:
            shown.setdefault(role, Counter())[case.task.name] += 1
    blind = (blind_roles if asks else declared_blind)(settings, shown) if shown else set()
    return [role not in blind for role in roles]


def blind_roles(settings: Settings, roles: Roles) -> set[str]:
    """The roles whose models see no pictures.

    The first process of a run that asks finds out, and stores it in ``FILE`` for the others: all must plan the same
    cases. Raises OSError, and UsageProblem for a model that cannot be asked and for a damaged file.
    """
    path = settings.run_dir / FILE
    with path.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if file.read(1):
            models = RunFolder(settings.run_dir).read_json(FILE)["models"]
            sees = {role: models[role]["sees"] for role in roles if role in models}
            if lacking := sorted(set(roles) - set(sees)):
                named = " and ".join(role or TESTED for role in lacking)
                raise UsageProblem(f"{path} has no entry for the model of {named}; start a new run")
        else:
            models = {role: _found_out(settings, role) for role in roles}
            sees = {role: model["sees"] for role, model in models.items()}
            pictures = {
                task: {"cases": count, "role": role} for role, counts in roles.items() for task, count in counts.items()
            }
            file.write(encoded({"models": models, "pictures": pictures}))
    return {role for role in roles if sees[role] is False}


def declared_blind(settings: Settings, roles: Roles) -> set[str]:
    """As ``blind_roles``, as far as it is known without asking a model. Stores nothing."""
    specs = {role: _spec(settings, role) for role in roles}
    return {role for role, spec in specs.items() if spec and spec.vision is False}


def _spec(settings: Settings, role: str) -> ModelSpec | None:
    return settings.roles.get(role) if role else settings.spec


def _found_out(settings: Settings, role: str) -> dict[str, Any]:
    """The entry of a role in ``FILE``."""
    spec = _spec(settings, role)
    if spec is None:  # it plans what the run did that it repeats
        known: dict[str, Any] = settings.vision.get("models", {}).get(role, {})
        return {"name": settings.model.name, "sees": None, "why": "the recording does not say it", **known}
    if spec.vision is not None:
        why = "" if spec.vision else "its provider, or vision in its [models.NAME] table, says so"
        return {"name": spec.name, "sees": spec.vision, "why": why}
    try:
        sight = _probed(replace(spec, max_retries=min(spec.max_retries, _RETRIES)))
    except ModelFault as fault:
        return {"name": spec.name, "sees": None, "why": str(fault)}
    why = f"it {sight.why}" if sight.why else ""
    return {"name": spec.name, "sees": sight.sees, "why": why, "usage": asdict(sight.usage)}


def _probed(spec: ModelSpec) -> Sight:
    """Raises ModelFault where the model does not answer."""
    # Imported here because most runs ask no model before their cases.
    from agentgauge.model.client import OpenAIModel
    from agentgauge.model.vision_probe import sees_pictures

    async def look() -> Sight:
        model = OpenAIModel(replace(spec, outage_patience=0))  # no progress line says what is waited for yet
        try:
            return await sees_pictures(model)
        finally:
            await model.close()

    loop = asyncio.new_event_loop()  # asyncio.run would leave this thread without the loop that it had
    try:
        return loop.run_until_complete(look())
    finally:
        loop.close()


def stored_vision(settings: Settings) -> dict[str, Any]:
    """What ``FILE`` holds, or what it held in the run that is scored again; empty if it was not asked."""
    folder = RunFolder(settings.run_dir)
    if (folder.path / FILE).exists():
        return dict(folder.read_json(FILE))
    return dict(settings.vision) if settings.rescore else {}


def not_applicable(settings: Settings) -> dict[str, dict[str, Any]]:
    """Task → ``cases``, how many were not planned, and the name of the ``model`` that sees no pictures."""
    vision = stored_vision(settings)
    return {
        task: {"cases": found["cases"], "model": vision["models"][found["role"]]["name"]}
        for task, found in vision.get("pictures", {}).items()
        if vision["models"][found["role"]]["sees"] is False
    }


def vision_lines(settings: Settings) -> Iterator[str]:
    """For the header: a line for each model that sees no pictures, or of which that is not known."""
    vision = stored_vision(settings)
    for role, model in vision.get("models", {}).items():
        shown = {task: found["cases"] for task, found in vision["pictures"].items() if found["role"] == role}
        count, tasks = sum(shown.values()), ", ".join(shown)
        cases = "1 case shows pictures" if count == 1 else f"{count} cases show pictures"
        begin, why = f"{tasks}: {cases} to {model['name']}", model["why"]
        advice = "if you know better, set vision in its [models.NAME] table of agentgauge.toml"
        if model["sees"] is False:
            yield f"{begin}, which sees none ({why}): not applicable, left out; {advice}"
        elif model["sees"] is None:
            yield f"{begin}, and whether it sees them is not known ({why}); {advice}"


def require_sight(settings: Settings, folder: RunFolder, plan: Collection[CaseId]) -> list[str]:
    """Ask each model that an option names and that the cases which are still to run show pictures, and store what the
    endpoints call them.

    Returns notes for the user. Raises UsageProblem for a model that does not answer, that sees no pictures, or that is
    another one than in the run that goes on.
    """
    if settings.spec is None or settings.launch:  # no model is asked, or not by this process
        return []
    if settings.resume:
        finished = {case for case, line in folder.lines().items() if line.finished}
        plan = [case for case in plan if case not in finished]
    tasks = [settings.tasks[name] for name in sorted({name for name, _, _ in plan})]
    before, notes = reported_names(folder.path), []
    names = dict(before)
    for option in sorted({option.name for task in tasks for option in task.options if option.pictures}):
        role = "" if settings.options[option] == SAME else option
        spec = _spec(settings, role)
        if spec is None or spec.embedded:
            continue
        sight = _seeing(spec, option)
        if (known := before.get(role, sight.model)) != sight.model:
            raise UsageProblem(
                f"--resume {settings.run_dir}: the endpoint of {option} {spec.name} called its model {known!r} then and"
                f" calls it {sight.model!r} now; load that model again, or start a new run"
            )
        names[role] = sight.model
        if sight.why and spec.vision is None:
            notes.append(f"{option} {spec.name} {sight.why}, so it is not known whether it sees pictures")
    if names:
        folder.write_json(NAMES_FILE, names)
    return notes


def _seeing(spec: ModelSpec, option: str) -> Sight:
    """What the probe found. Raises UsageProblem where the model does not answer, or sees no pictures."""
    advice = "but will be shown pictures; name a model that sees them"
    if spec.vision is False:
        why = "sees no pictures, as its provider or its [models.NAME] table says"
        raise UsageProblem(f"{option} {spec.name} {why}, {advice}")
    try:
        sight = _probed(spec)
    except ModelFault as fault:
        raise UsageProblem(f"{option} {spec.name} does not answer: {fault}; nothing was run") from None
    if sight.sees is False and spec.vision is None:
        raise UsageProblem(f"{option} {spec.name} {sight.why}, {advice}")
    return sight


def reported_names(run: Path) -> dict[str, str]:
    """The content of ``NAMES_FILE``; empty where no model was asked."""
    try:
        return dict(RunFolder(run).read_json(NAMES_FILE))
    except UsageProblem:  # missing, or damaged: the next probe writes it anew
        return {}


# -- Checks before the first request: the tasks' options, the real tools, and where programs run.


class Checked(NamedTuple):
    tools: dict[str, Mapping[str, Any]]  # what identifies each tool of the run, by its name
    sandbox: tuple[str, ...]  # see ``sandbox.layers``; empty where no tool, program or agent runs on this machine


def load_early(settings: Settings, paths: Sequence[Path]) -> None:
    """Load what ``check`` needs, before the cases are known. ``paths``: where pytest looks for tests."""
    if settings.launch or settings.earlier_tools is not None or settings.tool_server is not None:
        return
    tasks = [settings.tasks[name] for name in settings.roots]
    found = [task.tools for task in tasks if task.tools and _may_be_selected(task, paths)]
    if found:
        sandbox.look_early()
    for tools in found:
        tools.prepare_check()


def _may_be_selected(task: Task, paths: Sequence[Path]) -> bool:
    """Whether tests of a task may lie below one of the paths: they lie in its package."""
    folder = package_of(task)
    return folder is not None and any(path.is_relative_to(folder) or folder.is_relative_to(path) for path in paths)


def package_of(task: Task) -> Path | None:
    """The folder of a task's top-level package. None where its module is in no package, such as a ``conftest.py``."""
    run = task.run
    while isinstance(run, partial):
        run = run.func
    package = sys.modules.get(run.__module__.partition(".")[0])
    file = getattr(package, "__file__", None)
    return Path(file).parent if file and hasattr(package, "__path__") else None


def check(settings: Settings, plan: Iterable[CaseId]) -> Checked:
    """The run's tools, and what confines its programs.

    Raises UsageProblem for a model or options that do not fit the tasks or their data, for tools that cannot work or
    that differ from those of the resumed run, and if programs cannot run.
    """
    planned = {(task, sample) for task, sample, _ in plan}
    chosen = {name: settings.tasks[name] for name in sorted({task for task, _ in planned})}
    here = [task for task in chosen.values() if runs_here(settings, task)]
    runs_code = any(task.runs_code for task in here)
    serves_tools = settings.tool_server is None and any(task.tools for task in here)
    if settings.earlier_tools is None and (runs_code or serves_tools):
        sandbox.look_early()
    without_gold = [name for name, task in chosen.items() if task.oracle is None]
    if without_gold and settings.spec and settings.spec.kind == "oracle":
        raise UsageProblem(f"--model oracle knows no right answers of {', '.join(without_gold)}; give another model")
    for name, task in chosen.items():
        if task.check_options:
            task.check_options(settings.roots[name])
        _rehearse(settings, task, {sample for of, sample in planned if of == name})
    if settings.earlier_tools is not None:
        return Checked(dict(settings.earlier_tools), ())
    if runs_code:
        sandbox.check_minimum()
    tools: dict[str, Mapping[str, Any]] = {}
    for task in here:
        if task.tools:
            name = task.name
            index = task.data.index(settings.roots[name])
            used = {tool for row in index.rows if (name, row.id) in planned for tool in task.tools.tools_of(index, row)}
            tools |= task.tools.check_tools(
                sorted(used),
                settings.file,
                scoring=settings.scoring,
                allow_unsafe=settings.allow_unsafe_code,
                server=settings.tool_server,
            )
    layers = sandbox.layers() if runs_code or serves_tools or settings.instead else ()
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
        if task.breakdowns:
            task.breakdowns((score,), scoring)
    except Exception as error:
        values = ", ".join(f"{name}={value:g}" for name, value in score.values.items())
        what = f"its metrics and breakdowns of one score ({values}) fail: {type(error).__name__}: {error}"
        return f"{task.name}: {what}", error
    headline = task.shown.headline
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
