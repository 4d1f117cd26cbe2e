"""The types that every part of a run shares: sample, transcript, score, record.

All of them are frozen and made of plain data, so that they can cross process boundaries and be written as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

Json = Any
"""A value that ``json.dumps`` accepts."""

Status = Literal["passed", "wrong", "broken", "missing"]
Scoring = Literal["parity", "strict"]

MOST = 10**15
"""No number of a run is larger or, below 0, smaller: sums and products of such numbers are finite."""

ROOT_TOKEN = "{ROOT}"
"""Stands for the data set's folder in everything that is stored, so that a run can be scored again elsewhere."""

RUN_TOKEN = "{RUN}"
"""Stands for the run folder in everything that is stored."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of model calls. A billed answer that could not be used counts as a request with its tokens. A failed
    attempt without token counts does not count."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0  # US dollars, 0 where the model's prices are not known
    cached_tokens: int = 0  # of the prompt tokens: read from the provider's cache
    cache_write_tokens: int = 0  # of the prompt tokens: written to the provider's cache
    reasoning_tokens: int = 0  # of the completion tokens
    estimated_requests: int = 0  # of the requests: their tokens are estimated, in whole or in part
    cached_requests: int = 0  # of the requests: answered from the folder of --cache, and not sent
    saved_tokens: int = 0  # of the prompt and completion tokens: those of cached requests
    saved_usd: float = 0.0  # beside ``usd``: what the cached requests did cost when they were sent

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.usd + other.usd,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.estimated_requests + other.estimated_requests,
            self.cached_requests + other.cached_requests,
            self.saved_tokens + other.saved_tokens,
            self.saved_usd + other.saved_usd,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, each.name) - getattr(other, each.name) for each in fields(Usage)))

    @property
    def paid_tokens(self) -> int:
        """The tokens that this run has sent and received."""
        return self.prompt_tokens + self.completion_tokens - self.saved_tokens

    def from_cache(self) -> Usage:
        """The usage of an answer, where it is given again: nothing is paid."""
        tokens, first = self.prompt_tokens + self.completion_tokens, self.usd + self.saved_usd
        return replace(self, usd=0.0, cached_requests=self.requests, saved_tokens=tokens, saved_usd=first)

    def without_cache(self) -> Usage:
        """What it was when all of its requests were sent."""
        return replace(self, usd=self.usd + self.saved_usd, cached_requests=0, saved_tokens=0, saved_usd=0.0)

    def resumed(self, paid: Usage) -> Usage:
        """The usage of a case that began anew; ``paid``, a part of it, is what an earlier session has used. What that
        session has sent and this one has got from the cache counts once."""
        if not 0 < paid.requests <= self.cached_requests - paid.cached_requests:
            return self
        return replace(
            self - paid,
            usd=self.usd,
            cached_requests=self.cached_requests - paid.requests,
            saved_tokens=max(0, self.saved_tokens - paid.prompt_tokens - paid.completion_tokens),
            saved_usd=max(0.0, self.saved_usd - paid.saved_usd - paid.usd),
        )

    def to_json(self) -> dict[str, Json]:
        """Its fields; without ``estimated_requests`` where none is, and without those of a cache where none was
        used."""
        found = _fields(self)
        if not self.estimated_requests:
            del found["estimated_requests"]
        if not self.cached_requests:
            del found["cached_requests"], found["saved_tokens"], found["saved_usd"]
        return found


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample of a data set. Its fields are read like a dict's: ``sample["answer"]``, ``sample.get("call")``."""

    id: str  # the data set's own id
    task: str  # "gta_atomic.step"
    tags: tuple[str, ...]  # further keywords for -k
    payload: Mapping[str, Json]  # in the official shape, paths still relative
    root: Path  # folder that relative paths of the payload start from
    position: int = 0  # place in the data set, from 0

    def __getitem__(self, name: str) -> Json:
        """A field of the payload."""
        return self.payload[name]

    def __contains__(self, name: object) -> bool:
        return name in self.payload

    def get(self, name: str, default: Json = None) -> Json:
        """A field of the payload that some samples lack."""
        return self.payload.get(name, default)


@dataclass(frozen=True, slots=True)
class Event:
    """One exchange with the model or with a tool."""

    kind: Literal["model", "tool"]
    name: str  # model name or tool name
    start: float  # seconds since the epoch
    seconds: float  # without waiting for slots
    # model: messages (new ones only), reply, finish_reason, max_tokens of a reply that was cut, role if any, observed
    # (see agentgauge.model.observed); tool: arguments, result; both: cached, the seconds of the first answer, where the
    # reply or result is from the folder of --cache
    detail: Mapping[str, Json]
    error: str | None = None  # the message that the model got, or the fault


@dataclass(frozen=True, slots=True)
class Transcript:
    """All messages of the model and the tools, and the benchmark's prediction.

    ``output`` is the benchmark's own prediction (for GTA the step records) and enough to score again without a
    model. Paths in it start with ``ROOT_TOKEN`` or ``RUN_TOKEN``.
    """

    output: Json
    events: tuple[Event, ...] = ()
    usage: Usage = Usage()
    seconds: float = 0.0
    seed: int = 0
    # seconds by what was waited for: "slots", "endpoint", "tools" (see agentgauge.core.case), which are parts of
    # ``seconds``, and "scoring", which follows; "cached": what replies and results of --cache did take when they were
    # first given, no part of ``seconds``; empty in records of earlier versions
    times: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Score:
    """The verdict on one sample.

    ``values`` are this sample's contributions to the benchmark's metrics (counters and partial scores); metrics are
    functions of their sums.
    """

    passed: bool
    values: Mapping[str, float] = field(default_factory=dict)
    labels: tuple[str, ...] = ()  # why it is wrong: "wrong_tool", "wrong_argument" ...
    explanation: str = ""  # for a person: what was expected, what came, at which step
    group: str = ""  # dependent samples, such as the tasks of a session, have one group; empty: an independent sample
    stops: str = ""  # why the published evaluator stops on the reply, which counts as invalid here; empty: it does not


@dataclass(frozen=True, slots=True)
class Record:
    """The outcome of one case: a sample, an attempt, and how it ended."""

    task: str
    sample: str
    attempt: int  # from 1
    config: str  # fingerprint of everything that may change the outcome
    status: Status
    transcript: Transcript | None = None
    score: Score | None = None
    error: str | None = None  # why it is broken
    cause: str | None = None  # the fault's short word
    tags: tuple[str, ...] = ()
    worker: str = "main"
    finished: float = 0.0  # seconds since the epoch
    traceback: Sequence[Mapping[str, Json]] = ()  # of a mistake in the benchmark's code: see agentgauge.core.tracebacks
    given: Mapping[str, str] = field(default_factory=dict)  # of a test, in place of the run's: see run.planned

    @property
    def answered(self) -> bool:
        """Whether the transcript is complete, so that the case can be scored without a model. True after a fault in
        scoring, too."""
        return self.transcript is not None and self.transcript.output is not None

    def to_json(self) -> dict[str, Json]:
        """The record as plain data. The content of a transcript is shared, not copied, because a copy took longer than
        writing it.

        The transcript comes last, so that all other fields can be read without it: see agentgauge.store.jsonl.
        """
        data = _fields(self)
        for name in ("traceback", "given"):
            if not data[name]:
                del data[name]
        transcript, score = data.pop("transcript"), data.pop("score")
        data["score"] = score and _fields(score)
        data["transcript"] = transcript and {
            "usage": transcript.usage.to_json(),
            "seconds": transcript.seconds,
            **({"times": transcript.times} if transcript.times else {}),
            "seed": transcript.seed,
            "output": transcript.output,
            "events": [_fields(event) for event in transcript.events],
        }
        return data


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of a benchmark's table, with its uncertainty."""

    value: float | None  # None where it is not defined (no denominator)
    low: float | None = None  # 95 % interval
    high: float | None = None
    n: int = 0  # samples that it rests on
    extra: Mapping[str, Json] = field(default_factory=dict)

    def __str__(self) -> str:
        """``54.9 (51.1 to 58.6), n 64``."""
        if self.value is None:
            return f"no value, n {self.n}"
        interval = "" if self.low is None or self.high is None else f" ({self.low:.1f} to {self.high:.1f})"
        return f"{self.value:.1f}{interval}, n {self.n}"


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """What the cases of one task have come to."""

    planned: int
    passed: int
    wrong: int
    broken: int
    missing: int
    headline: Metric
    figures: Mapping[str, Metric]  # by the name of the column


def _fields(value: Record | Transcript | Event | Usage | Score) -> dict[str, Json]:
    return {each.name: getattr(value, each.name) for each in fields(value)}
