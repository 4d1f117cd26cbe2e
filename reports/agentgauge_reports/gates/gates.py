"""What a gate may say."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.registry import Registry
from agentgauge.store import RunFolder

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


def refuse_cache(gates: Iterable[Gate]) -> None:
    """Beside ``--cache``. Raises UsageProblem."""
    if tests := [gate.text for gate in gates if isinstance(gate, Regression)]:
        raise UsageProblem(
            f"--cache and --gate {tests[0]!r} cannot be used together: replies from the cache may be those of the other"
            " run, so that their difference says nothing of how replies vary; leave one of the two out"
        )
