"""Asks the models that will be shown pictures, such as a judge, what a small one shows, before the agent works.

The same reply says what the endpoint calls its model. Workers need that name for replies that several runs use.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from agentgauge.core.capabilities import SAME, options_of
from agentgauge.core.errors import ModelFault, UsageProblem
from agentgauge.core.task_registry import find_task
from agentgauge.run.settings import Settings
from agentgauge.store import RunFolder
from agentgauge.store.jsonl import CaseId

if TYPE_CHECKING:
    from agentgauge.model.spec import ModelSpec
    from agentgauge.model.vision_probe import Sight

FILE = "models.json"
"""In the run folder: role → the name that the endpoint of its model reports; the tested model has the role ``""``."""


def look_at_pictures(settings: Settings, folder: RunFolder, plan: Collection[CaseId]) -> list[str]:
    """Ask each model that cases which are still to run show pictures, and store what the endpoints call them.

    Returns notes for the user. Raises UsageProblem for a model that does not answer, that sees no pictures, or that is
    another one than in the run that goes on.
    """
    if settings.spec is None or settings.launch:  # no model is asked, or not by this process
        return []
    if settings.resume:
        finished = {case for case, line in folder.lines().items() if line.finished}
        plan = [case for case in plan if case not in finished]
    before, notes = reported_names(folder.path), []
    found = dict(before)
    for name in sorted(
        {option.name for task, _, _ in plan for option in options_of(find_task(task)) if option.pictures}
    ):
        role = "" if settings.options[name] == SAME else name
        spec = settings.roles.get(role) if role else settings.spec
        if spec is None or spec.embedded:
            continue
        sight = asyncio.run(_look(spec, name))
        if (known := before.get(role, sight.model)) != sight.model:
            raise UsageProblem(
                f"--resume {settings.run_dir}: the endpoint of {name} {spec.name} called its model {known!r} then and"
                f" calls it {sight.model!r} now; load that model again, or start a new run"
            )
        found[role] = sight.model
        if sight.why and spec.vision is None:
            notes.append(f"{name} {spec.name} {sight.why}, so it is not known whether it sees pictures")
    if found:
        folder.write_json(FILE, found)
    return notes


async def _look(spec: ModelSpec, option: str) -> Sight:
    """What the model of an option makes of a small picture. Raises UsageProblem where it does not answer, or sees
    none."""
    from agentgauge.model.client import OpenAIModel
    from agentgauge.model.vision_probe import sees_pictures

    if spec.vision is False:
        why = "sees no pictures, as its provider or its [models.NAME] table says"
        raise UsageProblem(f"{option} {spec.name} {why}, but will be shown pictures; name a model that sees them")
    model = OpenAIModel(spec)
    try:
        sight = await sees_pictures(model)
    except ModelFault as fault:
        raise UsageProblem(f"{option} {spec.name} does not answer: {fault}; nothing was run") from None
    finally:
        await model.close()
    if sight.sees is False and spec.vision is None:
        raise UsageProblem(f"{option} {spec.name} {sight.why}, but will be shown pictures; name a model that sees them")
    return sight


def reported_names(run: Path) -> dict[str, str]:
    """The content of ``FILE``; empty where no model was asked."""
    try:
        return dict(json.loads((run / FILE).read_bytes()))
    except (FileNotFoundError, ValueError, TypeError):  # damaged: the next look writes it anew
        return {}
