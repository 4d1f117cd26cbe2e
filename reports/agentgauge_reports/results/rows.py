"""The rows of a finished run: a case, an exchange with a model or a tool, a figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentgauge.core.types import Status


@dataclass(frozen=True, slots=True)
class SampleResult:
    """How one attempt at a sample ended: a case of the run."""

    task: str  # "wild"
    sample: str  # the data set's own id
    attempt: int  # from 1
    status: Status
    passed: bool | None  # None where the case is broken or missing
    labels: tuple[str, ...]  # the benchmark's own, why it is wrong
    kind: str  # why it did not pass, in words that all benchmarks share; "" where it passed or is missing
    tags: tuple[str, ...]  # the keywords of ``-k``
    values: Mapping[str, float]  # what the sample adds to the sums that figures are made of
    group: str  # samples of one group depend on each other; "": independent of all others
    error: str | None  # why it is broken
    requests: int
    cut_replies: int | None  # of the tested model, cut at a token limit; None where it is not known
    prompt_tokens: int
    completion_tokens: int
    usd: float  # US dollars; 0 where the model's prices are not known
    seconds: float
    working_seconds: float  # without waiting for slots; the same in runs of earlier versions
    finished: float  # seconds since the epoch; 0 where it is missing


@dataclass(frozen=True, slots=True)
class CallResult:
    """One exchange of a case with a model or with a tool. The messages of a request are in the case's record."""

    task: str
    sample: str
    attempt: int
    number: int  # within the case, from 1
    is_tool: bool
    name: str  # of the model or of the tool
    role: str  # of a model other than the tested one: "judge"
    start: float  # seconds since the epoch
    seconds: float  # without waiting for slots
    arguments: str | None  # of a tool's call, as JSON
    output: str  # the model's text, or the texts that the tool gave
    tool_calls: str | None  # that the model asked for, as JSON
    error: str | None


@dataclass(frozen=True, slots=True)
class MetricResult:
    """One figure of the run with its 95 % interval. Shares are in per cent."""

    key: str  # "wild.Task": the task and the name, or the benchmark and the name
    benchmark: str  # "WildToolBench"
    task: str  # "" for a score that the benchmark makes of several tasks
    name: str  # "Task", "pass@3", "pass^3"; "domains.math" of several tasks
    value: float | None  # None where nothing counts for it
    low: float | None
    high: float | None
    n: int | None  # samples that it rests on; None for a score of several tasks
    broken: int | None  # of these, broken cases, which count as the original counts them
    value_clean: float | None  # without broken cases; None where it does not differ, or where no other case counts
    low_clean: float | None
    high_clean: float | None
    n_clean: int | None
    is_headline: bool  # it stands for its task
    is_count: bool  # it counts something and is no share
    is_comparable: bool  # the run's figures of the task may stand beside published ones
    limit: str  # "--limit=16" where this option chose the samples; "": it left none out
    warning: str  # why the task's figures say nothing of the model, as where most of its cases are broken; else ""

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends of the 95 % interval; None if the figure has no interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)
