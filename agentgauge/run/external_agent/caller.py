"""Calls an agent that is a Python function: ``python caller.py module:function``.

It runs as the agent program, where AgentGauge's packages are out of sight, so it imports the standard library only.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
from importlib import import_module
from pathlib import Path


def main(value: str) -> None:
    """Give the task to the function, and write down what it returns: a text, or an answer as an object."""
    module, _, name = value.partition(":")
    task = json.loads(Path(os.environ["AGENTGAUGE_TASK"]).read_text(encoding="utf-8"))
    answer = getattr(import_module(module), name)(task)
    if inspect.isawaitable(answer):

        async def awaited() -> object:
            return await answer

        answer = asyncio.run(awaited())
    told = {"content": answer} if isinstance(answer, str) else answer
    Path(os.environ["AGENTGAUGE_ANSWER"]).write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
