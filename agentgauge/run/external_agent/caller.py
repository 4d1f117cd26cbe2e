"""Calls an agent that is a Python function: ``python caller.py module:function``.

It runs as the agent program, which cannot see AgentGauge's packages, so it imports the standard library only.
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
    """Call the function with the task, and write its answer to a file: a text, or an object."""
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
