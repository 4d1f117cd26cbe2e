"""A comparison for people: its conclusion in one sentence, a text of 80 columns, and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from agentgauge.core.text import counted
from agentgauge_reports.comparison.paired import PASSED
from agentgauge_reports.text import aligned, fill


def conclusion(letter: str, tasks: Mapping[str, Mapping[str, Any]], *, warned: bool) -> str:
    """A sentence: on how many published figures run ``letter`` is better or worse than A, and which differences could
    have gone unseen. Without a published table these are the benchmark's own figures.

    ``tasks``: as in ``compare``'s data. More is better in every published figure. ``warned``: the runs differ in more
    than the model.
    """
    figures = [
        figure
        for part in tasks.values()
        for figure in part["figures"].values()
        if figure["published"] and figure["p_holm"] is not None
    ]
    sentence = _sentence(letter, figures) if figures else f"{letter} and A have no figure that can be tested."
    return sentence + (" The runs differ in more than the model: read the warnings." if warned else "")


def _sentence(letter: str, figures: Sequence[Mapping[str, Any]]) -> str:
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
    all_of = counted(len(figures), "figure")
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
    return f"; {few_samples(count)}"


# -- text and Markdown

LISTED = 8
"""Flipped samples that a text names; the other forms name all of them."""

_NAME = 23
"""Columns that a figure's name may take in a text; longer ones are cut."""

COLUMNS = ("95 % interval", "p Holm", "MDE")


def text(data: Mapping[str, Any]) -> str:
    """``data``: as ``compare`` makes it."""
    lines = [f"{run['letter']}: {run['path']} ({model_of(run)})" for run in data["runs"]]
    for choice in data["choices"]:
        lines += ["", *fill("", choice["sentence"])]
    for one in data["comparisons"]:
        lines += ["", *fill("", one["conclusion"])]
        for task, part in one["tasks"].items():
            told, few = by_reach(part["figures"])
            lines += ["", *_wrapped(heading(task, part)), *(_table(told, one["run"]) if told else ())]
            lines += [f"  {few_samples(len(few))} difference (in --format json)"] if few else []
            for words, samples in moves(part, one["run"]):
                ids = [sample["sample"] for sample in samples]
                more = f" and {len(ids) - LISTED} more" if len(ids) > LISTED else ""
                lines += _wrapped(f"  {words}: {', '.join(ids[:LISTED])}{more}")
        warnings = (_wrapped(f"warning: {between(one, data)}{reason}") for reason in one["warnings"])
        lines += ["", *chain.from_iterable(warnings)] if one["warnings"] else []
    return "\n".join([*lines, "", *_wrapped(data["note"])])


def markdown(data: Mapping[str, Any]) -> str:
    """``data``: as ``compare`` makes it."""
    lines = [
        "# Comparison",
        "",
        *(f"- {run['letter']}: `{run['path']}` ({_escaped(model_of(run))})" for run in data["runs"]),
    ]
    for choice in data["choices"]:
        lines += ["", f"**{_escaped(choice['sentence'])}**"]
    for one in data["comparisons"]:
        warnings = [f"> **Warning:** {_escaped(reason)}\n>" for reason in one["warnings"]]
        lines += ["", f"## {one['run']} and {one['against']}", "", f"**{one['conclusion']}**"]
        lines += ["", *warnings] if warnings else []
        for task, part in one["tasks"].items():
            lines += ["", f"### {task}", "", f"{heading(task, part).partition(': ')[2]}.", ""]
            told, few = by_reach(part["figures"])
            if told:
                lines += ["| figure | " + " | ".join((*letters(one["run"]), *COLUMNS)) + " |", "|---|" + "--:|" * 6]
            for name, figure in told.items():
                lines.append(f"| {_escaped(name)} | " + " | ".join(cells(figure)) + " |")
            lines += ["", f"{few_samples(len(few))} difference."] if few else []
            for words, samples in moves(part, one["run"]):
                links = (
                    f"{_escaped(each['sample'])} ([A](<{each['a']}>), [{one['run']}](<{each['b']}>))"
                    for each in samples
                )
                lines += ["", f"{words}: {', '.join(links)}"]
    return "\n".join([*lines, "", _escaped(data["note"]), ""])


def model_of(run: Mapping[str, Any]) -> str:
    """``gpt-4o``, or ``gpt-4o, --limit=16`` where this option chose the samples."""
    return ", ".join(filter(None, [run["model"], run["limit"]]))


def heading(task: str, part: Mapping[str, Any]) -> str:
    """``gta_atomic.e2e: 41 common samples, 1 broken in A``."""
    counts = [f"{part['common']} common sample{'' if part['common'] == 1 else 's'}"]
    if part["units"] != part["common"]:
        counts[0] += f" in {part['units']} group{'' if part['units'] == 1 else 's'}"
    if part["whole"] not in (None, part["units"]):
        counts[0] += f", of which {part['whole'] or 'none'} {'is' if part['whole'] == 1 else 'are'} whole"
    if part["left_out"]:
        counts.append("left out: " + ", ".join(f"{count} {reason}" for reason, count in part["left_out"].items()))
    return f"{task}: {'; '.join(counts)}"


def letters(letter: str) -> tuple[str, str, str]:
    return "A", letter, f"{letter} - A"


def moves(part: Mapping[str, Any], letter: str) -> Iterator[tuple[str, Sequence[Mapping[str, str]]]]:
    """The samples that only one of the runs passed, or passed more often, for each direction that occurs."""
    for way, more, less in (("gained", letter, "A"), ("lost", "A", letter)):
        if samples := part[way]:
            partly = any(0 < share < 1 for sample in samples for share in sample["passed"])
            yield (
                f"{len(samples)} passed " + (f"more often in {more}" if partly else f"in {more}, not in {less}"),
                samples,
            )


def cells(figure: Mapping[str, Any]) -> list[str]:
    """A, B, difference, interval, p, detectable difference."""
    low, high, p, detectable = (figure[key] for key in ("low", "high", "p_holm", "detectable"))
    both = (figure["a"], figure["b"])
    places = 0 if figure["count"] and all(float(value or 0).is_integer() for value in both) else 2
    return [
        *("-" if value is None else f"{value:.{places}f}" for value in both),
        "" if figure["difference"] is None else f"{round(figure['difference'], 2) + 0.0:+.{places}f}",
        "" if low is None else f"{round(low, 1) + 0.0:+.1f} to {round(high, 1) + 0.0:+.1f}",
        "" if p is None else "too few" if is_too_small(figure) else chance(p) + ("*" if figure["significant"] else ""),
        "" if low is None else "-" if detectable is None else f"{detectable:.1f}",
    ]


def chance(p: float) -> str:
    return "<.001" if p < 0.001 else f"{p:.3f}"


def between(one: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """The names of the compared runs, if there are more than two."""
    return f"{one['run']} and A: " if len(data["comparisons"]) > 1 else ""


def is_too_small(figure: Mapping[str, Any]) -> bool:
    """Whether too few samples are common, or differ, to show any difference in a figure. Counts are not tested."""
    return not figure["count"] and not figure["significant"] and figure["detectable"] is None


def by_reach(figures: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The figures that are shown, and those beside the published ones whose samples can show no difference. Left out
    are figures without a value, and ``Passed`` where a figure says the same, or where it could only say less than the
    names of the samples."""
    passed = figures.get(PASSED)
    others = {
        name: figure
        for name, figure in figures.items()
        if name != PASSED and (figure["a"], figure["b"]) != (None, None)
    }
    if passed and not (is_too_small(passed) or cells(passed) in map(cells, others.values())):
        others[PASSED] = passed
    few = {name: figure for name, figure in others.items() if not figure["published"] and is_too_small(figure)}
    return {name: figure for name, figure in others.items() if name not in few}, few


def few_samples(count: int) -> str:
    return f"{count} figure{' rests' if count == 1 else 's rest'} on too few samples to show any"


def _table(figures: Mapping[str, Mapping[str, Any]], letter: str) -> list[str]:
    rows = [
        ["", *letters(letter), *COLUMNS],
        *(
            [name if len(name) <= _NAME else f"{name[: _NAME - 1]}…", *cells(figure)]
            for name, figure in figures.items()
        ),
    ]
    for row in rows:  # the star hangs outside its column
        row[5] = row[5] if row[5].endswith("*") else f"{row[5]} "
    return list(aligned(rows))


def _wrapped(line: str) -> list[str]:
    return fill("", line, hanging="    ")


def _escaped(value: str) -> str:
    """Text of others in Markdown: no table cell, link, or tag."""
    for sign in "\\`*_[]<>|":
        value = value.replace(sign, f"\\{sign}")
    return " ".join(value.split())
