"""The fixture ``model_endpoint``: an address at which agents of other frameworks reach the run's model. Their requests
belong to the test that is running in this process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from agentgauge.core.capabilities import ToolUse
from agentgauge.core.case import Case
from agentgauge.core.chat import ChatReply
from agentgauge.core.errors import Fault
from agentgauge.core.redaction import register
from agentgauge.core.tools import Tool
from agentgauge.run.external_agent.chat_form import AgentRequest, Refused
from agentgauge.run.external_agent.endpoint import AgentEndpoint
from agentgauge.run.external_agent.session import ask_model
from agentgauge.run.factories import Endpoint
from agentgauge.run.own_tests.case import OwnCases


class OwnSession:
    """The requests of a process, which all have one token. See ``ProgramSession``."""

    passes_all: ClassVar[bool] = True
    tools: Sequence[Tool] = ()

    def __init__(self, cases: OwnCases, model: str, at_once: int) -> None:
        self.model = model
        self.requests = 0
        self.running: set[asyncio.Task[object]] = set()
        self.at_once = asyncio.Semaphore(at_once)
        self._cases = cases

    def receive(self, content: bytes) -> bytes:
        return content

    async def ask(self, agent_request: AgentRequest) -> ChatReply:
        """Raises Fault where the model cannot be reached."""
        self.requests += 1

        async def reply(case: Case) -> ChatReply:
            try:
                return await ask_model(case, agent_request)
            except Fault as fault:
                self._cases.note(case, fault)
                raise

        return await self._cases.counted(reply)

    async def use(self, name: str, arguments: str) -> ToolUse:
        raise Refused("there are no tools at this address: use those of the fixture tools", 404)


async def serve(cases: OwnCases, name: str, at_once: int) -> Endpoint:
    """Listen until the run ends. ``name``: of the model. ``at_once``: concurrent requests; further ones wait."""
    endpoint = AgentEndpoint()
    port = await endpoint.start()
    cases.at_end.append(endpoint.close)
    token = endpoint.open(OwnSession(cases, name, at_once))
    register(token)
    return Endpoint(f"http://127.0.0.1:{port}/v1", token, name)
