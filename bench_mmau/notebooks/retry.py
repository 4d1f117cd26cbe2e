"""One more try for code that failed, by the model of the first one (MMAU spec 7.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bench_mmau.fixes import PARITY, Fixes
from bench_mmau.notebooks.cells import NoCells, Solution, read_cells, without_fences
from bench_mmau.notebooks.execute import Execution
from bench_mmau.tool_use.replies import text_of

PACKAGES = (
    "numpy, pandas, scipy, scikit-learn, sympy, statsmodels, matplotlib, seaborn, plotly, wordcloud, the standard"
    " library"
)

AGAIN = """Running the notebook with your cells failed:

{error}

Please write your cells again, corrected. They replace your earlier ones; the cells before them stay and run first.

Reply with one JSON list of notebook cells (nbformat 4) and nothing else. Each cell is an object with "cell_type" \
("code" or "markdown"), "metadata" (an empty object) and "source", a list of lines that each end with a line break. \
For example:

[{"cell_type": "code", "metadata": {}, "source": ["total = 1 + 1\\n", "print(total)\\n"]}]

The code may use these packages only: {packages}."""


def needed(execution: Execution) -> bool:
    """True if the solution failed; every such one is retried, once."""
    return not execution.success


def request(solution: Solution, execution: Execution) -> list[Mapping[str, Any]]:
    """The messages of the retry."""
    text = AGAIN.replace("{packages}", PACKAGES).replace(
        "{error}", execution.error
    )  # the error last: it may hold anything
    return [*solution.messages, {"role": "user", "content": text}]


def replaced(
    solution: Solution,
    messages: list[Mapping[str, Any]],
    content: str | None,
    number: str = "",
    *,
    fixes: Fixes = PARITY,
) -> Solution:
    """The solution with the cells of the reply to ``messages``; unchanged if the cells cannot be decoded. Run it again
    in both cases.

    Raises StopsOnReply as ``cells.build``.
    """
    text = text_of(content, number, fixes)
    try:
        generated = read_cells(text, number, fixes=fixes)
    except NoCells:
        return solution
    turns = (*messages, {"role": "assistant", "content": without_fences(text)})
    return replace(solution, messages=turns, generated=generated, problem="")
