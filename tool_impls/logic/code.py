"""Tools that run what a model wrote: Calculator, Solver and Plot. The work itself is done in a sandbox."""

from __future__ import annotations

from pathlib import Path

from tool_impls import base

CODE = base.text("command", "Python code in a Markdown block that defines a function solution() without arguments.")
LIMIT = 20.0  # seconds, as released


class Calculator(base.BenchTool):
    meta = base.tool(
        "Calculator",
        "Works out one Python expression. Everything of the math module can be used, and max, min, round and sum.",
        (base.text("expression", "The expression, for example '2 * (3 + sqrt(16))'."),),
        base.TEXT_OUT,
    )
    category = "logic"
    version = 2
    concurrency = 4
    runs_code = True

    def apply(self, folder: Path, /, expression: str) -> str:
        from tool_impls.logic.calculator import evaluate

        return evaluate(expression, folder=folder, allow_unsafe=self.settings.allow_unsafe)


class Solver(base.BenchTool):
    meta = base.tool(
        "Solver",
        "Solves an equation by running sympy code. symbols, Eq and solve are already imported; the value of solution()"
        " is the answer.",
        (CODE,),
        base.TEXT_OUT,
    )
    category = "logic"
    packages = ("sympy",)
    concurrency = 4
    runs_code = True

    def apply(self, folder: Path, /, command: str) -> str:
        from tool_impls.logic.code_tools import solve

        return solve(command, folder=folder, seconds=LIMIT, allow_unsafe=self.settings.allow_unsafe)


class Plot(base.BenchTool):
    meta = base.tool(
        "Plot",
        "Draws a chart by running matplotlib code. plt is already imported; solution() must return the figure.",
        (CODE,),
        base.IMAGE_OUT,
    )
    category = "logic"
    packages = ("matplotlib",)
    concurrency = 4
    runs_code = True

    def apply(self, folder: Path, /, command: str) -> Path:
        from tool_impls.logic.code_tools import plot

        return plot(command, folder=folder, seconds=LIMIT, allow_unsafe=self.settings.allow_unsafe)
