"""What a run's answers show of their endpoints: the sum of ``ChatReply.observed`` over events, by model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentgauge.core.reply_ends import TESTED
from agentgauge.core.types import Event, Json

_NAMES = ("reported", "denied")


def count_observed(events: Sequence[Event]) -> dict[str, Json]:
    """Option of a model's role → what its answers showed; empty where they showed nothing:

    ``estimated``: replies without usable token counts; ``instead``: what the first of them had. ``reported``: name of
    the model → replies; ``denied``: of these the names of other models than the one that was asked for. ``tools``:
    requests whose tools are ``seen`` in the endpoint's count of tokens and ``unseen``; of the first unseen one the
    tokens that were ``counted`` and the ``bytes`` of the tools.
    """
    return add_observed(
        {str(event.detail.get("role") or TESTED): _counted(found)}
        for event in events
        if event.kind == "model" and (found := event.detail.get("observed"))
    )


def _counted(observed: Mapping[str, Json]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    if (instead := observed.get("estimated")) is not None:
        found |= {"estimated": 1, "instead": instead}
    if name := observed.get("reported"):
        found["reported"] = {name: 1}
        if observed.get("denied"):
            found["denied"] = {name: 1}
    if tools := observed.get("tools"):
        found["tools"] = {"seen": 1, "unseen": 0} if tools["seen"] else {**tools, "seen": 0, "unseen": 1}
    return found


def add_observed(counts: Iterable[Mapping[str, Json]]) -> dict[str, Any]:
    """The sum of several results of ``count_observed``. Raises TypeError, or one like it, for what are none."""
    found: dict[str, Any] = {}
    for parts in counts:
        for role, part in parts.items():
            total = found.setdefault(role, {})
            if "estimated" in part:
                total["estimated"] = total.get("estimated", 0) + part["estimated"]
                total["instead"] = total.get("instead") or part.get("instead", "")
            for kind in _NAMES:
                for name, count in part.get(kind, {}).items():
                    names = total.setdefault(kind, {})
                    names[name] = names.get(name, 0) + count
            if tools := part.get("tools"):
                before = total.get("tools", {})
                sums = {key: before.get(key, 0) + tools[key] for key in ("seen", "unseen")}
                total["tools"] = {**tools, **before, **sums}
    return found
