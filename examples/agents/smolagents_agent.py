"""An agent of smolagents: its tools come by MCP, its model from the endpoint that it is given.

Needs smolagents[mcp,openai].
"""

import json
import os
from pathlib import Path

from smolagents import LogLevel, MCPClient, OpenAIServerModel, ToolCallingAgent

messages = json.loads(Path(os.environ["AGENTGAUGE_TASK"]).read_text())["messages"]
request = "\n\n".join(str(message["content"]) for message in messages)
model = OpenAIServerModel(
    os.environ["AGENTGAUGE_MODEL"],
    api_base=os.environ["AGENTGAUGE_MODEL_URL"],
    api_key=os.environ["AGENTGAUGE_MODEL_KEY"],
)
address = {
    "url": os.environ["AGENTGAUGE_MCP_URL"],
    "transport": "streamable-http",
    "headers": {"Authorization": f"Bearer {os.environ['AGENTGAUGE_MCP_TOKEN']}"},
}
with MCPClient(address, structured_output=False) as tools:
    agent = ToolCallingAgent(tools=tools, model=model, max_steps=30, verbosity_level=LogLevel.OFF)
    answer = str(agent.run(request))
Path(os.environ["AGENTGAUGE_ANSWER"]).write_text(json.dumps({"content": answer}))
