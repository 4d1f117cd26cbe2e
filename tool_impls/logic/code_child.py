"""What runs inside the sandbox for Calculator, Solver and Plot.

It is passed as text and imports nothing of this project.

Standard input: JSON with ``kind`` (``value``, ``text``, ``png`` or ``fonts``), ``setup`` and ``code`` (sources) and
``path`` (package folders). Standard output: JSON with ``text``, ``png`` (base64), ``error``, or ``cache`` (the list of
fonts). What the code prints goes to standard error, so it cannot spoil the answer by accident; by intent it could only
spoil its own.
"""

from __future__ import annotations

import json
import os
import sys
from types import TracebackType

FILE = "<code>"


def main() -> None:
    answer = os.dup(1)
    os.dup2(2, 1)
    order = json.loads(sys.stdin.buffer.read())
    sys.path += order["path"]
    try:
        result = {"error": None} | _answer(order)
    except BaseException as error:  # also SystemExit: the code asked for it, the agent must see it
        result = {"error": _describe(error, order["code"])}
    with os.fdopen(answer, "w", encoding="utf-8") as file:
        json.dump(result, file)
    sys.stderr.flush()
    os._exit(0)  # threads and exit handlers of the code have no say


def _answer(order: dict[str, str]) -> dict[str, str]:
    if order["kind"] == "fonts":
        return {"cache": _fonts()}
    if order["kind"] == "value":
        return {"text": str(eval(order["code"], _calculator_names()))}
    names: dict[str, object] = {"__name__": "__solution__", "__builtins__": __builtins__}
    exec(order["setup"], names)
    exec(compile(order["code"], FILE, "exec", dont_inherit=True), names)
    solution = names.get("solution")
    if not callable(solution):
        return {"error": "the code defines no function solution()"}
    result = solution()
    return {"text": str(result)} if order["kind"] == "text" else _figure(result)


class _Math:
    """What the name ``math`` stands for. The text of the real module names a path of this machine."""

    def __init__(self, members: dict[str, object]) -> None:
        self.__dict__.update(members)

    def __getattr__(self, name: str) -> object:
        raise AttributeError(f"module 'math' has no attribute {name!r}")

    def __repr__(self) -> str:
        return "<module 'math' (built-in)>"


def _calculator_names() -> dict[str, object]:
    """Everything that an expression may name; there are no builtins (GTA spec 2)."""
    import math

    members = {name: value for name, value in vars(math).items() if not name.startswith("_")}
    return {**members, "math": _Math(members), "max": max, "min": min, "round": round, "sum": sum, "__builtins__": {}}


def _figure(result: object) -> dict[str, str]:
    import base64
    import io

    from matplotlib import pyplot
    from matplotlib.figure import Figure

    if not isinstance(result, Figure):
        return {"error": f"solution() must return a matplotlib figure, not {type(result).__name__}"}
    file = io.BytesIO()
    result.savefig(file, format="png")
    pyplot.close("all")
    return {"png": base64.b64encode(file.getvalue()).decode()}


def _fonts() -> str:
    """The content of matplotlib's list of fonts, after it has been made."""
    from pathlib import Path

    import matplotlib
    import matplotlib.font_manager

    for path in Path(matplotlib.get_cachedir()).glob("fontlist*.json"):
        return json.dumps({"name": path.name, "content": path.read_text("utf-8")})
    return ""


def _describe(error: BaseException, code: str) -> str:
    """Type, message, and the last line of the user's code that was reached."""
    lines = code.splitlines()
    number = error.lineno if isinstance(error, SyntaxError) and error.filename == FILE else _line(error.__traceback__)
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    if number and number <= len(lines):
        text += f" (line {number}: {lines[number - 1].strip()})"
    return text


def _line(trace: TracebackType | None) -> int | None:
    found = None
    while trace:
        if trace.tb_frame.f_code.co_filename == FILE:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


if __name__ == "__main__":
    main()
