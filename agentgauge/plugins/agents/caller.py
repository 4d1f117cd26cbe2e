"""Calls an agent that is a Python function: ``python caller.py MODULE FUNCTION FILE``.

It runs as the agent program, which cannot see AgentGauge's packages, so it imports the standard library only.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType


def main(module: str, name: str, file: str) -> None:
    """Give the task to the function, and write down what it returns: a text, or an answer as an object.

    ``file``: of the module, or of the package that it is in, or the folder of a package without ``__init__.py``. The
    module is loaded from there, since the folder above may be out of sight.
    """
    top = module.partition(".")[0]
    if spec := spec_from_file_location(top, file):
        assert spec.loader
        sys.modules[top] = package = module_from_spec(spec)
        spec.loader.exec_module(package)
    else:
        sys.modules[top] = package = ModuleType(top)
        package.__path__ = [file]
    task = json.loads(Path(os.environ["AGENTGAUGE_TASK"]).read_text(encoding="utf-8"))
    answer = getattr(import_module(module), name)(task)
    if inspect.isawaitable(answer):

        async def awaited() -> object:
            return await answer

        answer = asyncio.run(awaited())
    result = {"content": answer} if isinstance(answer, str) else answer
    Path(os.environ["AGENTGAUGE_ANSWER"]).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
