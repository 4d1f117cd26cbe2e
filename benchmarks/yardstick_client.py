"""The same requests by our own client alone, without pytest: ``python -m benchmarks.yardstick_client URL SAMPLES
IN_FLIGHT``.

What a run takes beyond this is the framework's.
"""

from __future__ import annotations

import asyncio
import sys

from agentgauge.core.chat import ChatRequest
from agentgauge.model.client import OpenAIModel
from agentgauge.model.limits import AdaptiveLimiter
from agentgauge.model.presets import resolve


async def main(url: str, samples: int, in_flight: int) -> None:
    model = OpenAIModel(resolve("m", url=url), AdaptiveLimiter(in_flight, start=in_flight))

    async def ask(word: str) -> None:
        reply = await model.complete(ChatRequest(messages=({"role": "user", "content": f"say {word}"},), seed=1))
        assert reply.text == word

    await asyncio.gather(*(ask(f"word{number}") for number in range(samples)))
    await model.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
