"""What ``--scoring strict`` does otherwise than the published contest metrics: one switch for each fix, with its quirk.

Parity applies none, strict applies all.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixes:
    """Each switch mends one quirk of the Apple MMAU spec, section 9 (its number in brackets)."""

    any_fence: bool = False  # Q12: a fence without language or with another spelling of Python opens a program as well
    main_guard: bool = False  # Q12: the program runs as ``__main__``; its main guard is not cut out
    fresh_globals: bool = False  # Q13: every test starts with an empty namespace
    exits: bool = False  # Q14: leaving the program ends the test, with success for status 0; exit() and quit() exist
    buffers: bool = False  # Q15: stdout has a ``buffer``, and descriptor 0 carries the input
    own_time: bool = False  # Q16: each test has its own limit, the group has none
    words: bool = False  # Q17: outputs are compared word by word, decimal fractions with a tolerance of 1e-6
    colons: bool = False  # Q19: a colon in an id loses no candidate
    retry_freely: bool = False  # Q21: a retry needs no debug output, and nothing to retry is a result
    whole_answer: bool = False  # Q23: any spelling of the answer marker, and the whole text after the last one
    null_is_empty: bool = False  # section 10: a reply without content is an empty one and stops nothing
    empty_plan_counts: bool = False  # 6.5: a plan that could not be read counts as an unsolved problem


PARITY = Fixes()
STRICT = Fixes(
    any_fence=True,
    main_guard=True,
    fresh_globals=True,
    exits=True,
    buffers=True,
    own_time=True,
    words=True,
    colons=True,
    retry_freely=True,
    whole_answer=True,
    null_is_empty=True,
    empty_plan_counts=True,
)
