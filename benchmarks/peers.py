"""The same requests without AgentGauge's runner: ``python benchmarks/peers.py NAME URL SAMPLES IN_FLIGHT``.

NAME is ``aiohttp`` (plain asyncio), ``client`` (AgentGauge's own client without pytest), ``inspect`` (inspect_ai as it
comes, without its display) or ``inspect-cheapest`` (also without its log of running samples, which AgentGauge always
keeps). The Python that has inspect_ai runs this file alone, so nothing is imported at the top.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile


async def plain(url: str, samples: int, in_flight: int) -> None:
    import aiohttp

    places = asyncio.Semaphore(in_flight)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=in_flight)) as session:

        async def ask(word: str) -> None:
            body = {"model": "m", "messages": [{"role": "user", "content": f"say {word}"}]}
            async with places, session.post(f"{url}/chat/completions", json=body) as answer:
                assert (await answer.json())["choices"][0]["message"]["content"] == word

        await asyncio.gather(*(ask(f"word{number}") for number in range(samples)))


async def client(url: str, samples: int, in_flight: int) -> None:
    from agentgauge.core.chat import ChatRequest
    from agentgauge.model.client import OpenAIModel
    from agentgauge.model.limits import AdaptiveLimiter
    from agentgauge.model.presets import resolve

    model = OpenAIModel(resolve("m", url=url), AdaptiveLimiter(in_flight, start=in_flight))

    async def ask(word: str) -> None:
        reply = await model.complete(ChatRequest(messages=({"role": "user", "content": f"say {word}"},), seed=1))
        assert reply.text == word

    await asyncio.gather(*(ask(f"word{number}") for number in range(samples)))
    await model.close()


def inspect(url: str, samples: int, in_flight: int, *, cheapest: bool) -> None:
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import GenerateConfig, get_model
    from inspect_ai.scorer import match

    model = get_model(
        "openai/m", base_url=url, api_key="none", responses_api=False, config=GenerateConfig(max_connections=in_flight)
    )
    data = MemoryDataset([Sample(input=f"say word{number}", target=f"word{number}") for number in range(samples)])
    without_log = {"log_realtime": False, "log_model_api": False} if cheapest else {}
    with tempfile.TemporaryDirectory() as logs:
        task = Task(dataset=data, scorer=match(location="exact"))
        done = eval(task, model=model, max_samples=in_flight, display="none", log_dir=logs, **without_log)
    assert done[0].status == "success", done[0].error
    assert done[0].results is not None
    assert done[0].results.scores[0].metrics["accuracy"].value == 1


if __name__ == "__main__":
    name, url, samples, in_flight = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if name.startswith("inspect"):
        inspect(url, samples, in_flight, cheapest=name == "inspect-cheapest")
    else:
        asyncio.run({"aiohttp": plain, "client": client}[name](url, samples, in_flight))
