"""What an endpoint does with a request: drawn from a seed and the request's own text.

The same request meets the same fate in every run, whatever the order in which requests arrive. So an ideal scheduler
can be worked out beside a real run on exactly the latencies and faults that the run met.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from hashlib import blake2b
from statistics import NormalDist
from typing import Literal

Kind = Literal["right", "wrong", "refused", "limited", "limited for a second", "failed", "silent"]

QUICK = 0.01
"""Seconds after which an error is answered."""

_NORMAL = NormalDist()
_P99 = _NORMAL.inv_cdf(0.99)


@dataclass(frozen=True, slots=True)
class Drawn:
    kind: Kind
    seconds: float  # until it is answered


@dataclass(frozen=True, slots=True)
class Draws:
    """Latencies are lognormal: ``tail`` is p99 over the median, 1 makes all alike. Shares are of all requests, 0 to
    1."""

    median: float = 0.2  # seconds
    tail: float = 1.0
    most: float = 1e9  # seconds, no latency is longer
    limited: float = 0.0  # 429, every second one with "Retry-After: 1"
    failed: float = 0.0  # 500
    silent: float = 0.0  # never answered
    wrong: float = 0.0  # answered with another word
    refused: float = 0.0  # 400, which no second try mends
    seed: int = 0

    def draw(self, key: str, tries: int) -> Drawn:
        """``tries`` of the same request came before."""
        digest = blake2b(f"{self.seed}\0{key}\0{tries}".encode(), digest_size=16).digest()
        fate, place = int.from_bytes(digest[:8], "big") / 2**64, int.from_bytes(digest[8:], "big") / 2**64
        kinds: tuple[tuple[Kind, float], ...] = (
            ("limited for a second", self.limited / 2),
            ("limited", self.limited / 2),
            ("failed", self.failed),
            ("refused", self.refused),
            ("silent", self.silent),
            ("wrong", self.wrong),
        )
        for kind, share in kinds:
            if fate < share:
                return Drawn(kind, self._latency(place) if kind == "wrong" else QUICK)
            fate -= share
        return Drawn("right", self._latency(place))

    def _latency(self, place: float) -> float:
        if self.tail == 1:
            return self.median
        return min(
            self.most,
            self.median * math.exp(math.log(self.tail) / _P99 * _NORMAL.inv_cdf(min(max(place, 1e-12), 1 - 1e-12))),
        )
