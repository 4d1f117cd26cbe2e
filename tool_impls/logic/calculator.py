"""Calculator: the value of one Python expression, evaluated in the sandbox (GTA spec 2).

Names and output are those of the released tool: everything public in ``math``, bare and as ``math.x``, and
``max min round sum``; no builtins, so ``abs`` fails and ``pow`` is the one of ``math``. As there, Python itself
evaluates the text. Names do not confine an expression (``().__class__`` leads anywhere), so only the sandbox does.
"""

from __future__ import annotations

from pathlib import Path

from agentgauge import sandbox
from agentgauge.core.errors import ToolError
from tool_impls.logic.code_tools import run_child

START = 5.0
"""Further seconds of wall time, for a process to begin on a busy machine; its work is bounded in processor time."""


def evaluate(expression: str, *, folder: Path | None = None, seconds: float = 2.0, allow_unsafe: bool = False) -> str:
    """``str`` of the expression's value.

    ``folder``: an existing folder for a temporary one, by default the system's. ``seconds``: of processor time, rounded
    up. Raises ToolError: ``SyntaxError: ...``, ``NameError: ...``, ``ZeroDivisionError: division by zero`` as Python
    words them, or a sentence that names the limit that was exceeded. Raises SandboxFault or UsageProblem if it could
    not be run.
    """
    limits = sandbox.Limits(wall_seconds=seconds + START, cpu_seconds=seconds)
    order = {"kind": "value", "setup": "", "code": expression, "path": []}
    answer = run_child(order, folder=folder, limits=limits, allow_unsafe=allow_unsafe, what="expression")
    if answer is None:
        raise ToolError("the expression ended its process before it had a value")
    return str(answer.get("text", ""))
