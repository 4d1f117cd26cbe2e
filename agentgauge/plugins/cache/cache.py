"""``--cache DIR``: replies of models and results of deterministic tools, which later runs get without asking again.

The folder has a file for each of the two, and any number of runs may use it at the same time. It is a convenience: a
run whose cache cannot be read or written goes on without it, and says so once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from agentgauge.core.case import exchange_seconds
from agentgauge.core.chat import CaseKey, ChatModel, ChatReply, ChatRequest
from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import advice
from agentgauge.core.text import odd_kind
from agentgauge.core.tools import MOST_SECONDS, CachingToolBox, ToolBox
from agentgauge.core.types import Json
from agentgauge.model.files.references import by_content, holds_files
from agentgauge.model.spec import ModelSpec
from agentgauge.replies.exchange import of_reply, reply_in
from agentgauge.replies.store import Replies, key_of
from agentgauge.run.part import Part, Process

REPLIES, RESULTS = "replies.jsonl", "results.jsonl"
"""The files of the folder."""

PROBLEM = "cache-problem"
"""In the run folder: why the cache cannot be used any more. The controller removes what an earlier session left."""

_MOST_CASES = 10_000  # whose requests are counted: more than run at a time


def check_cache(folder: Path) -> None:
    """Make the folder of a cache where it is missing. Raises UsageProblem where it cannot be used."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
        for file in (folder / REPLIES, folder / RESULTS):
            if kind := odd_kind(file):
                raise UsageProblem(f"--cache {folder}: {file.name} in it is {kind}; remove it, or give another folder")
    except OSError as error:
        raise UsageProblem(
            f"--cache {folder} cannot be used ({error.strerror}); give a folder that can be written, or leave it out"
        ) from None


def cache_notes(run: Path) -> list[str]:
    """What became of the cache of a run that has ended: a sentence, or nothing."""
    try:
        return [(run / PROBLEM).read_text(encoding="utf-8")]
    except OSError:
        return []


class Cache:
    """One file of a cache, for one worker of a run."""

    def __init__(self, folder: Path, name: str, placeholders: Mapping[str, str], run: Path) -> None:
        """``placeholders``: see Replies. ``run``: the folder of the run, for its notes."""
        self._folder = folder
        self._replies = Replies(folder / name, placeholders)
        self._run = run
        self._works = True

    def key_of(self, content: Json) -> str:
        """The same wherever the run and its data lie."""
        return key_of(self._replies.placeholders.to_placeholders(content))

    def find(self, key: str) -> Mapping[str, Any] | None:
        try:
            return self._replies.find(key)
        except OSError as error:
            self._note("read", error)
            return None

    def keep(self, key: str, outcome: Mapping[str, Json], about: Mapping[str, Json]) -> None:
        if not self._works:
            return
        try:
            self._replies.keep(key, outcome, about)
        except OSError as error:
            self._works = False
            self._note("written", error)

    def close(self) -> None:
        self._replies.close()

    def _note(self, what: str, error: OSError) -> None:
        hint = f": {words}" if (words := advice(error)) else ""
        with suppress(OSError), (self._run / PROBLEM).open("x", encoding="utf-8") as stream:
            stream.write(
                f"the cache {self._folder} could not be {what} ({error.strerror or error}){hint}; the results of the"
                " run are whole, but later runs ask again for what it lacks"
            )


class CachedModel:
    """Answers a request that an earlier run has sent with the reply that came then, and keeps the replies to all
    others. Faults are not kept.

    A reply fits an equal request to the same model at the same address (``ChatModel.fingerprint``), with the seed of
    the same attempt, and if the endpoint calls its model as it did then, as far as this run knows that. What a case
    asks for a second time is another request, because it wants another reply.
    """

    def __init__(self, model: ChatModel, cache: Cache, on_reply: Callable[[CaseKey], None] | None = None) -> None:
        """``on_reply`` is called when a request of a case has been answered from the cache."""
        self.name = model.name
        self.fingerprint = model.fingerprint
        self.reported = model.reported
        self._model = model
        self._cache = cache
        self._on_reply = on_reply
        self._reported = {model.reported} - {None}  # and what came with new replies: a pool of servers may have several
        self._asked: dict[CaseKey | None, Counter[str]] = {}  # the case that has asked last is the last

    async def complete(self, request: ChatRequest) -> ChatReply:
        """See ChatModel."""
        if holds_files(request.messages):
            content = await asyncio.to_thread(_content, request)
        else:
            content = _content(request)
        asked = self._cache.key_of(["reply", self.fingerprint, content])
        key = self._cache.key_of([asked, self._times_asked(request.case, asked)])
        if kept := self._kept(key):
            if self._on_reply and request.case:
                self._on_reply(request.case)
            return kept
        reply = await self._model.complete(request)
        self._reported |= {reply.model} - {""}
        about = {"model": self.name, "reported": reply.model}
        self._cache.keep(key, {**of_reply(reply), "seconds": round(exchange_seconds(), 6)}, about)
        return reply

    async def close(self) -> None:
        await self._model.close()

    def _kept(self, key: str) -> ChatReply | None:
        outcome = self._cache.find(key)
        try:
            if outcome is None or "fault" in outcome:  # none of ours is a fault
                return None
            reply, seconds = reply_in(outcome), float(outcome["seconds"])
        except (KeyError, TypeError, ValueError):  # it is damaged
            return None
        if not 0 <= seconds <= MOST_SECONDS or (reply.model and self._reported and reply.model not in self._reported):
            return None
        return replace(reply, usage=reply.usage.from_cache(), cached=seconds)

    def _times_asked(self, case: CaseKey | None, asked: str) -> int:
        """How often a case has sent an equal request before. ``asked``: the key of its content."""
        case = case and replace(case, turn=0)
        counter = self._asked[case] = self._asked.pop(case, Counter())
        if len(self._asked) > _MOST_CASES:
            del self._asked[next(iter(self._asked))]
        counter[asked] += 1
        return counter[asked] - 1


class CachePart(Part):
    """Puts the cache around the models and tools of a process."""

    def __init__(self, process: Process, folder: Path) -> None:
        self._process = process
        self._folder = folder
        self._caches: dict[str, Cache] = {}

    def around_model(
        self, model: ChatModel, spec: ModelSpec | None, role: str, on_reply: Callable[[CaseKey], None] | None
    ) -> ChatModel:
        if spec is None or spec.embedded:  # an embedded model answers by the case, and costs nothing
            return model
        return CachedModel(model, self._cache(REPLIES), on_reply)

    def around_tools(self, box: ToolBox) -> ToolBox:
        if isinstance(box, CachingToolBox):
            box.results = self._cache(RESULTS)
        return box

    async def close(self) -> None:
        for cache in self._caches.values():
            cache.close()

    def _cache(self, name: str) -> Cache:
        """One for all models, and one for all tools: each indexes its whole file."""
        if name not in self._caches:
            process = self._process
            self._caches[name] = Cache(self._folder, name, process.placeholders, process.folder.path)
        return self._caches[name]


def _content(request: ChatRequest) -> Json:
    """The whole request but for the name of its case. Reads the files that it names."""
    return {
        "messages": [by_content(message) for message in request.messages],
        "tools": [dict(tool) for tool in request.tools],
        "settings": [
            *(request.temperature, request.max_tokens, asdict(request.usual), request.seed, list(request.stop)),
            *(request.raw, dict(request.template), dict(request.extra)),
        ],
    }
