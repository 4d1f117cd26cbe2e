"""Run cells of ours and keep what they show, as a notebook does: streams, results, figures.

The cells run here and not in a sandbox: they are part of this project.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import hashlib
import io
from collections.abc import Sequence
from importlib import import_module
from typing import Any
from unittest.mock import patch

Cell = dict[str, Any]


class Shell:
    """One notebook. ``names`` are the variables of its cells."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.cells: list[Cell] = []  # all that were run

    def run(self, sources: Sequence[str]) -> list[Cell]:
        """The executed cells."""
        done = []
        for source in sources:
            cell = bare(source) | {"id": hashlib.sha256(f"{self.name}/{len(self.cells)}".encode()).hexdigest()[:8]}
            if cell["cell_type"] == "code":
                count = 1 + sum(one["cell_type"] == "code" for one in self.cells)
                cell |= {"execution_count": count, "outputs": self._outputs(source, count)}
            self.cells.append(cell)
            done.append(cell)
        return done

    def _outputs(self, source: str, count: int) -> list[dict[str, Any]]:
        matplotlib, plt, pandas = (
            import_module("matplotlib"),
            import_module("matplotlib.pyplot"),
            import_module("pandas"),
        )
        matplotlib.use("Agg")
        plt.close("all")
        shown = _Shown(plt)
        with (
            matplotlib.style.context("default"),
            pandas.option_context("display.max_columns", 20, "display.width", 80),  # as in a notebook
            patch.object(plt, "show", shown.figures),
            contextlib.redirect_stdout(shown),
        ):
            tree = ast.parse(source)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, self.name, "exec"), self.names)
            if isinstance(last, ast.Expr):
                result = eval(compile(ast.Expression(last.value), self.name, "eval"), self.names)
                if result is not None:
                    shown.outputs.append(_result(result, count))
            shown.figures()
        return shown.outputs


class _Shown(io.TextIOBase):
    """Collects outputs in the order in which they come."""

    def __init__(self, plt: Any) -> None:
        self._plt = plt
        self.outputs: list[dict[str, Any]] = []

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self.outputs and self.outputs[-1]["output_type"] == "stream":
            self.outputs[-1]["text"] += text
        elif text:
            self.outputs.append({"output_type": "stream", "name": "stdout", "text": text})
        return len(text)

    def figures(self) -> None:
        """What ``plt.show`` does, and what happens at the end of a cell."""
        for number in self._plt.get_fignums():
            figure, picture = self._plt.figure(number), io.BytesIO()
            figure.savefig(
                picture, format="png", metadata={"Software": None}
            )  # the version of matplotlib need not be in it
            data = {"text/plain": repr(figure), "image/png": base64.b64encode(picture.getvalue()).decode("ascii")}
            self.outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
        self._plt.close("all")


def _result(value: Any, count: int) -> dict[str, Any]:
    data = {"text/plain": repr(value)}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_()
    return {"output_type": "execute_result", "execution_count": count, "data": data, "metadata": {}}


def bare(source: str) -> Cell:
    """The cell as a reply has it. Markdown of ours begins with a heading or a quotation, code never with a comment."""
    kind = "markdown" if source.startswith(("# ", "## ", "> ")) else "code"
    return {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}


def without_pictures(cell: Cell) -> Cell:
    """The cell without its figures, which would make the notebooks of later turns heavy."""
    if "outputs" not in cell:
        return cell
    return cell | {"outputs": [one for one in cell["outputs"] if "image/png" not in one.get("data", {})]}


def last_with_output(cells: Sequence[Cell]) -> Cell:
    """The last code cell that shows something."""
    return next(cell for cell in reversed(cells) if cell.get("outputs"))
