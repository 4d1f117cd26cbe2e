"""Recording and replaying the exchanges with a model and its tools, in a file of replies: a cassette.

A replayed run makes no live call: an exchange that the cassette lacks is a ReplayMiss. Faults are recorded too, so that
a replay ends in the same statuses. Requests are stored as digests of their parts, enough to say what differs and no
more.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from json import JSONDecodeError
from pathlib import Path
from typing import Any, Literal, TypeVar

from agentgauge.core.case import NOT_SENT
from agentgauge.core.chat import ChatModel, ChatReply, ChatRequest
from agentgauge.core.errors import ModelFault, ReplayMiss, ToolError, ToolFault, UsageProblem
from agentgauge.core.files import replacing
from agentgauge.core.placeholders import PathPlaceholders
from agentgauge.core.text import cut, digest, odd_kind, parse_json, refuse_extremes
from agentgauge.core.tools import Tool, ToolBox, ToolOutput
from agentgauge.core.types import Json
from agentgauge.replies import exchange
from agentgauge.replies.store import FORMAT, Replies, header, key_of

EARLIER = 1
"""The format of cassettes that earlier versions have recorded."""

_LONGEST = 16 << 20  # bytes of a header

T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """What was asked. ``place``: where in the run, as ``task/sample/attempt/turn`` for a model, and the folder of the
    case and the number of the call there for a tool."""

    kind: Literal["model", "tool", "catalog"]
    place: str
    parts: Mapping[str, Json]  # digests

    @cached_property
    def key(self) -> str:
        return key_of([self.kind, self.place, self.parts])

    @property
    def about(self) -> dict[str, Json]:
        return {"kind": self.kind, "place": self.place, "parts": self.parts}


_CATALOG = Asked("catalog", "", {})


def _model_exchange(request: ChatRequest, placeholders: PathPlaceholders) -> Asked:
    case = request.case
    place = f"{case.task}/{case.sample}/{case.attempt}/{case.turn}" if case else ""
    return Asked("model", place, exchange.parts_of(request, placeholders))


class _CallCounter:
    """Tells which call of its case a tool call is. Cases have folders of their own, and a case calls one tool after the
    other."""

    def __init__(self, placeholders: PathPlaceholders) -> None:
        self._pack = placeholders.to_placeholders
        self._calls: Counter[str] = Counter()

    def exchange(self, name: str, arguments: Mapping[str, Any], folder: Path) -> Asked:
        place = self._pack(str(folder.absolute()))
        number = self._calls[place]
        self._calls[place] += 1
        parts = {"name": name, "arguments": digest(self._pack(dict(arguments)))}
        return Asked("tool", f"{place}/{number}", parts)


class RecordingModel:
    """Forwards requests and records the replies."""

    reported: str | None = None  # a cassette takes the place of kept replies

    def __init__(self, model: ChatModel, store: Replies) -> None:
        """``store``: begun by ``begin``; the caller closes it. Raises OSError where it cannot be written."""
        self.name = model.name
        self.fingerprint = model.fingerprint
        self._model = model
        self._store = store

    async def complete(self, request: ChatRequest) -> ChatReply:
        asked = _model_exchange(request, self._store.placeholders)
        try:
            reply = await self._model.complete(request)
        except ModelFault as fault:
            if fault.cause != NOT_SENT:
                self._store.keep(asked.key, exchange.of_fault(fault), asked.about)
            raise
        sent = replace(reply, usage=reply.usage.without_cache(), cached=None)  # a replay has no cache
        self._store.keep(asked.key, exchange.of_reply(sent), asked.about)
        return reply

    async def close(self) -> None:
        await self._model.close()


class RecordingToolBox:
    """Forwards calls and records results, the content of produced files included."""

    def __init__(self, box: ToolBox, store: Replies) -> None:
        """``store``: as for RecordingModel."""
        self._box = box
        self._store = store
        self._counter = _CallCounter(store.placeholders)
        self._catalog: Mapping[str, Tool] | None = None

    async def catalog(self) -> Mapping[str, Tool]:
        if self._catalog is None:
            catalog = await self._box.catalog()
            self._store.keep(_CATALOG.key, exchange.of_catalog(catalog), _CATALOG.about)
            self._catalog = catalog
        return self._catalog

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, folder: Path, readable: Sequence[Path]
    ) -> tuple[ToolOutput, ...]:
        asked = self._counter.exchange(name, arguments, folder)
        try:
            outputs = await self._box.call(name, arguments, folder=folder, readable=readable)
        except ToolError as error:
            self._store.keep(asked.key, {"error": str(error)}, asked.about)
            raise
        except ToolFault as fault:
            self._store.keep(asked.key, exchange.of_fault(fault), asked.about)
            raise
        self._store.keep(asked.key, exchange.of_outputs(outputs, folder), asked.about)
        return outputs

    async def close(self) -> None:
        await self._box.close()


class Cassette:
    """Recorded exchanges."""

    def __init__(self, path: Path, placeholders: Mapping[str, str]) -> None:
        """Raises UsageProblem naming a damaged line. An incomplete last line, left by a killed run, is ignored."""
        recorded_settings(path)  # is it a cassette?
        self.path = path
        self.store = Replies(path, placeholders, _earlier_line)
        if strange := self.store.strange_lines():
            raise UsageProblem(
                f"{path}, line {strange[0]}: this is not an exchange; delete the line or record the cassette again"
            )

    def outcome(self, asked: Asked, what: str, read: Callable[[exchange.Outcome], T]) -> T:
        """What came of an exchange. Raises ReplayMiss, which says which part of ``what`` differs from the recording;
        and what ``read`` raises, but for ValueError, which is the cassette's fault."""
        try:
            if (outcome := self.store.read(asked.key)) is not None:
                return read(outcome)
        except ValueError as problem:
            why = f"holds a damaged exchange ({problem}); record it again"
        else:
            why = self._lacking(asked, what)
        raise ReplayMiss(f"the cassette {self.path} {why}")

    def close(self) -> None:
        self.store.close()

    def _lacking(self, asked: Asked, what: str) -> str:
        if asked is _CATALOG:
            return f"holds no {what}; record it with a task that uses tools"
        return f"lacks {what}: {self._explain(asked)}; replay with the settings of the recording, or record again"

    @cached_property
    def _parts(self) -> Mapping[tuple[str, str], Mapping[str, Any]]:
        """Kind and place of each exchange → the parts of what was asked there last."""
        return {
            (kind, place): parts
            for _, about in self.store.entries()
            if isinstance(kind := about.get("kind"), str)
            and isinstance(place := about.get("place"), str)
            and isinstance(parts := about.get("parts"), dict)
        }

    def _explain(self, asked: Asked) -> str:
        known = self._parts.get((asked.kind, asked.place))
        if known is None:
            return "nothing was recorded for it"
        for name, value in asked.parts.items():
            if value == known.get(name):
                continue
            if isinstance(value, list) and isinstance(known.get(name), list):
                return _first_difference(name, known[name], value)
            return f"the {name} differ from the recorded ones"
        return "the recorded request has further parts"


def _first_difference(name: str, recorded: Sequence[Json], asked: Sequence[Json]) -> str:
    for number, (old, new) in enumerate(zip(recorded, asked, strict=False), start=1):
        if old != new:
            return f"number {number} of the {name} differs from the recorded one"
    return f"there are {len(asked)} {name}, and {len(recorded)} were recorded"


class ReplayModel:
    """Answers from a cassette, which the caller has opened and closes."""

    fingerprint = ""  # the recorded model is not known here
    reported: str | None = None

    def __init__(self, cassette: Cassette, name: str) -> None:
        self.name = name
        self._cassette = cassette

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Raises ReplayMiss, or the ModelFault that was recorded."""
        case = request.case
        words = f"{case.task} {case.sample}, attempt {case.attempt}, turn {case.turn + 1}" if case else ""
        asked = _model_exchange(request, self._cassette.store.placeholders)
        return self._cassette.outcome(asked, f"a reply for {words or 'a request without a case'}", exchange.reply_in)

    async def close(self) -> None: ...


class ReplayToolBox:
    """Answers tool calls from a cassette, which the caller has opened and closes, and makes the files anew that the
    tools produced."""

    def __init__(self, cassette: Cassette) -> None:
        self._cassette = cassette
        self._counter = _CallCounter(cassette.store.placeholders)

    async def catalog(self) -> Mapping[str, Tool]:
        return self._cassette.outcome(_CATALOG, "list of tools", exchange.catalog_in)

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, folder: Path, readable: Sequence[Path]
    ) -> tuple[ToolOutput, ...]:
        """Raises ReplayMiss, or the ToolError or ToolFault that was recorded."""
        asked = self._counter.exchange(name, arguments, folder)
        place, _, number = asked.place.rpartition("/")
        what = f"tool call {int(number) + 1} ({name}) of {place}"
        return self._cassette.outcome(asked, what, lambda outcome: exchange.outputs_in(outcome, folder))

    async def close(self) -> None: ...


# -- The file: its header, and cassettes of earlier versions, which are read as they are and converted where a recording
# goes on.


def begin(path: Path, settings: Mapping[str, Json]) -> None:
    """Begin a cassette, or go on with one of the same settings. For the controller, before any worker writes.

    A last line that a killed run left incomplete is taken off. Raises UsageProblem for a cassette of something else.
    """
    try:
        if kind := odd_kind(path):
            raise UsageProblem(f"the cassette {path} is {kind}; give --record the name of a file")
        if path.is_dir() or not path.exists() or not path.stat().st_size:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(header(settings))
            return
        # which models see pictures is found out anew, and is known only where pictures are shown
        if {**recorded_settings(path), "vision": {}} != {**settings, "vision": {}}:
            raise UsageProblem(f"the cassette {path} was recorded with other settings; record to another file")
        if _header_of(path)[0] != FORMAT:
            _convert(path, header(settings))
    except OSError as error:
        raise UsageProblem(
            f"the cassette {path} cannot be written ({error.strerror}); give --record a file in a writable folder"
        ) from None


def recorded_settings(path: Path) -> dict[str, Any]:
    """The settings of the recorded run. Raises UsageProblem when the file is missing or no cassette."""
    return _header_of(path)[1]


def _header_of(path: Path) -> tuple[int, dict[str, Any]]:
    """A cassette's format and settings."""
    try:
        if kind := odd_kind(path):
            raise UsageProblem(
                f"the cassette {path} is {kind}, and only a file can be read at any place; save it as a file"
            )
        with path.open("rb") as stream:
            line = stream.readline(_LONGEST)
    except OSError as error:
        raise UsageProblem(f"the cassette {path} cannot be read ({error.strerror}); make one with --record") from None
    try:
        data = parse_json(line)
        refuse_extremes(data)
    except (JSONDecodeError, UnicodeDecodeError):
        data = None
    except ValueError as problem:
        raise UsageProblem(f"{path}, line 1: {problem}; record the cassette again") from None
    known = data.get("replies", data.get("cassette")) if isinstance(data, dict) else None
    if known is None or not isinstance(settings := data.get("settings") or {}, dict):
        raise UsageProblem(f"{path}, line 1: this is not a cassette; make one with --record")
    if known not in (EARLIER, FORMAT):
        raise UsageProblem(
            f"{path}, line 1: the cassette has format {cut(str(known), 20)}, and this version reads {EARLIER} and"
            f" {FORMAT}; record it again"
        )
    return known, settings


def _earlier_line(line: bytes) -> tuple[str, Mapping[str, Json]]:
    """Key and description of an exchange in the form of format 1: ``{"kind", "key", "parts", "outcome"}``. Raises
    ValueError for what is none."""
    match parse_json(line):
        case {"kind": str(kind), "key": str(place), "parts": dict(parts), "outcome": dict()}:
            refuse_extremes(parts)
            return key_of([kind, place, parts]), {"kind": kind, "place": place, "parts": parts}
    raise ValueError("it is no exchange")


def _convert(path: Path, first: bytes) -> None:
    """Rewrite a cassette of an earlier version in this version's form, in one step."""
    old = Cassette(path, {}).store
    with replacing(path.resolve()) as scratch:
        scratch.write_bytes(first)
        new = Replies(scratch)
        for key, about in old.entries():
            with contextlib.suppress(ValueError):  # a damaged outcome, which no replay could use
                new.keep(key, old.read(key) or {}, about)
        new.close()
    old.close()
