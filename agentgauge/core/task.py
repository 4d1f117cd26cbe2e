"""The interface of every task of a benchmark: a name, data, ``run``, ``score`` and metrics.

Everything else is a capability: a base class in ``agentgauge.core.capabilities``, which the task's class inherits
besides ``Task``. Code that needs a capability checks ``isinstance(task, RealTools)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from agentgauge.core.case import Case
from agentgauge.core.data_source import DataSource
from agentgauge.core.estimate import MetricFormula
from agentgauge.core.types import Json, Sample, Score, Scoring


class Task(ABC):
    """A task of a benchmark. The result of every method depends only on its arguments and the task's options."""

    name: str  # "gta_atomic.step"
    data: DataSource
    dialects: tuple[str, ...] = ("native",)  # that ``run`` speaks; others change nothing of what it sends and reads
    runs_code = False  # programs that a model wrote, in the sandbox
    scores_in_thread = False  # ``score`` may take longer than some milliseconds, and other cases must not wait for it
    expected_requests: float = 1.0  # of a case, on average: what balances shards, the same on any machine

    @abstractmethod
    async def run(self, case: Case) -> Json:
        """Solve one sample and return the benchmark's own prediction. A Fault is not caught here."""

    @abstractmethod
    def score(self, sample: Sample, output: Json | None, scoring: Scoring, similarity: str) -> Score:
        """Score a prediction whose paths start with ROOT_TOKEN.

        ``output`` is None for a broken case, which counts as in the original.

        ``similarity``: the similarity backend; empty for a task without the capability ``Similarity``.
        """

    @abstractmethod
    def metrics(self, scoring: Scoring) -> MetricFormula:
        """The formula that computes the table's metrics from sums of the samples' values, in the order of the
        columns.
        """
