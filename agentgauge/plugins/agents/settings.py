"""Which agent a run tests in the model's place, read from ``--agent`` and the table ``[agent]``, or from
``--agent-outputs``."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from argparse import Namespace
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.announcement import announced_names, plugins, refused
from agentgauge.core.config import AgentTable, Config
from agentgauge.core.errors import UsageProblem, did_you_mean
from agentgauge.core.redaction import is_secret_name, redact, register
from agentgauge.core.task_options import SAME
from agentgauge.plugins.agents.installed import preset_name, read_preset
from agentgauge.plugins.agents.placeholders import refuse_unknown
from agentgauge.plugins.agents.presets import PRESETS, Preset
from agentgauge.run.programs.command import Command, read_command
from agentgauge.run.programs.process import ProgramSettings, refuse_shown, require_ports, require_sandbox

if TYPE_CHECKING:
    from agentgauge.plugins.agents.outputs import Outputs
    from agentgauge.run.run import Run
    from agentgauge.run.settings import Draft
    from agentgauge.store.jsonl import CaseId

CALLER = Path(__file__).with_name("caller.py")
_EXAMPLE = "python my_agent.py"


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """The facts about its agent that a run stores."""

    text: str  # what the option was given
    name: str
    digest: str  # of everything about the agent that this machine can tell and that may change an answer
    confined: bool
    delivered: bool = False  # by --agent-outputs
    asks: bool = True  # the model of the run; not where it asks its own provider


@dataclass(frozen=True, slots=True)
class AgentProgram:
    """How to run the agent."""

    command: Command
    process: ProgramSettings
    requests: int  # to the model, for each call of the agent
    preset: Preset | None = None  # where the command begins with the name of a preset


@dataclass(frozen=True, slots=True)
class GivenOutputs:
    """What the agent has delivered."""

    outputs: Outputs


def configure(draft: Draft) -> None:
    """Add the agent to the settings of a run. Raises UsageProblem as ``read_agent`` and ``read_outputs``, for a
    dialect, and where a resumed run had another agent."""
    before = earlier_facts(draft.earlier)
    path = draft.given.agent_outputs or (before.text if before and before.delivered and not draft.given.agent else None)
    facts: AgentFacts | None
    tested: AgentProgram | GivenOutputs | None
    if path is None:
        facts, tested = read_agent(draft.given, draft.earlier, draft.file)
    elif draft.given.rescore:
        facts, tested = before, None
    else:
        facts, tested = read_outputs(path)
    if facts is None:
        return
    option = option_of(facts)
    if (dialect := draft.values["dialect"]) != "native":
        raise UsageProblem(f"--dialect {dialect} and {option} cannot be used together: an agent speaks its own")
    if draft.given.resume and (old := before and before.digest) != facts.digest:
        differs = f"that run has {'outputs' if facts.delivered else 'agent'} {old!r}, this one {facts.digest!r}"
        raise UsageProblem(f"--resume {draft.run_dir}: {differs}; give the same, or start a new run")
    draft.instead, draft.asks, draft.delivered = facts.name, facts.asks, facts.delivered
    if draft.given.model and not (facts.asks or facts.delivered):
        raise UsageProblem(
            f"--model and --agent={facts.name} cannot be used together: it asks its own provider; name the model as"
            f' that program does, such as --agent="{facts.name} --model NAME"'
        )
    draft.stored["agent"] = asdict(facts)
    draft.fingerprint["agent"] = facts.digest
    draft.described |= {"agent": facts.digest, "agent_name": facts.name}
    draft.facts[AgentFacts] = facts
    if tested:
        draft.facts[type(tested)] = tested


def option_of(facts: AgentFacts) -> str:
    return "--agent-outputs" if facts.delivered else "--agent"


def check(run: Run) -> None:
    """Raises UsageProblem for tasks that an agent cannot solve, for a role of a model that is not asked, where the
    program could not reach the tools, for readable paths that show the gold, for several attempts at what has been
    delivered once, and where nothing was delivered for any case."""
    settings = run.settings
    facts = settings.of(AgentFacts)
    selected = [settings.tasks[name] for name in sorted({task for task, _, _ in run.plan})]
    if refused := [task.name for task in selected if task.agents is None]:
        able = [task.name for task in settings.tasks if task.agents]
        raise UsageProblem(
            f"{option_of(facts)}: {', '.join(refused)} cannot be run with an agent program; select tasks that can:"
            f" {', '.join(able)}"
        )
    roles = [option.name for task in selected for option in task.options if option.model]
    if not settings.asks and (same := next((name for name in roles if settings.options[name] == SAME), None)):
        why = "has answered already" if facts.delivered else "asks its own provider"
        raise UsageProblem(f"{same} {SAME}: this agent {why}, so no model is tested; name another model")
    if given := settings.facts.get(GivenOutputs):
        _check_outputs(run.plan, given.outputs)
    if (program := settings.facts.get(AgentProgram)) is None:
        return
    with_tools = next((task.name for task in selected if task.tools), None)
    if program.preset and with_tools and find_spec("mcp") is None:
        raise UsageProblem(
            f"--agent: that program gets the tools of {with_tools} by the Model Context Protocol only; pip install"
            " 'agentgauge[mcp]'"
        )
    refuse_shown(program.process, settings.hidden, readable="[agent] readable", command="--agent")


def _check_outputs(plan: Collection[CaseId], outputs: Outputs) -> None:
    """Raises UsageProblem."""
    if (attempts := max((attempt for _, _, attempt in plan), default=1)) > 1:
        raise UsageProblem(
            f"--agent-outputs has one answer to each sample, but there are {attempts} attempts; give --attempts=1"
        )
    if plan and not any(outputs.has(task, sample) for task, sample, _ in plan):
        task, sample, _ = next(iter(plan))
        raise UsageProblem(
            f"--agent-outputs: nothing was delivered for any of the {len(plan)} selected cases; that of the first"
            f" would be in {outputs.places(task, sample)}"
        )


def read_agent(
    option: Namespace, earlier: Mapping[str, Any], config: Config
) -> tuple[AgentFacts | None, AgentProgram | None]:
    """The agent's facts, and how to run it. Both are None for a run that tests a model.

    ``earlier``: the settings of the run that this run continues. Raises UsageProblem for a command without a program,
    and if this machine cannot confine a program and the user has not allowed unconfined programs.
    """
    before = earlier_facts(earlier)
    text: str | None = before.text if option.agent is None and before else option.agent
    if text is None or option.rescore:
        return before, None
    table = config.agent
    function = _function(text)
    name = "" if function else preset_name(text)
    more: tuple[Path, ...] = ()
    if function:
        command, more = _calling(*function)
    elif name:
        command, more = read_preset(text, name)
    else:
        command = read_command(text, "--agent", _EXAMPLE)
    refuse_unknown(command.words)
    process = ProgramSettings(
        seconds=table.seconds,
        memory_mb=table.memory_mb,
        readable=(*command.readable, *command.environment, *more, *_existing(table, config)),
        env=_variables(table),
        network=table.network,
    )
    process = _as_possible(process, allow_unsafe=option.allow_unsafe_code)
    preset = PRESETS.get(name)
    if preset:
        _require(preset, process, table)
    limits = [process.seconds, process.memory_mb, table.requests, process.connected]
    shown = [str(path) for path in process.readable]
    parts = [command.digest, shown, sorted(table.env), limits, *([preset.digest] if preset else [])]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
    called = text if function else name or _name_of(command)
    facts = AgentFacts(redact(text), called, digest, process.confined, asks=not (preset and preset.key))
    return facts, AgentProgram(command, process, table.requests, preset)


def _require(preset: Preset, process: ProgramSettings, table: AgentTable) -> None:
    """Raises UsageProblem where the program could not work."""
    if preset.key and not (process.connected and table.env):
        raise UsageProblem(
            f"--agent={preset.name} asks its own provider: write network = true and the names of the variables with its"
            f' key, such as env = ["{preset.key}"], into the table [agent] of agentgauge.toml'
        )
    if process.confined and table.memory_mb < preset.memory_mb:
        raise UsageProblem(
            f"--agent={preset.name} does not start with memory_mb = {table.memory_mb}; write memory_mb ="
            f" {preset.memory_mb} or more into the table [agent] of agentgauge.toml"
        )


def read_outputs(text: str) -> tuple[AgentFacts, GivenOutputs]:
    """The agent's facts, and its outputs. Raises UsageProblem for what holds none, and what cannot be read."""
    from agentgauge.plugins.agents.output_pack import read_pack
    from agentgauge.plugins.agents.outputs import OutputFolder

    path = Path(text).resolve()
    if not path.exists():
        raise UsageProblem(f"--agent-outputs: there is no {path}; give a folder of outputs, or an eval pack")
    outputs: Outputs = OutputFolder(path) if path.is_dir() else read_pack(path)
    try:
        digest = outputs.digest()
    except OSError as error:
        raise UsageProblem(
            f"--agent-outputs: {error.filename} cannot be read ({error.strerror}); correct its rights"
        ) from None
    return AgentFacts(str(path), outputs.name, digest, confined=True, delivered=True, asks=False), GivenOutputs(outputs)


def earlier_facts(earlier: Mapping[str, Any]) -> AgentFacts | None:
    """Those of the run that this run continues."""
    if not isinstance(kept := earlier.get("agent"), Mapping):
        return None
    return AgentFacts(
        kept.get("text", ""),
        kept.get("name", ""),
        kept.get("digest", ""),
        kept.get("confined", True),
        kept.get("delivered", False),
        kept.get("asks", True),
    )


def _as_possible(process: ProgramSettings, *, allow_unsafe: bool) -> ProgramSettings:
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
