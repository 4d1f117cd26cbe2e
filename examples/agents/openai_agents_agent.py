"""An agent of the OpenAI Agents SDK: its tools come by MCP, its model from the endpoint that it is given.

Needs the package openai-agents.
"""

import asyncio
import json
import os
from pathlib import Path

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from openai import AsyncOpenAI

set_tracing_disabled(True)  # the SDK would send what happens here to its maker


messages = json.loads(Path(os.environ["AGENTGAUGE_TASK"]).read_text())["messages"]


async def solve():
    endpoint = AsyncOpenAI(
        base_url=os.environ["AGENTGAUGE_MODEL_URL"], api_key=os.environ["AGENTGAUGE_MODEL_KEY"], max_retries=0
    )
    model = OpenAIChatCompletionsModel(os.environ["AGENTGAUGE_MODEL"], endpoint)
    headers = {"Authorization": f"Bearer {os.environ['AGENTGAUGE_MCP_TOKEN']}"}
    address = {"url": os.environ["AGENTGAUGE_MCP_URL"], "headers": headers, "timeout": 600}
    async with MCPServerStreamableHttp(address, client_session_timeout_seconds=600) as tools:
        agent = Agent("solver", model=model, mcp_servers=[tools])
        return (await Runner.run(agent, messages, max_turns=30)).final_output


Path(os.environ["AGENTGAUGE_ANSWER"]).write_text(json.dumps({"content": asyncio.run(solve())}))
