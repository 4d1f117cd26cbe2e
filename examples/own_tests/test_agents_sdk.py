"""An agent of the OpenAI Agents SDK, which asks the run's model and uses its tools."""

import asyncio

import pytest
from openai import AsyncOpenAI

agents = pytest.importorskip("agents", reason="pip install openai-agents")


def test_the_agent_reads_the_receipt(model_endpoint, tools, receipt):
    @agents.function_tool
    async def read_text(image: str) -> str:
        """Read the text in a picture.

        Args:
            image: The path of the picture.
        """
        return await tools.OCR(image=image)

    client = AsyncOpenAI(base_url=model_endpoint.url, api_key=model_endpoint.key or "none")
    model = agents.OpenAIChatCompletionsModel(model_endpoint.model, client)
    agent = agents.Agent("Clerk", instructions="You read receipts.", tools=[read_text], model=model)
    settings = agents.RunConfig(tracing_disabled=True)
    result = asyncio.run(agents.Runner.run(agent, f"Which text is in the picture `{receipt}`?", run_config=settings))
    outputs = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    assert "10.60" in outputs[0]
