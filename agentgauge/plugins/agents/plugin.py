"""``--agent``: an agent program is tested in the model's place. ``--agent-outputs``: so is what one has delivered."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentgauge.run.part import Part, Process
    from agentgauge.run.run import Run
    from agentgauge.run.settings import Draft


def pytest_agentgauge_options() -> type:
    from agentgauge.plugins.agents.options import AgentOptions

    return AgentOptions


def pytest_agentgauge_configure(draft: Draft) -> None:
    if draft.given.agent is None and draft.given.agent_outputs is None and not draft.earlier.get("agent"):
        return
    from agentgauge.plugins.agents.settings import configure

    configure(draft)


def pytest_agentgauge_check(run: Run) -> None:
    from agentgauge.plugins.agents.settings import AgentFacts, check

    if AgentFacts in run.settings.facts:
        check(run)


def pytest_agentgauge_header(run: Run) -> Iterable[str]:
    from agentgauge.plugins.agents.settings import AgentFacts

    if (agent := run.settings.facts.get(AgentFacts)) is None:
        return []
    if agent.delivered:
        return [f"outputs of {agent.name}, digest {agent.digest}; no model is tested"]
    confined = "" if agent.confined else ", NOT confined"
    return [f"agent {agent.name} in the model's place, digest {agent.digest}{confined}"]


def pytest_agentgauge_process(process: Process) -> Part | None:
    from agentgauge.plugins.agents.logs import AgentLogs
    from agentgauge.plugins.agents.settings import AgentProgram, GivenOutputs

    facts, logs = process.settings.facts, AgentLogs(process.folder.path / "logs" / "agent")
    if (program := facts.get(AgentProgram)) is not None:
        from agentgauge.plugins.agents.agent import AgentPart, ProgramAgent

        return AgentPart(ProgramAgent(program, process.settings.tasks, logs, process.settings.slots))
    if (given := facts.get(GivenOutputs)) is not None:
        from agentgauge.plugins.agents.delivered import OutputsPart

        return OutputsPart(given.outputs, logs)
    return None
