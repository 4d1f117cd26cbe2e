"""Which results Allure compares: the id of a case, and the model, dialect, data and selection that it was solved with.

Allure 3 takes a test's identity from its label ``ALLURE_ID`` and its parameters, and version 2 from ``historyId``. A
case has the same id with every model, so that a dashboard of several models shows them side by side, as environments;
its history continues only where everything else is the same, too.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property

from agentgauge.core.text import clean
from agentgauge.store.jsonl import CaseId
from agentgauge_reports.load import Run
from agentgauge_reports.text import line

LONGEST = 64
"""Characters of the name and of the id of an environment: Allure refuses more."""


def digest(text: str) -> str:
    return hashlib.md5(text.encode("utf-8", "backslashreplace"), usedforsecurity=False).hexdigest()


def allure_id(case: CaseId) -> str:
    """The id by which a test plan selects the case. A digest, since a sample's id may hold anything."""
    return digest("/".join(map(str, case)))


@dataclass(frozen=True)
class Identity:
    """What two runs must share so that Allure sees their cases as the same: an environment in Allure's words."""

    model: str
    dialect: str
    data: tuple[tuple[str, str], ...]  # task → its data
    samples: str  # "12 of 64"
    selection: str  # the same, with a digest of the cases

    @classmethod
    def of(cls, run: Run) -> Identity:
        about = run.summary["run"]
        cases = [case.id for case in run.cases if not run.tasks[case.task].data.in_run_folder]
        count = len({(task, sample) for task, sample, _ in cases})
        known = sum(about["data"].get(task, {}).get("samples", 0) for task in {task for task, _, _ in cases})
        which = digest("\n".join(sorted(map(allure_id, cases))))[:6]
        data = tuple((name, data_of(run, name)) for name in about["data"])
        samples = f"{count} of {known}"
        return cls(line(run.model, 200), str(about["dialect"]), data, samples, f"{samples} samples ({which})")

    @cached_property
    def digest(self) -> str:
        return digest("\n".join((self.model, self.dialect, *map(str, self.data), self.selection)))

    @property
    def id(self) -> str:
        """Of an environment of Allure 3, and in the names of files."""
        return f"{re.sub(r'[^A-Za-z0-9_-]+', '-', self.model)[:40].strip('-') or 'model'}-{self.digest[:8]}"

    @property
    def name(self) -> str:
        """Of an environment of Allure 3, which takes no slashes, and no two of a name."""
        rest = f" · {self.dialect} · {self.samples} ({self.digest[:6]})"
        return re.sub(r"[/\\]", ":", f"{line(self.model, max(1, LONGEST - len(rest)))}{rest}")


def data_of(run: Run, task: str) -> str:
    """A task's data in a few words, with its fingerprint."""
    data = run.summary["run"]["data"][task]
    if run.tasks[task].data.in_run_folder:
        return clean(data["fingerprint"])
    return clean(f"{'official' if data['official'] else 'bundled'} {data['fingerprint']}")
