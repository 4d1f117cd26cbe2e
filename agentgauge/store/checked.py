"""What the files of a run folder hold, and the one way in which they are read: each value that code uses is checked.

A run folder may be of any version, damaged, or made up. A wrong value is damage, and what needs it says so; a field
that is not there is one that another version did not write; fields without a type are kept unread. Import this module
where a folder is read: collecting tests must not load pydantic.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, Required

from pydantic import AfterValidator, ConfigDict, Field
from typing_extensions import TypedDict

from agentgauge.core.checking import validate
from agentgauge.core.option import Option
from agentgauge.core.options import OPTIONS
from agentgauge.core.types import MOST, Record, Scoring, Status

LATEST = 10**11
"""Seconds since the epoch: the year 5138."""

DEEPEST = 32
"""Levels of lists and objects in a JSON file."""

Number = Annotated[float, Field(strict=True, ge=-MOST, le=MOST, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, ge=0, le=MOST, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=0, le=MOST)]
Time = Annotated[float, Field(strict=True, ge=0, le=LATEST, allow_inf_nan=False)]
Attempt = Annotated[int, Field(strict=True, ge=1, le=10**6)]
Flag = Annotated[bool, Field(strict=True)]
Value = Flag | Annotated[int, Field(strict=True, ge=-MOST, le=MOST)] | Number
"""A number of a score: what a benchmark counts may be a truth value."""
Plain = str | Flag | Number | None


def _path(text: str) -> str:
    """Raises ValueError."""
    try:
        if b"\0" in os.fsencode(text):
            raise ValueError("without NUL")
    except UnicodeEncodeError:
        raise ValueError("UTF-8") from None
    return text


def _name(text: str) -> str:
    """Raises ValueError."""
    if "/" in _path(text) or text in ("", ".", ".."):
        raise ValueError("a name without a slash")
    return text


PathText = Annotated[str, AfterValidator(_path)]
TaskName = Annotated[str, AfterValidator(_name)]
"""Part of the path of a case's files."""
Limit = Annotated[str, Field(pattern=r"^\d{0,15}$")]
"""A token limit as the name of a count; empty: the endpoint's own."""


class _Open(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]


class RepliesPart(_Open):
    """See agentgauge.core.reply_ends.count_replies."""

    replies: Count
    cut: NotRequired[dict[Limit, Count]]


class SeenTools(_Open):
    seen: Count
    unseen: Literal[0]


class UnseenTools(_Open):
    seen: Count
    unseen: Count
    counted: Count
    bytes: Count


class ObservedPart(_Open):
    """See agentgauge.core.reply_ends.count_observed."""

    estimated: NotRequired[Count]
    instead: NotRequired[str]  # with ``estimated``
    reported: NotRequired[dict[str, Count]]
    denied: NotRequired[dict[str, Count]]
    tools: NotRequired[SeenTools | UnseenTools]


class UsagePart(TypedDict):
    """The usage of a record: the fields of agentgauge.core.types.Usage."""

    __pydantic_config__ = ConfigDict(extra="ignore")  # type: ignore[misc]
    requests: Count
    prompt_tokens: Count
    completion_tokens: Count
    usd: Positive
    cached_tokens: NotRequired[Count]
    cache_write_tokens: NotRequired[Count]
    reasoning_tokens: NotRequired[Count]
    estimated_requests: NotRequired[Count]
    cached_requests: NotRequired[Count]
    saved_tokens: NotRequired[Count]
    saved_usd: NotRequired[Positive]


class ScorePart(_Open):
    passed: Flag
    values: dict[str, Value]
    labels: list[str]
    explanation: str
    group: NotRequired[str]
    stops: NotRequired[str]


class TranscriptPart(_Open):
    usage: UsagePart
    seconds: Positive
    times: NotRequired[dict[str, Positive]]
    replies: NotRequired[dict[str, RepliesPart]]
    observed: NotRequired[dict[str, ObservedPart]]
    from_hooks: NotRequired[dict[str, Count]]


class RecordOutline(_Open):
    """A line of records, without what was said."""

    task: TaskName
    sample: str
    attempt: Attempt
    config: str
    status: Status
    error: str | None
    cause: str | None
    tags: NotRequired[list[str]]
    given: NotRequired[dict[str, str]]
    finished: Time
    score: ScorePart | None
    transcript: TranscriptPart | None


class ModelPart(_Open, total=False):
    name: PathText  # of a folder of predictions
    url: str | None
    fingerprint: str
    temperature: Number | None
    max_tokens: Count | None


class AgentPart(_Open, total=False):
    name: Required[str]
    text: str
    digest: str
    confined: Flag
    asks: Flag


class ToolPart(_Open, total=False):
    state: str
    backend: str
    options: dict[str, Any]
    packages: dict[str, str]


class ShownModel(_Open):
    name: str
    sees: Flag | None
    why: str


class ShownPictures(_Open):
    cases: Count
    role: str


def _all_roles_known(vision: Any) -> Any:
    """Raises ValueError."""
    if vision and (lacking := {part["role"] for part in vision["pictures"].values()} - vision["models"].keys()):
        raise ValueError(f"an object whose models have the role {min(lacking)!r}")
    return vision


class _VisionJson(_Open):
    """``vision.json``: see agentgauge.run.preflight."""

    models: dict[str, ShownModel]
    pictures: dict[str, ShownPictures]


VisionJson = Annotated[_VisionJson, AfterValidator(_all_roles_known)]
NoVision = Annotated[dict[str, Any], Field(max_length=0)]


def _of(option: Option) -> Any:
    """The type of an option's stored value."""
    if option.kind in (int, float):
        least_and_most = Field(strict=True, ge=option.least, le=min(option.most, MOST), allow_inf_nan=False)
        return Annotated[option.kind, least_and_most] | None
    if option.many:
        return list[str]
    if option.accepted:
        return Literal[option.accepted]
    return Flag if option.kind is bool else str | None


if TYPE_CHECKING:
    SettingsPart = dict[str, Any]
else:
    SettingsPart = TypedDict(
        "SettingsPart",
        {
            "model": ModelPart,
            "options": dict[str, Plain],
            "tools": dict[str, ToolPart],
            "roles": dict[str, str],
            "agent": AgentPart | None,
            "limit": Count | None,
            "vision": VisionJson | NoVision,
            **{option.stored: _of(option) for option in OPTIONS.values() if option.stored},
        },
        total=False,
    )
    SettingsPart.__pydantic_config__ = _Open.__pydantic_config__


class DataPart(_Open):
    folder: PathText
    official: Flag
    fingerprint: str | None


class ShardPart(_Open):
    number: Count
    count: Count
    planned: Count
    plan: str | None
    tasks: list[str]
    used: Count


class GatePart(_Open):
    text: str
    problem: str | None


class RunJson(_Open, total=False):
    """``run.json``."""

    settings: SettingsPart
    configs: dict[str, str]
    planned: Count
    started: Time | None
    finished: Time | None
    agentgauge: str
    python: str
    versions: dict[str, str]
    command: list[str]
    revisions: dict[str, dict[str, Plain] | None]
    data: dict[str, DataPart]
    selection: dict[str, Any] | None
    shard: ShardPart | None
    sandbox: list[str]
    rescore: PathText | None
    gates: list[GatePart]
    reported: dict[str, dict[str, Count]]


class Figure(_Open, total=False):
    value: Required[Number | None]
    low: Number | None
    high: Number | None
    n: Count | None
    broken: Count
    value_clean: Number | None
    low_clean: Number | None
    high_clean: Number | None
    n_clean: Count | None
    why: str


class PassFigure(_Open, total=False):
    value: Required[Number | None]
    low: Required[Number | None]
    high: Required[Number | None]
    n: Required[Count | None]
    why: str


class Combined(_Open, total=False):
    value: Required[Number | None]
    missing: Required[list[str]]
    low: Number | None
    high: Number | None
    without_figure: list[str]
    not_applicable: list[str]


class Groups(_Open):
    name: str
    figures: list[str]
    whole: Count
    incomplete: list[str]


class Cell(_Open):
    value: Number | None
    n: Count


class BreakdownRow(_Open):
    name: str
    cells: list[Cell]


class BreakdownPart(_Open):
    title: str
    what: str
    columns: list[str]
    counts: list[str]
    rows: list[BreakdownRow]
    note: str
    heat: Flag


class NotApplicable(_Open):
    cases: Count
    model: str


class Uncounted(_Open):
    cases: Count
    why: str


_Pass = TypedDict("_Pass", {"pass": dict[str, dict[str, PassFigure]]}, total=False)  # a word of Python


class TaskPart(_Open, _Pass, total=False):
    planned: Required[Count]
    passed: Count
    wrong: Count
    broken: Count
    missing: Count
    similarity: str
    metrics: Required[dict[str, Figure]]
    comparable: Flag
    groups: Groups
    breakdowns: list[BreakdownPart]
    stops: Count
    usage: dict[str, Number | None]
    replies: dict[str, RepliesPart]
    causes: dict[str, Count]
    uncounted: Uncounted
    given: Count
    from_hooks: dict[str, Count]
    labels: dict[str, Count]
    not_applicable: NotApplicable


class AnsweredBy(_Open):
    models: list[str]
    all: Flag


class SummaryData(_Open, total=False):
    fingerprint: str
    official: Flag
    samples: Count
    left_out: list[str]
    differences: list[str]


class RunPart(_Open, total=False):
    model: Required[str]
    scoring: Required[Scoring]
    data: Required[dict[str, SummaryData]]
    dialect: str
    attempts: Attempt
    agentgauge: str
    prompts: dict[str, str]
    options: dict[str, Plain]
    tools: dict[str, str]
    tool_set: str | None
    model_fingerprint: str
    agent: str
    agent_name: str
    asked_model: str
    answered_by: AnsweredBy
    limit: Count | None
    not_applicable: dict[str, NotApplicable]


class Seconds(_Open):
    seconds: Positive


class SumPart(_Open, total=False):
    requests: Count
    prompt_tokens: Count
    completion_tokens: Count
    usd: Positive
    seconds: Positive
    cached_tokens: Count
    cache_write_tokens: Count
    reasoning_tokens: Count
    estimated_requests: Count
    cached_requests: Count
    saved_tokens: Count
    saved_usd: Positive
    usd_per_passed: Positive | None
    times: dict[Literal["working", "slots", "endpoint", "tools", "scoring", "cached"], Seconds]
    outside_tests: UsagePart


class SummaryJson(_Open, total=False):
    """``summary.json``."""

    run: Required[RunPart]
    tasks: Required[dict[str, TaskPart]]
    capabilities: dict[str, dict[str, dict[str, Combined]]]
    usage: SumPart
    doubts: list[str]
    observed: dict[str, ObservedPart]
    why_missing: str


_ANY = "*"
_LACKING: Mapping[Any, Mapping[str, Any]] = {
    RunJson: {
        "configs": {},
        "started": None,
        "finished": None,
        "settings": {
            "model": {"name": "", "url": None, "fingerprint": "", "temperature": None, "max_tokens": None},
            **{"options": {}, "tools": {}, "attempts": 1, "scoring": "parity", "dialect": "native"},
        },
    },
    SummaryJson: {
        "run": {
            "dialect": "native",
            "attempts": 1,
            "agentgauge": "",
            "prompts": {},
            "options": {},
            "tools": {},
            "data": {_ANY: {"fingerprint": "", "official": False, "samples": 0, "left_out": []}},
        },
        "tasks": {
            _ANY: {
                **dict.fromkeys(("passed", "wrong", "broken", "missing"), 0),
                "similarity": "",
                "causes": {},
                "labels": {},
                "metrics": {_ANY: {"low": None, "high": None, "n": None}},
            }
        },
        "capabilities": {},
        "usage": {"requests": 0, "prompt_tokens": 0, "completion_tokens": 0, "usd": 0.0, "seconds": 0.0},
    },
}
"""What stands for a field that a file lacks, because its version did not write it. ``_ANY``: in each entry."""


_FILES: Mapping[str, Any] = {
    "run.json": RunJson,
    "summary.json": SummaryJson,
    "shard.json": ShardPart,
    "vision.json": VisionJson,
    "models.json": dict[str, str],
    "groups.json": list[tuple[int, str]],
}
"""The others hold objects."""


def json_file(name: str, content: bytes) -> Any:
    """What a JSON file holds. ``name``: of the file, which says what that must be.

    Raises ValueError, whose text goes on after "cannot be read".
    """
    data = decoded(content, _FILE_DECODER)
    _refuse_endless(data)
    validate(kind := _FILES.get(name, dict[str, Any]), data)
    if kind is SummaryJson:
        _refuse_contradictions(data)
    _fill(data, _LACKING.get(kind, {}))
    return data


def _refuse_contradictions(summary: Mapping[str, Any]) -> None:
    if lacking := summary["tasks"].keys() - summary["run"]["data"].keys():
        raise ValueError(f"run.data has no {min(lacking)}, which is among its tasks")
    for name, part in summary["tasks"].items():
        for table in part.get("breakdowns", ()):
            columns = table["columns"]
            if any(len(row["cells"]) != len(columns) for row in table["rows"]) or len(set(columns)) < len(columns):
                raise ValueError(f"tasks.{name}.breakdowns has a table whose rows do not fit its columns")


def _fill(data: dict[str, Any], lacking: Mapping[str, Any]) -> None:
    for name, value in lacking.items():
        if name == _ANY:
            for entry in data.values():
                _fill(entry, value)
        elif isinstance(value, dict):
            _fill(data.setdefault(name, {}), value)
        else:
            data.setdefault(name, copy(value))


def outline(data: Any) -> dict[str, Any]:
    """A record without what was said: see agentgauge.store.jsonl. Raises ValueError as ``json_file`` does."""
    found: Any = validate(RecordOutline, data)
    return found  # type: ignore[no-any-return]


def record(data: Any) -> Record:
    """A record with its transcript. ``data``: of which ``outline`` has checked all else. Raises ValueError as
    ``json_file`` does."""
    return validate(Record, data)


def planned(row: Any) -> tuple[str, str, int, str]:
    """A case of planned.json: task, sample, attempt, node id. Raises ValueError as ``json_file`` does."""
    return validate(tuple[TaskName, str, Attempt, str], row)


def decoded(text: str | bytes, decoder: json.JSONDecoder | None = None) -> Any:
    """The value of a JSON text. Raises ValueError as ``json_file`` does."""
    try:
        return (decoder or _DECODER).decode(text if isinstance(text, str) else text.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 from byte {error.start} on") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error}") from None


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError(f"it holds a number of {len(digits)} digits")
    return int(digits)


_DIGITS = 400  # as many as the largest float has, with some to spare
_DECODER = json.JSONDecoder(parse_int=_integer)
_FILE_DECODER = json.JSONDecoder(parse_int=_integer, parse_constant=lambda name: None)  # NaN is no value


def _refuse_endless(data: Any) -> None:
    """Raises ValueError for what is nested deeper than DEEPEST, and for numbers that are none."""
    level = [data]
    for _ in range(DEEPEST):
        if strange := [value for value in level if isinstance(value, float) and not math.isfinite(value)]:
            raise ValueError(f"it holds the number {strange[0]}")
        level = [
            inner
            for value in level
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return
    raise ValueError(f"it is nested deeper than {DEEPEST} levels")
