"""Checks which tools can work under given settings, before a run starts and without heavy imports."""

from __future__ import annotations

from collections.abc import Iterable

from agentgauge.core.errors import ToolUnavailable, UsageProblem
from agentgauge.sandbox import check_minimum
from tool_impls.base import DISABLED, READY, UNAVAILABLE
from tool_impls.registry import TOOLS
from tool_impls.settings import ToolSettings


def check(settings: ToolSettings, names: Iterable[str] | None = None) -> dict[str, str]:
    """The state of each named tool (all by default): ready, basic, ``substitute: what``, disabled,
    or ``unavailable: what would help``; with ``missing = "disable"`` the last reads ``disabled: what would help``.

    Raises UsageProblem for a name that no tool has.
    """
    wanted = list(TOOLS) if names is None else list(dict.fromkeys(names))
    if unknown := [name for name in wanted if name not in TOOLS]:
        raise UsageProblem(f"there is no tool {unknown[0]!r}; known are {', '.join(TOOLS)}")
    states = {name: TOOLS[name].state(settings) for name in wanted}
    if settings.missing == "disable":
        states = {
            name: state.replace(UNAVAILABLE, DISABLED, 1) if state.startswith(UNAVAILABLE) else state
            for name, state in states.items()
        }
    return states


def require(settings: ToolSettings, names: Iterable[str]) -> dict[str, str]:
    """As ``check``; raises ToolUnavailable with one sentence for a tool that cannot work and is not disabled.

    Raises UsageProblem where a tool would run a model's code and this machine cannot confine it.
    """
    states = check(settings, names)
    if lacking := [name for name, state in states.items() if state.startswith(UNAVAILABLE)]:
        name, *more = lacking
        reason = states[name].removeprefix(f"{UNAVAILABLE}: ")
        others = f" (also unavailable: {', '.join(more)})" if more else ""
        switch = "" if "disable" in reason else f'; or switch it off with disable = ["{name}"] in [tools]'
        raise ToolUnavailable(f"{name} is needed but unavailable: {reason}{switch}{others}")
    if any(TOOLS[name].runs_code for name, state in states.items() if state == READY):
        check_minimum(allow_unsafe=settings.allow_unsafe)
    return states
