"""What a reader must know before the figures of a run: replies that were cut, and why cases are missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentgauge.core.capabilities import SAME
from agentgauge.core.reply_ends import TESTED, add_counts, limit_words

Summary = Mapping[str, Any]


def cut_replies(summary: Summary, tasks: Iterable[str] | None = None) -> Iterator[str]:
    """A sentence for each model whose replies were cut at a token limit: how many, at which limit, and what to do.
    ``tasks``: names of those whose replies count (default: all)."""
    parts = [summary["tasks"][name] for name in (summary["tasks"] if tasks is None else tasks)]
    counts = add_counts([part.get("replies", {}) for part in parts])  # runs of earlier versions do not have them
    for role, part in sorted(counts.items(), key=lambda one: one[0] != TESTED):
        if found := part.get("cut"):
            tested = role == TESTED or summary["run"].get("options", {}).get(role) == SAME
            yield f"{_cut(found, part['replies'], '' if role == TESTED else f' of {role}')}; {_remedy(tested, found)}"


def _cut(found: Mapping[str, int], replies: int, whose: str) -> str:
    """``found``: limit → replies that were cut at it."""
    limits = {limit_words(int(limit) if limit else None): count for limit, count in found.items()}
    total = sum(limits.values())
    what = f"{total} of {replies} {'reply' if replies == 1 else 'replies'}{whose} {'was' if total == 1 else 'were'} cut"
    if len(limits) == 1:
        return f"{what} at {next(iter(limits))}"
    return f"{what}: {', '.join(f'{count} at {words}' for words, count in limits.items())}"


def _remedy(tested: bool, found: Mapping[str, int]) -> str:
    if not tested:
        return "max_tokens in the table of that model in agentgauge.toml sets the limit"
    return f"--max-tokens=N sets {'another' if any(found) else 'a'} limit"


def not_attempted(summary: Summary) -> str:
    """How many cases are missing, and why; empty without such cases. Runs of earlier versions do not say why."""
    count = sum(part["missing"] for part in summary["tasks"].values())
    why = summary.get("why_missing") or "the run ended early"
    return f"{count} missing {'case was' if count == 1 else 'cases were'} not attempted: {why}" if count else ""


def broken(summary: Summary) -> str:
    """How many cases are broken; empty without such cases."""
    count = sum(part["broken"] for part in summary["tasks"].values())
    if not count:
        return ""
    return "1 broken case is a fault of the run" if count == 1 else f"{count} broken cases are faults of the run"
