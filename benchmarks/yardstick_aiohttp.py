"""The same requests by plain asyncio and aiohttp, without any runner: ``python -m benchmarks.yardstick_aiohttp URL
SAMPLES IN_FLIGHT``."""

from __future__ import annotations

import asyncio
import sys

import aiohttp


async def main(url: str, samples: int, in_flight: int) -> None:
    places = asyncio.Semaphore(in_flight)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=in_flight)) as session:

        async def ask(word: str) -> None:
            body = {"model": "m", "messages": [{"role": "user", "content": f"say {word}"}]}
            async with places, session.post(f"{url}/chat/completions", json=body) as answer:
                assert (await answer.json())["choices"][0]["message"]["content"] == word

        await asyncio.gather(*(ask(f"word{number}") for number in range(samples)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
