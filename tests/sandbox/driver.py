"""Runs code in the sandbox; as a program, for another user: each order in a new process, which is what code may attack.

Standard input: orders, a line of JSON each, with ``code``, ``script`` (whether a process stands ready for it),
``folder``, ``limits``, ``refuse`` and the ``environment`` of who gives the order.
Standard output: a line for each with the result as JSON; it is empty if the order's process died.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import Any

from agentgauge.sandbox import SandboxLimits, Script
from agentgauge.sandbox.launch import Job
from agentgauge.sandbox.processes import Setup


def execute(order: dict[str, Any]) -> dict[str, Any]:
    code = order["code"]
    main = f"def main():\n    exec(compile({code!r}, '<string>', 'exec'), {{'__name__': '__main__'}})\n"
    job = Job(
        Script(main) if order["script"] else [sys.executable, "-I", "-S", "-c", code],
        Setup(tuple(order["refuse"])),
        folder=Path(order["folder"]),
        limits=SandboxLimits(**order["limits"]),
    )
    return dataclasses.asdict(job.run())


def serve() -> None:
    """Fork for each order: a new interpreter would take longer than most orders."""
    for line in sys.stdin:
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(ours)
            order = json.loads(line)
            os.environ.clear()
            os.environ.update(order["environment"])
            with os.fdopen(theirs, "w") as answer:
                json.dump(execute(order), answer)
            os._exit(0)
        os.close(theirs)
        with os.fdopen(ours) as answer:
            text = answer.read()
        print(text if os.waitpid(child, 0)[1] == 0 else "", flush=True)


if __name__ == "__main__":
    serve()
