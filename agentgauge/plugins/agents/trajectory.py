"""An agent program's own transcript, in the Agent Trajectory Interchange Format, as events of a case.

The fields are those of ATIF-v1, as the package harbor 0.25 describes them; others are left out. The agent itself wrote
the transcript. So it counts only if AgentGauge saw no request of the agent to the model.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from agentgauge.core.types import Event
from agentgauge.model.wire import clean_all

FILE = "trajectory.json"
MOST = 16 << 20
"""Bytes of the file; a larger one is not read."""

MOST_STEPS = 2000
MOST_CALLS = 10_000


def own_events(content: bytes | None, name: str) -> tuple[list[Event], str]:
    """The events of an agent's own transcript, none without one; and what is wrong with it, or an empty text."""
    if content is None:
        return [], ""
    try:
        return read_trajectory(content, name), ""
    except ValueError as error:
        return [], f"its {FILE} is not used: {error}"


def read_trajectory(content: bytes, name: str) -> list[Event]:
    """The steps of a trajectory as events. ``name``: of the agent, for steps that name no model. Raises ValueError with
    what is wrong."""
    try:
        data = clean_all(json.loads(content))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    version = data.get("schema_version") if isinstance(data, Mapping) else None
    if not isinstance(version, str) or not version.startswith("ATIF-v1"):
        raise ValueError("its schema_version is not ATIF-v1")
    agent = data.get("agent")
    return step_events(data.get("steps"), agent.get("model_name") if isinstance(agent, Mapping) else None, name)


def step_events(steps: object, model: object, name: str) -> list[Event]:
    """Steps, clean, as events. ``model``: its name for steps without one. Raises ValueError as ``read_trajectory``."""
    if not isinstance(steps, list) or not 0 < len(steps) <= MOST_STEPS:
        raise ValueError(f"steps must be a list of 1 to {MOST_STEPS}")
    events: list[Event] = []
    messages: list[dict[str, Any]] = []  # since the last reply
    known = 0
    for number, step in enumerate(steps, start=1):
        if not isinstance(step, Mapping) or step.get("source") not in ("system", "user", "agent"):
            raise ValueError(f"step {number} has no source of system, user or agent")
        if step["source"] != "agent":
            messages.append({"role": step["source"], "content": _text(step.get("message"))})
            continue
        calls = list(_calls(step, number))
        if len(events) + len(calls) > MOST_CALLS:
            raise ValueError(f"its steps have more than {MOST_CALLS} calls of tools")
        detail: dict[str, Any] = {"known": known, "messages": messages, "reply": _text(step.get("message"))}
        if calls:
            detail["tool_calls"] = [{"name": call, "arguments": json.dumps(given)} for _, call, given in calls]
        if isinstance(step.get("reasoning_content"), str):
            detail["reasoning"] = step["reasoning_content"]
        start, own = _start(step), step.get("model_name")
        title = next((one for one in (own, model) if isinstance(one, str) and one), name)
        events.append(Event("model", title, start, 0.0, detail))
        known += len(messages) + 1
        messages = []
        results = dict(_results(step))
        for identity, call, given in calls:
            result = results.pop(identity, None)
            shown = [] if result is None else [{"type": "text", "content": result}]
            events.append(Event("tool", call, start, 0.0, {"arguments": given, "result": shown}))
            messages.append({"role": "tool", "tool_call_id": identity, "content": result or ""})
    if not events:
        raise ValueError("no step is the agent's")
    return events


def merge_events(seen: Sequence[Event], told: Iterable[Event]) -> list[Event]:
    """The events that an agent tells of, each call of a tool that AgentGauge has seen itself as that event. ``seen``:
    calls of tools; those that the agent does not tell of come last."""
    waiting, merged = list(seen), []
    for event in told:
        known = next((one for one in waiting if event.kind == "tool" and one.name == event.name), None)
        if known:
            waiting.remove(known)
        merged.append(known or event)
    return merged + waiting


def _calls(step: Mapping[str, Any], number: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The id, the name and the arguments of each."""
    calls = step.get("tool_calls") or []
    for call in calls if isinstance(calls, list) else [calls]:
        if not isinstance(call, Mapping) or not isinstance(name := call.get("function_name"), str):
            raise ValueError(f"step {number} has a tool call without a function_name")
        given = call.get("arguments") or {}
        yield str(call.get("tool_call_id", "")), name, given if isinstance(given, dict) else {"text": given}


def _results(step: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    observation = step.get("observation")
    results = observation.get("results") if isinstance(observation, Mapping) else None
    for result in results if isinstance(results, list) else ():
        if isinstance(result, Mapping):
            yield str(result.get("source_call_id", "")), _text(result.get("content"))


def _text(content: object) -> str:
    """A text, or the texts of a list of parts."""
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _start(step: Mapping[str, Any]) -> float:
    """Seconds since the epoch; now for a step without a readable time."""
    try:
        return datetime.fromisoformat(step["timestamp"]).timestamp()
    except (KeyError, TypeError, ValueError, OverflowError):
        return time.time()
