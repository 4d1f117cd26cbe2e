"""Which agent program a run tests in the model's place, read from ``--agent`` and the table ``[agent]``."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agentgauge.core.announcement import announced_names, plugins, refused
from agentgauge.core.config import AgentTable, Config
from agentgauge.core.errors import UsageProblem, did_you_mean
from agentgauge.core.redaction import is_secret_name, redact, register
from agentgauge.run.external_agent.command import Command, read_command
from agentgauge.run.external_agent.process import AgentSettings, hide_from_agents, require_ports, require_sandbox

CALLER = Path(__file__).with_name("caller.py")
_EXAMPLE = "python my_agent.py"


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """The facts about its agent that a run stores."""

    text: str  # what --agent was given
    name: str
    digest: str  # of everything about the agent that this machine can tell and that may change an answer
    confined: bool


@dataclass(frozen=True, slots=True)
class AgentProgram:
    """How to run the agent."""

    command: Command
    process: AgentSettings
    requests: int  # to the model, for each call of the agent


def read_agent(
    option: Namespace, earlier: Mapping[str, Any], config: Config, secret: Mapping[Path, str]
) -> tuple[AgentFacts | None, AgentProgram | None]:
    """The agent's facts, and how to run it. Both are None for a run that tests a model.

    ``earlier``: the settings of the run that this run continues. ``secret``: folders that an agent must not see, and
    what each is. Raises UsageProblem for a command without a program, for readable paths that show the gold, and if
    this machine cannot confine a program and the user has not allowed unconfined programs.
    """
    before = _earlier_facts(earlier["agent"]) if earlier.get("agent") else None
    text: str | None = before.text if option.agent is None and before else option.agent
    if text is None or option.rescore:
        return before, None
    table = config.agent
    function = _function(text)
    command, package = _calling(*function) if function else (read_command(text, "--agent", _EXAMPLE), ())
    process = AgentSettings(
        seconds=table.seconds,
        memory_mb=table.memory_mb,
        readable=(*command.readable, *command.environment, *package, *_existing(table, config)),
        env=_variables(table),
        network=table.network,
    )
    hide_from_agents(process, secret, readable="[agent] readable", command="--agent")
    process = _as_possible(process, allow_unsafe=option.allow_unsafe_code)
    limits = [process.seconds, process.memory_mb, table.requests, process.connected]
    parts = [command.digest, [str(path) for path in process.readable], sorted(table.env), limits]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
    name = text if function else _name_of(command)
    facts = AgentFacts(redact(text), name, digest, process.confined)
    return facts, AgentProgram(command, process, table.requests)


def _earlier_facts(kept: Mapping[str, Any]) -> AgentFacts:
    return AgentFacts(kept.get("text", ""), kept.get("name", ""), kept.get("digest", ""), kept.get("confined", True))


def _as_possible(process: AgentSettings, *, allow_unsafe: bool) -> AgentSettings:
    """Confined, or not where that is impossible and allowed."""
    try:
        require_sandbox(process, "--allow-unsafe-code")
        require_ports(process, "network = true in [agent], or --allow-unsafe-code")
    except UsageProblem:
        if allow_unsafe:
            return replace(process, confined=False)
        raise
    return process


def _function(name: str) -> tuple[EntryPoint, str] | None:
    """The function of an agent that a package announces, with its plugin."""
    found = ((plugin, announced_names(plugin, "agents")) for plugin in plugins())
    return next(((plugin, functions[name]) for plugin, functions in found if name in functions), None)


def _calling(plugin: EntryPoint, function: str) -> tuple[Command, tuple[Path]]:
    """A child process that calls the function, and the package or module of the function, which may be installed from
    a folder of its own. The process cannot import AgentGauge, which it does not see. Raises UsageProblem."""
    module, _, name = function.partition(":") if isinstance(function, str) else ("", "", "")
    spec = find_spec(module.partition(".")[0]) if module and name else None
    if spec is None:
        why = f"names {function!r:.200}; accepted is the text MODULE:FUNCTION of a module that is installed"
        raise refused(plugin, "agents", why)
    folders = list(spec.submodule_search_locations or ())
    origin = spec.origin or folders[0]  # a package without ``__init__.py`` has a folder only
    command = Command((sys.executable, "-P", str(CALLER), module, name, origin), (CALLER,))
    return command, (Path(folders[0] if folders else origin),)


def _name_of(command: Command) -> str:
    """The file that an interpreter runs says more than the interpreter."""
    return command.readable[0].stem if command.readable else command.program


def _existing(table: AgentTable, config: Config) -> list[Path]:
    for place in table.readable:
        if not Path(place).exists():
            raise UsageProblem(f"{config.path}: [agent] readable names {place}, which does not exist; correct the path")
    return [Path(place) for place in table.readable]


def _variables(table: AgentTable) -> dict[str, str]:
    if missing := [name for name in table.env if name not in os.environ]:
        raise UsageProblem(
            f"[agent] env names {missing[0]}, which is not set{did_you_mean(missing[0], os.environ)}; set it, or take"
            " it out"
        )
    values = {name: os.environ[name] for name in table.env}
    register(*(value for name, value in values.items() if is_secret_name(name)))
    return values
