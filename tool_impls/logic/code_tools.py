"""Calculator, Solver and Plot: Python code that a model wrote, run in the sandbox (docs/benchmarks/tools.md#code).

Released tools execute it inside the server; here it runs in a process of its own without network, files and time beyond
its limit. Code of Solver and Plot may stand in a Markdown block and must define ``solution()``.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from agentgauge import sandbox
from agentgauge.core.errors import ToolError
from agentgauge.core.files import cache_folder, write_whole
from agentgauge.sandbox.paths import package_folders
from tool_impls import base
from tool_impls.bounds import PLOT_PIXELS, opened_picture
from tool_impls.fonts import boxes

CODE = base.text("command", "Python code in a Markdown block that defines a function solution() without arguments.")
LIMIT = 20.0  # seconds, as released
START = 5.0
"""Further seconds of wall time for expressions: a process begins late on a busy machine, its work is bounded in
processor time."""

SOLVER_SETUP = "from sympy import Eq, solve, symbols"
PLOT_SETUP = "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt"

_BLOCK = "```{mark}(.*?)```"
_CHILD = Path(__file__).with_name("code_child.py").read_text("utf-8")
_FONTS = tuple(path for path in map(Path, ("/usr/share/fonts", "/usr/local/share/fonts")) if path.is_dir())
_MAX_TEXT = 1 << 20  # bytes of an answer
_MAX_PNG = 48 << 20  # bytes of a picture, as base64
_PNG = b"\x89PNG\r\n\x1a\n"


class _CodeTool(base.BenchTool):
    category = "logic"
    concurrency = 4
    runs_code = True


class Calculator(_CodeTool):
    """Evaluates an expression. Names and output are those of the released tool: everything public in ``math``, bare and
    as ``math.x``, and ``max min round sum``; no builtins, so ``abs`` fails and ``pow`` is the one of ``math``. As
    there, Python itself evaluates the text. Names do not confine an expression (``().__class__`` leads anywhere), so
    only the sandbox does.
    """

    meta = base.tool(
        "Calculator",
        "Works out one Python expression. Everything of the math module can be used, and max, min, round and sum.",
        (base.text("expression", "The expression, for example '2 * (3 + sqrt(16))'."),),
        base.TEXT_OUT,
    )
    version = 2

    def apply(self, folder: Path, /, expression: str) -> str:
        return evaluate(expression, folder=folder, allow_unsafe=self.settings.allow_unsafe)


class Solver(_CodeTool):
    meta = base.tool(
        "Solver",
        "Solves an equation by running sympy code. symbols, Eq and solve are already imported; the value of solution()"
        " is the answer.",
        (CODE,),
        base.TEXT_OUT,
    )
    packages = ("sympy",)

    def apply(self, folder: Path, /, command: str) -> str:
        return solve(command, folder=folder, allow_unsafe=self.settings.allow_unsafe)


class Plot(_CodeTool):
    meta = base.tool(
        "Plot",
        "Draws a chart by running matplotlib code. plt is already imported; solution() must return the figure.",
        (CODE,),
        base.IMAGE_OUT,
    )
    packages = ("matplotlib",)

    def apply(self, folder: Path, /, command: str) -> Path | base.Noted:
        path, missing = _plotted(command, folder, LIMIT, self.settings.allow_unsafe)
        return base.Noted(path, boxes("picture", missing)) if missing else path


def extract_code(command: str) -> str:
    """The first block marked ``python``, else the first block, else all of the text.

    QUIRK: the mark is looked for as the text "```python", so a block marked "python3" counts and keeps its "3"; and the
    word after the fence of another block (as in "```py") is part of the code.
    """
    for mark in ("python", ""):
        if found := re.search(_BLOCK.format(mark=mark), command, re.DOTALL):
            return found[1]
    return command


def evaluate(expression: str, *, folder: Path | None = None, seconds: float = 2.0, allow_unsafe: bool = False) -> str:
    """``str`` of the expression's value.

    ``folder``: an existing folder for a temporary one, by default the system's. ``seconds``: of processor time, rounded
    up. Raises ToolError: ``SyntaxError: ...``, ``NameError: ...``, ``ZeroDivisionError: division by zero`` as Python
    words them, or a sentence that names the limit that was exceeded. Raises SandboxFault or UsageProblem if it could
    not be run.
    """
    limits = sandbox.SandboxLimits(wall_seconds=seconds + START, cpu_seconds=seconds)
    order = {"kind": "value", "setup": "", "code": expression}
    answer = _run(order, folder, limits, allow_unsafe, "expression")
    if answer is None:
        raise ToolError("the expression ended its process before it had a value")
    return str(answer.get("text", ""))


def solve(command: str, *, folder: Path, seconds: float = LIMIT, allow_unsafe: bool = False) -> str:
    """``str`` of what the code's ``solution()`` returns; sympy's ``symbols``, ``Eq`` and ``solve`` are there.

    ``folder`` is an existing folder for a temporary one in which the code works. Raises ToolError for an error of the
    code, SandboxFault or UsageProblem if the code could not be run.
    """
    limits = sandbox.SandboxLimits(wall_seconds=seconds, output_bytes=_MAX_TEXT)
    return str(_solution("text", SOLVER_SETUP, command, folder, limits, allow_unsafe).get("text", ""))


def plot(command: str, *, folder: Path, seconds: float = LIMIT, allow_unsafe: bool = False) -> Path:
    """A new PNG file in ``folder`` with the matplotlib figure that ``solution()`` returns; ``plt`` is there.

    Errors as in ``solve``; another kind of result is a ToolError.
    """
    return _plotted(command, folder, seconds, allow_unsafe)[0]


def _plotted(command: str, folder: Path, seconds: float, unsafe: bool) -> tuple[Path, str]:
    """As ``plot``, and the characters that no font has, which are empty boxes in the picture."""
    limits = sandbox.SandboxLimits(wall_seconds=seconds, output_bytes=_MAX_PNG)
    answer, content = _solution("png", PLOT_SETUP, command, folder, limits, unsafe), b""
    with suppress(ValueError):
        content = base64.b64decode(str(answer.get("png", "")), validate=True)
    if not content.startswith(_PNG):
        raise ToolError("the code gave no picture")
    with opened_picture(io.BytesIO(content), "the figure", PLOT_PIXELS, "are taken; choose a smaller figsize or dpi"):
        pass  # its header alone is looked at
    path = folder / "plot.png"
    path.write_bytes(content)
    return path, str(answer.get("missing", ""))


def _solution(
    kind: str, setup: str, command: str, folder: Path, limits: sandbox.SandboxLimits, unsafe: bool
) -> dict[str, Any]:
    """What ``solution()`` returns, in the form that ``kind`` says, under that name."""
    order = {"kind": kind, "setup": setup, "code": extract_code(command)}
    answer = _run(order, folder, limits, unsafe, "code")
    if answer is None:
        raise ToolError("the code ended before solution() had returned")
    return answer


def _run(
    order: Mapping[str, Any], folder: Path | None, limits: sandbox.SandboxLimits, unsafe: bool, what: str
) -> dict[str, Any] | None:
    """What ``code_child`` answers to an order; None where it ended without an answer.

    ``what``: the name of what runs, for messages. Raises ToolError for an error of the code and where a limit ended it
    (ToolTimeout: that of time), SandboxFault or UsageProblem if it could not be run.
    """
    with sandbox.scratch_folder(folder) as scratch:
        result = run_child(order, scratch, limits, unsafe)
        hidden = str(scratch.resolve())
    answer = parsed(result.stdout)
    if result.status != "ok" and not (answer and result.status == "error"):
        ended = base.ToolTimeout if result.status == "timeout" else ToolError
        raise ended(f"the {what} was ended: {result.reason}")
    if answer.get("error"):
        raise ToolError(_without_paths(str(answer["error"]), hidden))
    return answer or None


def run_child(
    order: Mapping[str, Any], scratch: Path, limits: sandbox.SandboxLimits, unsafe: bool
) -> sandbox.SandboxResult:
    """Run ``code_child`` on an order. Expressions (``value``) see the standard library only."""
    return sandbox.run(
        _script(order["kind"], unsafe),
        folder=scratch,
        limits=limits,
        stdin=json.dumps(order).encode("utf-8", "surrogatepass"),
        readable=() if order["kind"] in ("value", "claim") else _FONTS,
        packages=order["kind"] != "value",
        allow_unsafe=unsafe,
    )


@lru_cache(maxsize=8)
def _script(kind: str, unsafe: bool) -> sandbox.Script:
    path = [] if kind == "value" else [*package_folders()]
    fonts = _font_list(unsafe) if kind == "png" else None
    ending = f"prepare({kind!r}, {path!r}, {fonts!r})\nif __name__ == '__main__':\n    main()\n"
    return sandbox.Script(f"{_CHILD}\n\n{ending}")


def parsed(text: str) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        answer = json.loads(text)
        return answer if isinstance(answer, dict) else {}
    return {}


def _without_paths(text: str, folder: str) -> str:
    """No path of this machine reaches the model: its own folder is ``.``, those of packages lose their beginning."""
    for path in (folder, sandbox.SCRIPT_FOLDER, *package_folders(), sys.prefix, sys.base_prefix):
        if path != "/":
            text = text.replace(path, "." if path in (folder, sandbox.SCRIPT_FOLDER) else "...")
    return text


@lru_cache(maxsize=1)
def _font_list(unsafe: bool) -> dict[str, str] | None:
    """Name and content of matplotlib's list of fonts, None if it cannot be made (then first plots are slow).

    matplotlib lists the fonts of the system when it finds no list, which takes seconds. The list is made once for the
    fonts that there are, inside the sandbox (so that it names what is visible there), and kept in the user's cache.
    """
    kept = cache_folder() / f"matplotlib-fonts-{version('matplotlib')}-{_fonts_digest()}.json"
    made: dict[str, Any] = {}
    with suppress(OSError):  # it is not made yet, or in a home that is not ours
        made = parsed(kept.read_text("utf-8"))
    if not {"name", "content"} <= made.keys():
        order = {"kind": "fonts", "setup": "", "code": ""}
        with sandbox.scratch_folder() as scratch:
            result = run_child(order, scratch, sandbox.SandboxLimits(wall_seconds=60, output_bytes=_MAX_PNG), unsafe)
        made = parsed(parsed(result.stdout).get("cache", ""))
        if not made:
            return None
        with suppress(OSError):  # a home that cannot be written: each process makes its own list
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_whole(kept, json.dumps(made).encode())
    return {"name": str(made["name"]), "content": str(made["content"])}


def _fonts_digest() -> str:
    """Changes when a font is installed."""
    folders = [folder for place in _FONTS for folder, *_ in os.walk(place)]
    state = [(folder, Path(folder).stat().st_mtime_ns) for folder in sorted(folders)]
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()[:16]
