"""The conclusion of a comparison in one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def conclusion(letter: str, tasks: Mapping[str, Mapping[str, Any]], *, warned: bool) -> str:
    """A sentence: on how many published figures run ``letter`` is better or worse than A, and which differences could
    have gone unseen.

    ``tasks``: as in ``compare``'s data. More is better in every published figure. ``warned``: the runs differ in more
    than the model.
    """
    figures = [
        figure
        for part in tasks.values()
        for figure in part["figures"].values()
        if figure["published"] and figure["p_holm"] is not None
    ]
    sentence = _told(letter, figures) if figures else f"{letter} and A have no published figure that can be tested."
    return sentence + (" The runs differ in more than the model: read the warnings." if warned else "")


def _told(letter: str, figures: Sequence[Mapping[str, Any]]) -> str:
    changes = [figure["difference"] for figure in figures if figure["significant"]]
    better, worse = (sum(change * sign > 0 for change in changes) for sign in (1, -1))
    unsure = [figure["detectable"] for figure in figures if not figure["significant"]]
    seen = span(unsure)
    missed = f"a difference of less than {seen} points could have gone unseen"
    if not seen:
        missed = "the runs are too small to show any difference"
    elif " to " in seen:
        missed = f"differences of less than {seen} points, depending on the figure, could have gone unseen"
    missed += too_few(unsure)
    all_of = f"{len(figures)} published figure{'' if len(figures) == 1 else 's'}"
    if not changes:
        return f"No significant difference between {letter} and A on {all_of}; {missed}."
    way, count = ("better", better) if better else ("worse", worse)
    also = f" and worse on {worse}" if better and worse else ""
    rest = "one" if len(unsure) == 1 else str(len(unsure))
    others = f"; on the other {rest}, {missed}" if unsure else ""
    return f"{letter} is {way} than A on {count} of {all_of}{also}{others}."


def span(detectable: Sequence[float | None]) -> str:
    """``6.2``, or ``6.2 to 19.4``: the smallest differences that figures show. Empty where none is large enough."""
    ends = sorted({f"{value:.1f}" for value in detectable if value is not None}, key=float)
    return " to ".join([ends[0], ends[-1]] if len(ends) > 1 else ends)


def too_few(detectable: Sequence[float | None]) -> str:
    """The number of figures that cannot show any difference, as a phrase after ``span``. Empty without such figures."""
    count = sum(value is None for value in detectable)
    if count in (0, len(detectable)):
        return ""
    return f"; {count} figure{' rests' if count == 1 else 's rest'} on too few samples to show any"
