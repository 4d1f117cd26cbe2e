"""Whether the models of a run see pictures. Cases that would show pictures to a model that sees none are not
applicable: they are not planned."""

from __future__ import annotations

import asyncio
import fcntl
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from agentgauge.core.atomic_write import encoded
from agentgauge.core.capabilities import SAME, Pictures
from agentgauge.core.errors import ModelFault
from agentgauge.model.spec import ModelSpec
from agentgauge.run.settings import Settings
from agentgauge.run.solve import Planned
from agentgauge.store import RunFolder

FILE = "vision.json"
"""In the run folder, if cases with pictures were selected. ``models``: by role the ``name`` of the model, whether it
``sees`` pictures (null: not known), ``why``, and the ``usage`` of a request that found it out. ``pictures``: by task
the number of ``cases`` with pictures, and the ``role`` that is shown them."""

Roles = Mapping[str, Mapping[str, int]]
"""Role → task → number of cases that show pictures to the role's model."""

_RETRIES = 2
"""A probe that fails is no reason to hold up the run."""


def role_shown(settings: Settings, case: Planned) -> str | None:
    """The role whose model is shown pictures in a case; None if there are none. An agent program looks at pictures in
    its own way."""
    role = case.task.shown_to(case.row.tags) if isinstance(case.task, Pictures) else None
    if role and settings.options[role] == SAME:
        role = ""
    return None if role == "" and settings.agent else role


def blind_roles(settings: Settings, roles: Roles) -> set[str]:
    """The roles whose models see no pictures.

    The first process of a run that asks finds out, and stores it in ``FILE`` for the others: all must plan the same
    cases. Raises OSError, and UsageProblem for a model that cannot be asked.
    """
    with (settings.run_dir / FILE).open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if content := file.read():
            models = json.loads(content)["models"]
        else:
            models = {role: _sight(settings, role) for role in roles}
            pictures = {
                task: {"cases": count, "role": role} for role, counts in roles.items() for task, count in counts.items()
            }
            file.write(encoded({"models": models, "pictures": pictures}))
    return {role for role in roles if models[role]["sees"] is False}


def declared_blind(settings: Settings, roles: Roles) -> set[str]:
    """As ``blind_roles``, as far as it is known without asking a model. Stores nothing."""
    specs = {role: _spec(settings, role) for role in roles}
    return {role for role, spec in specs.items() if spec and spec.vision is False}


def _spec(settings: Settings, role: str) -> ModelSpec | None:
    return settings.roles.get(role) if role else settings.spec


def _sight(settings: Settings, role: str) -> dict[str, Any]:
    spec = _spec(settings, role)
    if spec is None:  # a replay plans what was planned when it was recorded
        known: dict[str, Any] = settings.vision.get("models", {}).get(role, {})
        return {"name": settings.model.name, "sees": None, "why": "the recording does not say it", **known}
    if spec.vision is not None:
        why = "" if spec.vision else "its provider, or vision in its [models.NAME] table, says so"
        return {"name": spec.name, "sees": spec.vision, "why": why}
    loop = asyncio.new_event_loop()
    try:
        return {"name": spec.name, **loop.run_until_complete(_probed(spec))}
    finally:
        loop.close()


async def _probed(spec: ModelSpec) -> dict[str, Any]:
    # Imported here because most runs ask no model while they collect.
    from agentgauge.model.client import OpenAIModel
    from agentgauge.model.vision_probe import sees_pictures

    model = OpenAIModel(replace(spec, max_retries=min(spec.max_retries, _RETRIES)))
    try:
        sight = await sees_pictures(model)
    except ModelFault as fault:
        return {"sees": None, "why": str(fault)}
    finally:
        await model.close()
    return {"sees": sight.sees, "why": f"it {sight.why}" if sight.why else "", "usage": asdict(sight.usage)}


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
