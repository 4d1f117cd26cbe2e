"""Budgets, which end a run, and gates, which its figures must pass."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agentgauge.core.errors import UsageProblem
from agentgauge.core.registry import Registry
from agentgauge.core.text import cut
from agentgauge.core.types import Usage
from agentgauge.store import RunFolder

# -- ``--budget``: how much a run may spend before it stops gracefully.


Unit = Literal["usd", "tok", "s"]
_UNITS: dict[str, tuple[Unit, float]] = {
    "usd": ("usd", 1),
    "tok": ("tok", 1),
    "ktok": ("tok", 1e3),
    "mtok": ("tok", 1e6),
    "s": ("s", 1),
    "min": ("s", 60),
    "h": ("s", 3600),
}


@dataclass(frozen=True, slots=True)
class Budget:
    text: str
    unit: Unit
    limit: float

    def amount(self, usage: Usage) -> float:
        """Dollars or tokens that this run has paid; 0 for a budget of time."""
        return {"usd": usage.usd, "tok": usage.paid_tokens, "s": 0.0}[self.unit]

    def spent(self, usage: Usage, seconds: float) -> str | None:
        """Why the run must stop, or None."""
        used = seconds if self.unit == "s" else self.amount(usage)
        how = ", by estimated token counts" if usage.estimated_requests and self.unit != "s" else ""
        return f"the budget of {self.text} is used up{how}" if used >= self.limit else None


def parse_budget(text: str) -> Budget:
    """``5usd``, ``2Mtok``, ``300ktok``, ``30min``, ``2h``, ``90s``. Raises UsageProblem."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)", text.strip())
    if match is None or match[2].lower() not in _UNITS or not 0 < float(match[1]) < 1e15:
        raise UsageProblem(
            f"--budget {cut(text)!r} cannot be read; write a positive number and one of {', '.join(_UNITS)}, such as"
            " 5usd, 2Mtok or 30min"
        )
    unit, factor = _UNITS[match[2].lower()]
    return Budget(text.strip(), unit, float(match[1]) * factor)


# -- ``--gate``: a condition on the results that decides the exit status.


_COMPARE = {">=": operator.ge, "<=": operator.le, "==": operator.eq, ">": operator.gt, "<": operator.lt}
_GATE = re.compile(
    r"\s*(?P<task>[a-z][\w.]*)\.(?P<metric>[A-Za-z][\w+@^ -]*?)\s*(?P<sign>[<>=]=|>|<)\s*(?P<limit>-?\d+(?:\.\d+)?)\s*"
)
_REGRESSION = re.compile(r"\s*(?P<what>\S.*?)??\s*\bno\s+significant\s+regression\s+against\b\s*(?P<run>.*?)\s*")


@dataclass(frozen=True, slots=True)
class Threshold:
    text: str
    task: str
    metric: str
    sign: str
    limit: float

    def __str__(self) -> str:
        return self.text

    def check(self, summary: Mapping[str, Any]) -> str | None:
        """What is wrong, in a sentence, or None where the gate holds."""
        task = summary["tasks"].get(self.task)
        if task is None:
            return f"gate {self.text}: the task {self.task} was not run"
        metric = task["metrics"].get(self.metric)
        if metric is None or metric["value"] is None:
            why = (metric or {}).get("why") or f"{self.metric} has no value in this run"
            return f"gate {self.text}: {why}"
        if not _COMPARE[self.sign](metric["value"], self.limit):
            return f"gate {self.text}: {self.metric} is {metric['value']:.2f}"
        return None


@dataclass(frozen=True, slots=True)
class Regression:
    """No metric significantly worse than in another run: one-sided tests at 5 %, corrected for their number."""

    text: str
    run: Path
    task: str = ""  # empty: every task that both runs have
    metric: str = ""  # empty: every published one

    def __str__(self) -> str:
        return self.text


Gate = Threshold | Regression


def parse_gate(text: str, tasks: Registry) -> Gate:
    """A metric compared with a number, or with another run. Raises UsageProblem."""
    if match := _REGRESSION.fullmatch(text):
        return _regression(text, match["what"] or "", match["run"], tasks)
    match = _GATE.fullmatch(text)
    if match is None:
        raise UsageProblem(
            f"--gate {text!r} cannot be read; write TASK.METRIC, one of >= <= == > <, and a number, such as"
            " 'gta_atomic.e2e.AnsAcc>=40', or 'no significant regression against RUN'"
        )
    task, metric = match["task"], match["metric"]
    _refuse_unknown(text, task, metric, tasks)
    return Threshold(text.strip(), task, metric, match["sign"], float(match["limit"]))


def _regression(text: str, what: str, run: str, tasks: Registry) -> Regression:
    if not run:
        raise UsageProblem(
            f"--gate {text!r} names no run; end it with the folder of the run to compare with, such as runs/before"
        )
    task, metric = what, ""
    if what and what not in tasks:
        task = max((name for name in tasks.names if what.startswith(f"{name}.")), key=len, default=what)
        metric = what.removeprefix(task).removeprefix(".")
    if what:
        _refuse_unknown(text, task, metric, tasks)
    try:
        earlier = RunFolder(Path(run))
        for file in ("run.json", "summary.json"):
            earlier.read_json(file)
        earlier.plan()
    except UsageProblem as problem:
        raise UsageProblem(f"--gate {text!r}: {problem}") from None
    if metric and metric not in (published := tasks[task].shown.published):
        raise UsageProblem(
            f"--gate {text!r}: {metric} is not tested for regressions; of {task} these are: {', '.join(published)}"
        )
    return Regression(" ".join(text.split()), Path(run).absolute(), task, metric)


def _refuse_unknown(text: str, task: str, metric: str, tasks: Registry) -> None:
    if task not in tasks:
        raise UsageProblem(f"--gate {text!r} names no known task; known are {', '.join(sorted(tasks.names))}")
    if metric and metric not in (columns := tasks[task].shown.columns):
        raise UsageProblem(f"--gate {text!r}: {task} has no metric {metric!r}; it has {', '.join(columns)}")
