"""What a reader must know before the figures of a run, wherever they stand: how far they can be believed, and of what
they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentgauge.core.registry import Registry
from agentgauge.core.reply_ends import TESTED, add_counts, limit_words
from agentgauge.core.task import Task
from agentgauge.core.task_options import SAME
from agentgauge.core.text import counted
from agentgauge.model.names import denies
from agentgauge.model.usage import BYTES_PER_TOKEN

Summary = Mapping[str, Any]

NAMED = 3
"""Tasks, and causes of faults, that the alarm names."""


def mostly_broken(part: Mapping[str, Any]) -> str:
    """The reason why a task's figures say nothing about the model: more of its cases are broken than not. Else
    empty.
    """
    ended = part["planned"] - part["missing"]
    return f"{part['broken']} of {counted(ended, 'case')} are broken" if 2 * part["broken"] > ended else ""


def presentable(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """A task's part of the summary with the figures that may be shown: none where most of its cases are broken."""
    if not mostly_broken(part):
        return part
    return {key: value for key, value in part.items() if key not in ("pass", "breakdowns")} | {"metrics": {}}


def columns(task: Task, metrics: Mapping[str, Any]) -> list[str]:
    """The names of a task's figures in the order of the tables: its own, and those that a project has added."""
    added = [name for name, figure in metrics.items() if figure.get("added")]
    return [*(name for name in task.shown.columns if name in metrics), *added]


def alarm(summary: Summary) -> str:
    """The line above all others if more cases of a task are broken than not; else empty."""
    found = {name: reason for name, part in summary["tasks"].items() if (reason := mostly_broken(part))}
    if not found:
        return ""
    problems = [f"{name}: {reason}" for name, reason in found.items()]
    rest = len(problems) - NAMED
    more = [f"most cases of {rest} more task{'s' if rest > 1 else ''} are broken, too"] if rest > 0 else []
    listed = "; ".join(problems[:NAMED] + more)
    causes: Counter[str] = Counter()
    for name in found:
        causes.update(summary["tasks"][name]["causes"])
    known = ", ".join(f"{count} × {cause}" for cause, count in causes.most_common(NAMED))
    why = f" ({known})" if known else ""
    return f"This run says little about the model: {listed}. Fix the cause{why}, then run these cases again."


def doubts(summary: Summary, tasks: Registry) -> list[str]:
    """Why figures say less than they seem to: what must be read before them."""
    found = [doubt for name, part in summary["tasks"].items() for doubt in tasks[name].shown.doubts(part)]
    others = [f"{name}: {note}" for name, part in summary["tasks"].items() for note in given_notes(part)]
    return [*endpoint_doubts(summary), *others, *found]


def given_notes(part: Mapping[str, Any]) -> Iterator[str]:
    """Of a task: which cases were not solved with the run's own model and tools alone."""
    planned = counted(part["planned"], "case")
    if given := part.get("given"):
        yield f"the tests of {given} of {planned} gave another model or other tools than the run's"
    for plugin, count in part.get("from_hooks", {}).items():
        yield f"hooks of {plugin} answered in the place of a model or a tool in {count} of {planned}"


def remarks(summary: Summary) -> Iterator[str]:
    """What else must be read before the figures: replies that were cut, and tokens that are estimated."""
    yield from cut_replies(summary)
    yield from estimated_tokens(summary)


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
    what = f"{total} of {_replies_in_words(replies)}{whose} {'was' if total == 1 else 'were'} cut"
    if len(limits) == 1:
        return f"{what} at {next(iter(limits))}"
    return f"{what}: {', '.join(f'{count} at {words}' for words, count in limits.items())}"


def _remedy(tested: bool, found: Mapping[str, int]) -> str:
    if not tested:
        return "max_tokens in the table of that model in agentgauge.toml sets the limit"
    return f"--max-tokens=N sets {'another' if any(found) else 'a'} limit"


def model_title(run: Mapping[str, Any]) -> str:
    """The name of what was tested, for a row or a page. A model that the endpoint denies is only what was asked for.
    ``run``: of a summary."""
    answered = run.get("answered_by")
    if not answered:
        return str(run["model"])
    asked, others = _model_asked_for(run), ", ".join(answered["models"])
    if "agent_name" in run:
        known = f"{others}, asked as {asked}" if answered["all"] else f"{asked}, partly answered by {others}"
        return f"{run['agent_name']} ({known})"
    return f"{others} (asked as {asked})" if answered["all"] else f"{asked} (partly answered by {others})"


def _model_asked_for(run: Mapping[str, Any]) -> str:
    """``model`` is the agent with its model where an agent is in the model's place."""
    return str(run.get("asked_model", run["model"]))


def endpoint_doubts(summary: Summary) -> Iterator[str]:
    """A sentence for each model that another one has answered for, or that seems not to have got its tools. Runs of
    earlier versions do not know it."""
    for role, part in summary.get("observed", {}).items():
        if denied := part.get("denied"):
            yield _other_model(_asked(summary, role), denied, _replies(summary, role))
        elif differing := _differing([*part.get("reported", {})]):
            counts = " and ".join(f"{name} ({_replies_in_words(part['reported'][name])})" for name in differing)
            yield (
                f"the endpoint of {_asked(summary, role)} reports that different models have answered: {counts}; the"
                " figures are of a mixture"
            )
        tools = part.get("tools", {})
        if tools.get("unseen") and not tools["seen"]:
            yield (
                f"the endpoint of {_asked(summary, role)} seems to drop the tools: it counted {tools['counted']} prompt"
                f" tokens for a request with {tools['bytes'] / 1000:.1f} kB of tools (about"
                f" {tools['bytes'] // BYTES_PER_TOKEN} tokens), and no request's count can hold its tools; start the"
                " server with a chat template that shows tools (llama.cpp: --jinja), or choose the model family's"
                " --dialect, which puts tools into the text"
            )


def _other_model(asked: str, denied: Mapping[str, int], replies: int) -> str:
    others = ", ".join(sorted(denied, key=lambda name: (-denied[name], name)))
    return (
        f"{asked} was answered by {others}, as the endpoint itself reports, in {sum(denied.values())} of"
        f" {_replies_in_words(replies)}: serve the model that was asked for, or name the one that answers"
    )


def _replies_in_words(count: int) -> str:
    return counted(count, "reply", "replies")


def _differing(names: Sequence[str]) -> Sequence[str]:
    """Two names of different models, if there are such."""
    return next(([one, other] for one in names for other in names if denies(other, one)), [])


def _asked(summary: Summary, role: str) -> str:
    run = summary["run"]
    name = _model_asked_for(run) if role == TESTED else run.get("options", {}).get(role, "")
    return f"{role} {name}".rstrip()


def _replies(summary: Summary, role: str) -> int:
    counts = add_counts([part.get("replies", {}) for part in summary["tasks"].values()])
    return int(counts.get(role, {}).get("replies", 0))


def estimated_tokens(summary: Summary) -> Iterator[str]:
    """A sentence for each model whose endpoint did not count tokens."""
    for role, part in summary.get("observed", {}).items():
        if count := part.get("estimated"):
            replies = max(count, _replies(summary, role))
            instead = f" (its usage is {part['instead']})" if part.get("instead") else ""
            yield (
                f"the endpoint of {_asked(summary, role)} gave no usable token counts for {count} of"
                f" {_replies_in_words(replies)}{instead}: their tokens, and what depends on them"
                f" (cost, --budget), are estimated at {BYTES_PER_TOKEN} bytes a token"
            )


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


def limit_of(summary: Summary, tasks: Iterable[str] | None = None) -> str:
    """``--limit=16``, if the figures of these tasks, by default of all, are of a part of the samples that ``--limit``
    chose. Else empty."""
    run = summary["run"]
    if not (limit := run.get("limit")):  # runs of earlier versions do not have it
        return ""
    parts = {name: part for name, part in summary["tasks"].items() if tasks is None or name in tasks}
    is_part = any(
        part["planned"] + part.get("not_applicable", {}).get("cases", 0) < run["data"][name]["samples"]
        for name, part in parts.items()
    )
    return f"--limit={limit}" if is_part else ""


def named(name: str, limit: str) -> str:
    """A row's name, with the limit behind it. ``limit``: of ``limit_of``."""
    return f"{name} ({limit})" if limit else name


def group_note(groups: Mapping[str, Any] | None) -> str:
    """What a reader of figures over groups must know, a sentence without a stop; empty if all groups are whole."""
    if not groups or not (lacking := len(groups["incomplete"])):
        return ""
    name, figures, count = groups["name"], ", ".join(groups["figures"]), groups["whole"] + lacking
    if not groups["whole"]:
        which = f"the {name} that ran is not whole" if count == 1 else f"none of the {count} {name}s that ran is whole"
        return f"{figures} has no value: {which}, and only a {name} whose every sample was scored counts"
    left_out = "the other is not whole and counts" if lacking == 1 else f"the other {lacking} are not whole and count"
    return f"{figures} is of {groups['whole']} of the {count} {name}s that ran: {left_out} for nothing"
