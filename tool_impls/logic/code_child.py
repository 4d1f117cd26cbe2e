"""The script that runs inside the sandbox for Calculator, Solver, Plot and Prover.

It is the text of a script (see ``agentgauge.sandbox.Script``) and imports nothing of this project.

Standard input: JSON with ``kind`` (``value``, ``text``, ``png``, ``fonts`` or ``claim``), ``setup`` and ``code``
(sources), and for claims ``memory`` (MiB for Z3) and ``seconds`` (Z3 gives up after them).
Standard output: JSON with ``text``, ``png`` (base64) and ``missing`` (characters that the picture lacks), ``cache``
(the list of fonts), ``verdict`` and ``detail`` (of a claim), or ``error``. What the code prints goes to standard error,
so it cannot spoil the answer by accident; by intent it could only spoil its own.
"""

# Importing pathlib would take longer than all else that an expression needs.
# ruff: noqa: PTH100, PTH103, PTH118, PTH119, PTH123
from __future__ import annotations

import importlib
import json
import os
import re
import sys
import threading
import warnings
from types import TracebackType
from typing import Any

FILE = "<code>"
_NEEDED = {"text": "sympy", "png": "matplotlib.pyplot", "claim": "z3"}


def prepare(kind: str, path: list[str], fonts: dict[str, str] | None) -> None:
    """Import the packages that a kind of code needs, before the code is known. ``fonts``: name and content of
    matplotlib's list.
    """
    sys.path += path
    if kind in ("png", "fonts"):
        os.environ["MPLCONFIGDIR"] = os.path.abspath(".matplotlib")
        os.makedirs(".matplotlib", exist_ok=True)
    if fonts:
        with open(os.path.join(".matplotlib", os.path.basename(fonts["name"])), "w", encoding="utf-8") as file:
            file.write(fonts["content"])
    if __name__ == "prepared" and kind in _NEEDED:
        importlib.import_module(_NEEDED[kind])
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join(1)  # a timer that matplotlib has cancelled


def main() -> None:
    answer = os.dup(1)
    os.dup2(2, 1)
    order = json.loads(sys.stdin.buffer.read())
    try:
        result = {"error": None} | _answer(order)
    except BaseException as error:  # also SystemExit: the code asked for it, the agent must see it
        result = {"error": _describe(error, order["code"])}
    with os.fdopen(answer, "w", encoding="utf-8") as file:
        json.dump(result, file)
    sys.stderr.flush()
    os._exit(0)  # threads and exit handlers of the code have no say


def _answer(order: dict[str, Any]) -> dict[str, str]:
    if order["kind"] == "fonts":
        return {"cache": _fonts()}
    if order["kind"] == "claim":
        verdict, detail = _decide(order)
        return {"verdict": verdict, "detail": detail}
    if order["kind"] == "value":
        return {"text": str(eval(order["code"], _calculator_names()))}
    if order["kind"] == "text":
        importlib.import_module("sympy.core.random").seed()  # else it goes on as in every other fork of this process
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
    """Everything that an expression may name; there are no builtins (docs/benchmarks/tools.md#code)."""
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
    if missing := _saved(result, file):
        nowhere = _add_fonts(result, missing)
        file = io.BytesIO()
        again = _saved(result, file)  # matplotlib does not warn of all of them twice
        missing = "".join(sign for sign in missing if sign in nowhere + again)
    pyplot.close("all")
    return {"png": base64.b64encode(file.getvalue()).decode(), "missing": missing}


def _saved(figure: Any, file: Any) -> str:
    """Save a figure. Returns the characters that its fonts lack; matplotlib draws an empty box for each."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        figure.savefig(file, format="png")
    found = [re.match(r"Glyph (\d+) \(.*missing from font", str(one.message)) for one in heard]
    return "".join(dict.fromkeys(chr(int(hit[1])) for hit in found if hit))


def _add_fonts(figure: Any, missing: str) -> str:
    """Let the texts of a figure take the missing characters from other fonts of this machine. Returns those that none
    has."""
    from matplotlib.font_manager import fontManager, get_font
    from matplotlib.text import Text

    lacking, families = {ord(sign) for sign in missing}, []
    for entry in sorted(fontManager.ttflist, key=lambda one: (one.style != "normal", str(one.weight) != "400")):
        if not lacking:
            break
        try:
            having = lacking.intersection(get_font(entry.fname).get_charmap())
        except (OSError, RuntimeError, ValueError):
            continue  # damaged, or no font of outlines
        if having and not entry.name.startswith("Last Resort"):  # which has a placeholder for every character
            families.append(entry.name)
            lacking -= having
    for text in figure.findobj(Text):
        text.set_fontfamily([*text.get_fontfamily(), *families])
    return "".join(map(chr, lacking))


def _fonts() -> str:
    """The content of matplotlib's list of fonts, after it has been made."""
    from pathlib import Path

    import matplotlib
    import matplotlib.font_manager

    for path in Path(matplotlib.get_cachedir()).glob("fontlist*.json"):
        return json.dumps({"name": path.name, "content": path.read_text("utf-8")})
    return ""


def _decide(order: dict[str, Any]) -> tuple[str, str]:
    z3: Any = importlib.import_module("z3")  # it has no types
    z3.set_param("memory_max_size", order["memory"])
    z3.set_param("smt.random_seed", 0)
    z3.set_param("sat.random_seed", 0)
    z3.set_option(max_depth=40, max_args=200, max_lines=400, max_width=10**6)
    try:
        claims = z3.parse_smt2_string(order["code"])
    except z3.Z3Exception as error:
        message = _message(error)
        return ("unknown", message) if message == "out of memory" else ("parse error", message)
    if not len(claims):
        return "parse error", "the text holds no assertion; write the claim as (assert ...)"
    solver = z3.Solver()
    solver.set("timeout", int(order["seconds"] * 1000))
    try:
        solver.add(z3.Not(z3.And(list(claims))))
        found = solver.check()
        if found == z3.unsat:
            return "proved", ""
        if found == z3.sat:
            return "disproved", _model(solver.model())
        return "unknown", solver.reason_unknown()
    except z3.Z3Exception as error:
        return "unknown", _message(error)


def _model(model: Any) -> str:
    """``[x = 0, y = 1]``, by name; constants and functions that do not matter are left out by Z3."""
    values = sorted((item.name(), " ".join(str(model[item]).split())) for item in model.decls())
    return "[" + ", ".join(f"{name} = {value}" for name, value in values) + "]"


def _message(error: Exception) -> str:
    """The first line of Z3's words, without the form that they are printed in."""
    value: Any = getattr(error, "value", str(error))
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    found = re.match(r'\(error "(.*?)"?\)?\s*$', text.strip().split("\n")[0])
    return found[1] if found else text.strip().split("\n")[0]


def _describe(error: BaseException, code: str) -> str:
    """Type, message, and the last line of the user's code that was reached."""
    lines = re.split("\r\n?|\n", code)  # as Python counts them
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
