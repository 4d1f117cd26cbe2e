"""95 % intervals of a share, from counts or from a standard error. Standard library only: every run computes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution: half the width of a 95 % interval, in standard errors."""

_SERIES_TO = 30
"""Degrees of freedom up to which Student's t is computed exactly; beyond, the expansion is right to 1e-7."""


def wilson(share: float, n: float, quantile: float = Z) -> tuple[float, float]:
    """Wilson's score interval for a share (0 to 1) of ``n`` > 0 independent samples (Wilson 1927). Within 0 to 1.

    ``n`` may be an effective number that is not whole. Raises ValueError outside these ranges.
    """
    if not 0 <= share <= 1 or n <= 0:
        raise ValueError(f"a share must be 0 to 1 and n more than 0, not {share} and {n}")
    square = quantile * quantile
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = quantile / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    return (0.0 if share == 0 else max(0.0, middle - half)), (1.0 if share == 1 else min(1.0, middle + half))


def by_error(share: float, error: float, freedom: int) -> tuple[float, float]:
    """The interval of a share between 0 and 1 from a standard error > 0 with ``freedom`` degrees of freedom. Within 0
    to 1.

    It is Wilson's for the effective number of samples, ``share * (1 - share) / error**2``, with Student's t (Dean and
    Pagano 2015; Franco et al. 2019). Near 0 and 1 it is asymmetric.
    """
    return wilson(share, share * (1 - share) / (error * error), student(freedom))


def symmetric(value: float, error: float, freedom: int) -> tuple[float, float]:
    """``value`` ± Student's t with ``freedom`` degrees of freedom times the standard error, in the unit of both."""
    half = student(freedom) * error
    return value - half, value + half


def freedom_of(deviations: Sequence[float]) -> int:
    """Degrees of freedom of a variance that is estimated from these deviations from their mean, not all 0: 1 to their
    number less 1.

    Satterthwaite's formula, 2 n / (kurtosis - 1): if few units dominate the variance, its estimate is no better than
    one from these units alone.
    """
    n = len(deviations)
    squares = math.fsum(one * one for one in deviations)
    kurtosis = n * math.fsum(one**4 for one in deviations) / (squares * squares)
    return max(1, min(n - 1, int(2 * n / (kurtosis - 1)))) if kurtosis > 1 + 1e-9 else n - 1


@cache
def student(freedom: int) -> float:
    """The 97.5 % quantile of Student's t with ``freedom`` >= 1 degrees of freedom, to 1e-7. Raises ValueError below
    1."""
    if freedom < 1:
        raise ValueError(f"degrees of freedom must be 1 or more, not {freedom}")
    if freedom > _SERIES_TO:
        return _expansion(freedom)
    low, high = 0.0, math.pi / 2  # of the angle, whose tangent is t / sqrt(freedom)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < 0.95 else (low, middle)
    return math.tan(low) * math.sqrt(freedom)


def _within(angle: float, freedom: int) -> float:
    """The probability between -t and t (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    term = total = (cosine if freedom % 2 else 1.0) if freedom > 1 else 0.0
    for step in range(3 if freedom % 2 else 2, freedom - 1, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    return 2 / math.pi * (angle + sine * total) if freedom % 2 else sine * total


def _expansion(freedom: int) -> float:
    """The quantile as a series in 1 / freedom (Abramowitz and Stegun 26.7.5)."""
    z = Z
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return math.fsum(term / freedom**power for power, term in enumerate(terms))
