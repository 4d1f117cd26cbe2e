"""Solver and Plot: Python code that a model wrote, run in the sandbox (GTA spec 2).

The code may stand in a Markdown block and must define ``solution()``. Released tools execute it inside the server; here
it runs in a process of its own without network, files and time beyond its limit.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from agentgauge import sandbox
from agentgauge.core.errors import ToolError
from agentgauge.sandbox.paths import package_folders
from tool_impls.base import ToolTimeout
from tool_impls.bounds import PLOT_PIXELS, opened_picture

SOLVER_SETUP = "from sympy import Eq, solve, symbols"
PLOT_SETUP = "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt"

_BLOCK = "```{mark}(.*?)```"
_CHILD = Path(__file__).with_name("code_child.py")
_FONTS = tuple(path for path in map(Path, ("/usr/share/fonts", "/usr/local/share/fonts")) if path.is_dir())
_MAX_TEXT = 1 << 20  # bytes of an answer
_MAX_PNG = 48 << 20  # bytes of a picture, as base64
_PNG = b"\x89PNG\r\n\x1a\n"


def extract_code(command: str) -> str:
    """The first block marked ``python``, else the first block, else all of the text.

    QUIRK: the mark is looked for as the text "```python", so a block marked "python3" counts and keeps its "3"; and the
    word behind the fence of another block (as in "```py") is part of the code.
    """
    for mark in ("python", ""):
        if found := re.search(_BLOCK.format(mark=mark), command, re.DOTALL):
            return found[1]
    return command


def solve(command: str, *, folder: Path, seconds: float = 20.0, allow_unsafe: bool = False) -> str:
    """``str`` of what the code's ``solution()`` returns; sympy's ``symbols``, ``Eq`` and ``solve`` are there.

    ``folder`` is an existing folder for a temporary one in which the code works. Raises ToolError for whatever the code
    does wrong, SandboxFault or UsageProblem if it could not be run.
    """
    answer = _run("text", SOLVER_SETUP, command, folder, seconds, _MAX_TEXT, allow_unsafe)
    return str(answer.get("text", ""))


def plot(command: str, *, folder: Path, seconds: float = 20.0, allow_unsafe: bool = False) -> Path:
    """A new PNG file in ``folder`` with the matplotlib figure that ``solution()`` returns; ``plt`` is there.

    Errors as in ``solve``; another kind of result is a ToolError.
    """
    answer = _run("figure", PLOT_SETUP, command, folder, seconds, _MAX_PNG, allow_unsafe)
    try:
        content = base64.b64decode(str(answer.get("png", "")), validate=True)
    except (binascii.Error, ValueError):
        content = b""
    if not content.startswith(_PNG):
        raise ToolError("the code gave no picture")
    with opened_picture(io.BytesIO(content), "the figure", PLOT_PIXELS, "are taken; choose a smaller figsize or dpi"):
        pass  # its header alone is looked at
    path = folder / "plot.png"
    if path.exists():
        path = folder / f"plot-{1 + sum(1 for _ in folder.glob('plot*.png'))}.png"
    path.write_bytes(content)
    return path


def _run(
    kind: Literal["text", "figure"], setup: str, command: str, folder: Path, seconds: float, size: int, unsafe: bool
) -> dict[str, Any]:
    order = {"kind": kind, "setup": setup, "code": extract_code(command), "path": package_folders()}
    limits = sandbox.Limits(wall_seconds=seconds, output_bytes=size)
    answer = run_child(order, folder=folder, limits=limits, allow_unsafe=unsafe)
    if answer is None:
        raise ToolError("the code ended before solution() had returned")
    return answer


def run_child(
    order: Mapping[str, Any], *, folder: Path | None, limits: sandbox.Limits, allow_unsafe: bool, what: str = "code"
) -> dict[str, Any] | None:
    """What ``code_child`` answers to an order; None where it ended without an answer.

    ``what``: the name of what runs, for messages. Raises ToolError for an error of the code and where a limit ended it
    (ToolTimeout: that of time), SandboxFault or UsageProblem if it could not be run.
    """
    with sandbox.scratch_folder(folder) as scratch:
        env = {}
        if order["kind"] == "figure":
            env["MPLCONFIGDIR"] = str(scratch / ".matplotlib")
            _put_fonts(scratch / ".matplotlib", allow_unsafe)
        result = _child(order["kind"], json.dumps(order), scratch, limits, env, allow_unsafe)
        hidden = str(scratch.resolve())
    answer = _parsed(result.stdout)
    if result.status != "ok" and not (answer and result.status == "error"):
        ended = ToolTimeout if result.status == "timeout" else ToolError
        raise ended(f"the {what} was ended: {result.reason}")
    if answer and answer.get("error"):
        raise ToolError(_without_paths(str(answer["error"]), hidden))
    return answer


def _child(
    kind: str, order: str, scratch: Path, limits: sandbox.Limits, env: dict[str, str], unsafe: bool
) -> sandbox.SandboxResult:
    """Expressions (``value``) see the standard library only."""
    return sandbox.run(
        [sys.executable, "-I", "-S", "-c", _child_source()],
        folder=scratch,
        limits=limits,
        stdin=order.encode("utf-8", "surrogatepass"),
        env=env,
        readable=() if kind == "value" else _FONTS,
        packages=kind != "value",
        allow_unsafe=unsafe,
    )


@lru_cache(maxsize=1)
def _child_source() -> str:
    return _CHILD.read_text("utf-8")


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _without_paths(text: str, folder: str) -> str:
    """No path of this machine reaches the model: its own folder is ``.``, those of packages lose their beginning."""
    for path in (folder, *package_folders(), sys.prefix, sys.base_prefix):
        if path != "/":
            text = text.replace(path, "." if path == folder else "...")
    return text


# matplotlib lists the fonts of the system when it finds no list, which takes seconds. The list is made once, inside the
# sandbox (so that it names what is visible there), kept in the user's cache, and each run gets a copy to itself.


def _put_fonts(target: Path, unsafe: bool) -> None:
    target.mkdir()
    if found := _font_list(unsafe):
        name, content = found
        (target / name).write_text(content, "utf-8")


@lru_cache(maxsize=1)
def _font_list(unsafe: bool) -> tuple[str, str] | None:
    """Name and content of matplotlib's list of fonts, None if it cannot be made (then each plot is slow)."""
    kept = _cache_file()
    if saved := _saved(kept):
        return saved
    order = json.dumps({"kind": "fonts", "setup": "", "code": "", "path": package_folders()})
    with sandbox.scratch_folder() as scratch:
        env = {"MPLCONFIGDIR": str(scratch / ".matplotlib")}
        (scratch / ".matplotlib").mkdir()
        result = _child("fonts", order, scratch, sandbox.Limits(wall_seconds=60, output_bytes=_MAX_PNG), env, unsafe)
    made = _parsed((_parsed(result.stdout) or {}).get("cache", ""))
    if not made:
        return None
    if kept:
        _keep(kept, json.dumps(made))
    return str(made["name"]), str(made["content"])


def _saved(path: Path | None) -> tuple[str, str] | None:
    try:
        found = _parsed(path.read_text("utf-8")) if path else None
    except OSError:
        return None  # not made yet, or a home that is not ours
    return (
        (Path(str(found["name"])).name, str(found["content"]))
        if found and {"name", "content"} <= found.keys()
        else None
    )


def _cache_file() -> Path | None:
    """Where the list is kept between processes; None without matplotlib (the plot then reports it)."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        number = version("matplotlib")
    except PackageNotFoundError:
        return None
    base = os.environ.get("XDG_CACHE_HOME") or Path("~").expanduser() / ".cache"
    return Path(base) / "agentgauge" / f"matplotlib-fonts-{number}.json"


def _keep(path: Path, content: str) -> None:
    """Write the cache whole or not at all: several processes may do it at the same time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
            file.write(content)
        Path(file.name).replace(path)
    except OSError:
        return  # a home that cannot be written: each process makes its own list
