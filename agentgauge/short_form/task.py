"""A benchmark in its short form: a class with ``run`` and ``score`` makes a task."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import re
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import Any

from agentgauge.agent.dialects.registry import families
from agentgauge.agent.loop import conversation_of
from agentgauge.core.case import Case
from agentgauge.core.chat import ChatReply, ChatRequest, Conversation, ToolCall
from agentgauge.core.errors import Fault, UsageProblem
from agentgauge.core.estimate import MetricFormula, Values
from agentgauge.core.function_tools import Function, as_json, tools_of
from agentgauge.core.presentation import Presentation
from agentgauge.core.published import Published
from agentgauge.core.task import Prompts, Task
from agentgauge.core.task_options import Chosen, role_option
from agentgauge.core.text import parse_json, read_text, shown_call
from agentgauge.core.types import Json, Sample, Score, Scoring
from agentgauge.short_form.sample_files import SampleFiles

# -- Metrics of a benchmark in words: ``mean right``, ``average turns``, ``sum calls``, or a function of sums.


Metric = str | Callable[[Mapping[str, float]], float | None]
"""``mean VALUE``: per cent, of values from 0 to 1; ``average VALUE``: their plain mean; ``sum VALUE``: their sum. With
``where FIELD=TEXT`` behind, only of samples whose field is the text, or a list with it. Or a function of the sums of
all values, where a value that no sample has is 0, in per cent."""

DEFAULT: Mapping[str, Metric] = {"Accuracy": "mean passed"}

_WORDS = re.compile(r"(mean|average|sum) ((\w+)(?: where ([^\s=]+)=(.+))?)")
_SAMPLES = "samples"  # a value of every score: 1


class Metrics:
    """A benchmark's metrics by name."""

    def __init__(self, task: str, metrics: Mapping[str, Metric]) -> None:
        """Raises UsageProblem."""
        if not metrics:
            raise UsageProblem(f"the benchmark {task} has no metric; leave metrics out for the share of passed samples")
        self.names = tuple(metrics)
        self._parts: dict[str, tuple[str, str, str]] = {}  # "right where level=hard" → right, level, hard
        self._parsed: dict[str, tuple[str, str] | Callable[[Mapping[str, float]], float | None]] = {}
        for name, metric in metrics.items():
            found = _WORDS.fullmatch(metric) if isinstance(metric, str) else None
            if not found and not callable(metric):
                raise UsageProblem(
                    f"the metric {name} of {task} is {metric!r}; accepted are 'mean VALUE', 'average VALUE',"
                    " 'sum VALUE', each perhaps with ' where FIELD=TEXT', and a function of the sums"
                )
            if found and found[4]:
                self._parts[found[2]] = (found[3], found[4], found[5])
            self._parsed[name] = (found[1], found[2]) if found else metric  # type: ignore[assignment]
        kinds = {name: "" if callable(one) else one[0] for name, one in self._parsed.items()}
        self.counts = frozenset(name for name, kind in kinds.items() if kind == "sum")
        self._scale = {name: 1.0 for name, kind in kinds.items() if kind == "average"}
        shares = tuple(name for name, kind in kinds.items() if kind in ("mean", ""))
        self.shares = shares or self.names  # in per cent; for an average or a sum, more need not be better
        self._shares = {one[1] for one in self._parsed.values() if not callable(one) and one[0] == "mean"}
        self._means = {one[1] for one in self._parsed.values() if not callable(one) and one[0] != "sum"}

    def formula(self) -> MetricFormula:
        below = {
            name: (_SAMPLES,) if callable(one) else (_count(one[1]),)
            for name, one in self._parsed.items()
            if callable(one) or one[0] != "sum"
        }
        return MetricFormula(self._compute, below, scale=self._scale)

    def scored(self, score: Score, sample: Sample) -> Score:
        """The score with the counters of the metrics: ``passed``, and for each mean whether the sample has its value.

        Raises TypeError for ``passed`` that is no bool, and for a value that is no number or, in a mean, not 0 to 1.
        """
        if (passed := _truth(score.passed)) is None:
            raise TypeError(f"gives passed the value {score.passed!r}; it must be True or False")
        values = {"passed": float(passed), **{name: _number(name, one) for name, one in score.values.items()}}
        for key, (value, field, text) in self._parts.items():
            if value in values and _has(sample, field, text):
                values[key] = values[value]
        for name in self._shares & values.keys():
            if not 0 <= values[name] <= 1 + 1e-9:
                raise TypeError(f"gives {name} the value {values[name]:g}; values of a mean are 0 to 1")
        counted = {_count(name): 1.0 for name in self._means if name in values}
        return replace(score, passed=passed, values={**values, **counted, _SAMPLES: 1.0})

    def broken(self, sample: Sample) -> Score:
        """A case without an answer counts as a wrong one: as 0 in every mean, or in that of its field's text."""
        values = {self._parts[name][0] if name in self._parts else name for name in self._means}
        return self.scored(Score(False, dict.fromkeys(values, 0.0)), sample)

    def _compute(self, sums: Values) -> dict[str, float | None]:
        return {name: self._figure(one, sums) for name, one in self._parsed.items()}

    def _figure(
        self, metric: tuple[str, str] | Callable[[Mapping[str, float]], float | None], sums: Values
    ) -> float | None:
        if callable(metric):
            if not sums.get(_SAMPLES):
                return None
            try:
                return metric(defaultdict(float, sums))
            except ZeroDivisionError:
                return None  # no denominator
        kind, value = metric
        if kind == "sum":
            return sums.get(value, 0.0)
        number = sums.get(_count(value))
        return (100.0 if kind == "mean" else 1.0) * sums.get(value, 0.0) / number if number else None


def _count(value: str) -> str:
    """The name of the value that counts the samples with a value."""
    return f"samples with {value}"


def _number(name: str, value: object) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"gives {name} the value {value!r}; values are finite numbers, or True and False")
    return float(value)


def _truth(value: object) -> bool | None:
    """A bool, also NumPy's; None for anything else."""
    if getattr(value, "dtype", None) == "bool" and getattr(value, "shape", None) == ():
        return bool(value)
    return value if isinstance(value, bool) else None


def _has(sample: Sample, field: str, text: str) -> bool:
    given = sample.get(field)
    return text in map(str, given if isinstance(given, list) else [given] if given is not None else [])


# -- The task that a class with ``run`` and ``score`` becomes.


_SHOWN = 500  # characters of an answer in an explanation
_METHODS: Mapping[str, tuple[str, ...]] = {"run": ("case",), "score": ("sample", "answer"), "oracle": ("sample",)}
"""What a class of the short form may have, and what each method is given."""


def short_task(
    author: type[Any],
    name: str,
    *,
    data: str | Sequence[str],
    gold: str | None = None,
    title: str = "",
    metrics: Mapping[str, Metric] | None = None,
    published: str | None = None,
    tags: Sequence[str] = (),
    id: str = "id",
    excerpt: bool = False,
) -> Task:
    """The task of a class. Paths start at the folder of the class's file. Raises UsageProblem with what is wrong."""
    _check(author, name)
    file = Path(str(sys.modules[author.__module__].__file__)).resolve()
    files = [file.parent / each for each in ([data] if isinstance(data, str) else data)]
    if not files:
        raise UsageProblem(f"the benchmark {name} has no data file; name one, such as data='samples.jsonl'")
    apart = file.parent / gold if gold else None
    source = SampleFiles(name, files, gold=apart, tags=tags, id=id, whole=not excerpt)
    figures = Metrics(name, metrics or DEFAULT)
    rows = _rows(file.parent / published, name, figures.names) if published else []
    options = (*getattr(author, "options", ()), *map(role_option, getattr(author, "roles", ())))
    tools: str | Sequence[Function] = getattr(author, "tools", ())  # functions, or a sample's field of schemas

    def configured(chosen: Chosen) -> Task:
        own = author()
        own.chosen = dict(chosen)
        return Task(
            name=name,
            data=source,
            run=_run(own, tools),
            score=partial(_score, own, name, figures),
            metrics=lambda scoring: figures.formula(),
            dialects=("native", "react", *families()) if tools else ("native",),
            options=options,
            configured=configured if options else None,
            presentation=Presentation(
                benchmark=title or name,
                title=name,
                columns=figures.names,
                counts=figures.counts,
                published=tuple(column for column in figures.names if any(column in row for row in rows))
                or figures.shares,
                citation=getattr(author, "citation", ""),
                severity=getattr(author, "severity", "normal"),
            ),
            published=Published(dialects=("native",), rows=rows) if rows else None,
            prompts=Prompts(lambda folder: hashlib.sha256(file.read_bytes()).hexdigest()[:12]),  # it holds the wording
            oracle=partial(_gold_reply, own, name) if hasattr(author, "oracle") else None,
        )

    return configured({})


def author_of(task: Task) -> type[Any] | None:
    """The class that a benchmark of one file is made of; None for any other task."""
    return getattr(task.run, "author", None)


def _run(own: Any, tools: str | Sequence[Function]) -> Callable[[Case], Awaitable[Json]]:
    """A conversation or a single reply is kept as one; any other value is kept as plain data."""

    @wraps(own.run)
    async def run(case: Case) -> Json:
        case.tools = case.sample[tools] if isinstance(tools, str) else tools
        answer = await own.run(case)
        if isinstance(answer, ChatReply):
            answer = conversation_of(answer)
        return {"conversation": answer.to_json()} if isinstance(answer, Conversation) else {"value": as_json(answer)}

    run.author = type(own)  # type: ignore[attr-defined]
    run.__module__ = type(own).__module__
    return run


def _score(
    own: Any, name: str, metrics: Metrics, sample: Sample, output: Json | None, scoring: Scoring, similarity: str
) -> Score:
    if output is None:
        return metrics.broken(sample)
    conversation = output.get("conversation")
    score = own.score(sample, Conversation.from_json(conversation) if conversation else output["value"])
    if (passed := _truth(score)) is not None:
        score = Score(passed, explanation="" if passed else _outcome(output))
    try:
        if not isinstance(score, Score):
            raise TypeError(f"returned {score!r}; return a Score, or True or False")
        return metrics.scored(score, sample)
    except TypeError as error:
        code = inspect.unwrap(own.score).__code__
        place = f"{Path(code.co_filename).name}:{code.co_firstlineno}"
        raise Fault(f"error in score of {name} ({place}): {error}", cause="internal error") from None


def _gold_reply(own: Any, name: str, sample: Sample, request: ChatRequest, *, one_call: bool = False) -> ChatReply:
    """The gold reply for this turn of the case. The last reply is repeated."""
    gold = own.oracle(sample)
    replies = [_reply(each, name) for each in (gold if isinstance(gold, list) else [gold])]
    if one_call:
        replies = [one for reply in replies for one in _one_by_one(reply)]
    assert request.case is not None  # the embedded model answers cases alone
    return replies[min(request.case.turn, len(replies) - 1)]


def _check(author: type[Any], name: str) -> None:
    """Raises UsageProblem."""
    if not isinstance(author, type):
        raise UsageProblem(f"the benchmark {name} is {author!r}; put @benchmark above a class with run and score")
    for method, wanted in _METHODS.items():
        own = getattr(author, method, None)
        call = f"{'async ' * (method == 'run')}def {method}(self, {', '.join(wanted)})"
        if own is None and method != "oracle":
            raise UsageProblem(f"the benchmark {name} lacks {method}; write {call}")
        if own is not None and not _fits(own, len(wanted) + 1, is_async=method == "run"):
            wrong = "must not be async; write" if method != "run" and inspect.iscoroutinefunction(own) else "must be:"
            raise UsageProblem(f"{method} of the benchmark {name} {wrong} {call}")
    tools = getattr(author, "tools", ())
    for attribute, given in (("tools", tools), *((each, getattr(author, each, ())) for each in ("options", "roles"))):
        if not isinstance(given, list | tuple) and not (attribute == "tools" and isinstance(given, str)):
            raise UsageProblem(f"{attribute} of the benchmark {name} is {given!r}; give a list")
    tools_of(() if isinstance(tools, str) else tools)
    for role in getattr(author, "roles", ()):
        if not (isinstance(role, str) and role.isidentifier() and role.islower()):
            raise UsageProblem(f"the role {role!r} of {name} makes no option --{role}-model; use a word in lower case")


def _fits(method: Any, parameters: int, *, is_async: bool) -> bool:
    try:
        inspect.signature(method).bind(*range(parameters))
    except TypeError:
        return False
    return inspect.iscoroutinefunction(method) == is_async


def _rows(file: Path, name: str, columns: Sequence[str]) -> list[Mapping[str, Any]]:
    """Raises UsageProblem."""
    form = f"a list of objects with a model and figures of {', '.join(columns)}"
    try:
        rows = parse_json(read_text(file))
    except (OSError, ValueError) as error:
        raise UsageProblem(f"the published rows {file} of {name} cannot be read ({error}); write {form}") from None
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise UsageProblem(f"the published rows {file} of {name} must be {form}")
    for row in rows:
        figures = {column: value for column, value in row.items() if column not in ("model", "edition")}
        if not isinstance(row.get("model"), str) or not figures:
            raise UsageProblem(f"a published row of {name} must have a model and a figure, not {row}")
        for column, value in figures.items():
            if column not in columns or isinstance(value, bool) or not isinstance(value, int | float | None):
                raise UsageProblem(
                    f"a published row of {name} has {column}: {value!r}; accepted are numbers of {', '.join(columns)}"
                )
    return [{"edition": "published", **row} for row in rows]


def _reply(gold: Json, name: str) -> ChatReply:
    """A text, a call as ``{"name", "arguments"}``, or a list of calls."""
    if isinstance(gold, str):
        return ChatReply(gold)
    listed = gold if isinstance(gold, list) else [gold]
    if not listed or not all(isinstance(call, Mapping) and {"name", "arguments"} <= call.keys() for call in listed):
        raise Fault(
            f"oracle of {name} replies {gold!r}; a reply is a text, a call with name and arguments, or a list of calls",
            cause="internal error",
        )
    calls = tuple(ToolCall(call["name"], json.dumps(call["arguments"], ensure_ascii=False)) for call in listed)
    return ChatReply(tool_calls=calls, finish_reason="tool_calls")


def _outcome(output: Mapping[str, Json]) -> str:
    """What a benchmark's ``run`` came to, for an author's score that does not explain itself."""
    talk = output.get("conversation")
    if talk is None:
        return f"answered {str(output)[:_SHOWN]!r}"
    text = f"answered {talk['text'][:_SHOWN]!r}" if talk["text"].strip() else "gave no answer"
    match talk["ended"]:
        case "turns":
            turns = "its only turn" if talk["turns"] == 1 else f"all its {talk['turns']} turns"
            return f"used {turns} without an answer"
        case "call":
            last = talk["calls"][-1]
            return f"ended with a call: {shown_call(last['name'], last['arguments'])}"
        case "user":
            return f"{text}; then the user ended the conversation"
    return text


def _one_by_one(reply: ChatReply) -> list[ChatReply]:
    """For dialects that have room for one call a reply."""
    return [ChatReply(tool_calls=(call,), finish_reason="tool_calls") for call in reply.tool_calls] or [reply]
