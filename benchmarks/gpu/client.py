"""A process of clients of a tool server: ``python -m benchmarks.gpu.client URL FOLDER CALLERS SECONDS TOOL=FILE ...``.

Each caller calls the tools in turn. After one call of each tool the process prints a line, and begins when it reads
one. It prints how many calls were answered in that time.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from tool_impls.server.client import ToolServerBox

ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "TextToBbox": {"text": "circle"},
    "ImageDescription": {},
    "SpeechToText": {},
}
"""By tool what it takes beside its file, under these weights."""


async def calls(url: str, folder: Path, callers: int, seconds: float, files: Mapping[str, Path]) -> int:
    box = ToolServerBox(url)

    async def one(name: str) -> None:
        key = "audio" if name == "SpeechToText" else "image"
        arguments = {key: str(files[name]), **ARGUMENTS[name]}
        await box.call(name, arguments, folder=folder, readable=[files[name].parent])

    async def caller(first: int) -> int:
        names, done = list(files), 0
        while not done or time.perf_counter() - start < seconds:
            await one(names[(first + done) % len(names)])
            done += 1
        return done

    try:
        for name in files:
            await one(name)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        start = time.perf_counter()
        return sum(await asyncio.gather(*(caller(number) for number in range(callers))))
    finally:
        await box.close()


if __name__ == "__main__":
    url, place, callers, seconds, *pairs = sys.argv[1:]
    named = {name: Path(file) for name, _, file in (pair.partition("=") for pair in pairs)}
    print(asyncio.run(calls(url, Path(place), int(callers), float(seconds), named)))
