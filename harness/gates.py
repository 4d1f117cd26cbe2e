"""``--gate``: a condition on the results that decides the exit status."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.errors import UsageProblem

_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
_GATE = re.compile(r"\s*(?P<task>[a-z][\w.]*)\.(?P<metric>[A-Za-z][\w+@^ -]*?)\s*(?P<sign>>=|<=|==|>|<)\s*(?P<limit>-?\d+(?:\.\d+)?)\s*")


@dataclass(frozen=True, slots=True)
class Gate:
    text: str
    task: str
    metric: str
    sign: str
    limit: float

    def check(self, summary: Mapping[str, Any]) -> str | None:
        """What is wrong, in a sentence, or None where the gate holds."""
        task = summary["tasks"].get(self.task)
        if task is None:
            return f"gate {self.text}: the task {self.task} was not run"
        metric = task["metrics"].get(self.metric)
        if metric is None or metric["value"] is None:
            return f"gate {self.text}: {self.metric} has no value in this run"
        if not _COMPARE[self.sign](metric["value"], self.limit):
            return f"gate {self.text}: {self.metric} is {metric['value']:.2f}"
        return None


def parse_gate(text: str, columns: Mapping[str, tuple[str, ...]]) -> Gate:
    """``task.metric`` compared with a number. ``columns`` are the metrics of each known task. Raises UsageProblem."""
    match = _GATE.fullmatch(text)
    if match is None:
        raise UsageProblem(
            f"--gate {text!r} cannot be read; write TASK.METRIC, one of >= <= == > <, and a number, such as 'gta_atomic.e2e.AnsAcc>=40'"
        )
    task, metric = match["task"], match["metric"]
    if task not in columns:
        raise UsageProblem(f"--gate {text!r} names no known task; known are {', '.join(sorted(columns))}")
    if metric not in columns[task]:
        raise UsageProblem(f"--gate {text!r}: {task} has no metric {metric!r}; it has {', '.join(columns[task])}")
    return Gate(text.strip(), task, metric, match["sign"], float(match["limit"]))
