"""Judges deliverables leaf by leaf (docs/benchmarks/gta_workflow.md#judge).

A judge answers each leaf with one raw reply per vote. Replies are stored; scores are read from them later, so that a
run can be scored again by other rules without paying again. Stored judgements have a key of the judged content, so that
no leaf is billed twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from pathlib import Path
from stat import S_ISREG

from agentgauge.agent import framing
from agentgauge.core.chat import ChatReply, Message, Sampling
from agentgauge.core.errors import DataProblem, Fault
from agentgauge.core.placeholders import with_placeholders
from agentgauge.core.types import Json
from agentgauge.run.thread_pools import in_cpu_slot
from bench_gta.workflow import confined, rules
from bench_gta.workflow.confined import Unfit, take
from bench_gta.workflow.facts import Facts, facts
from bench_gta.workflow.judgements import Judgements, StoredReply
from bench_gta.workflow.prompts import (
    AFTER_FILES,
    NO_ANSWER,
    LeafVerdict,
    filled,
    final_answer,
    flaw_of,
    has_frames,
    leaf_fields,
    median,
    read_reply,
)
from bench_gta.workflow.rendering import UNFIT, Conversions, JudgePart, extended_parts, flatten, upstream_parts
from bench_gta.workflow.tree import Node, Value, aggregate, check_weights, leaves, parse

RULES = "rules"  # the embedded judge's name

UPSTREAM_TEMPERATURE = 0.2

# pictures of a video that a judge is shown, but under parity (docs/benchmarks/gta_workflow.md#files-for-the-judge)
MAX_FRAMES = 8

TRIES = 3  # times that a judge is asked for a reply that counts

AT_ONCE = 8  # concurrent votes of one task: each holds the task's files in memory

_KEY = "gta_workflow judgement 2"  # to be raised when what a judge is shown of equal files changes


@dataclass(frozen=True, slots=True)
class Delivery:
    """The result of one task."""

    origin_prompt: Json  # the user turns' texts, or one text
    trace: Json  # compressed steps
    files: tuple[str, ...]  # what was delivered, in order: absolute paths
    tree: Json  # as stored
    tokens: Mapping[str, str] = field(default_factory=dict)  # a folder, which differs between equal runs → placeholder


Ask = Callable[[Sequence[Message], int], Awaitable[ChatReply]]
"""Sends messages to the judge; the number distinguishes the votes on one leaf. Raises ModelFault."""


class Judge(ABC):
    """Answers every leaf."""

    name: str
    everything: bool  # wants all files that were really delivered, not the released list
    reported: str | None = None  # what the endpoint of a model calls it; None: it was not asked, or there is none

    @abstractmethod
    async def judge(self, delivery: Delivery, *, scratch: Path) -> list[Json]:
        """``{"id", "replies": one text per vote, "cached": votes that were known}`` for each leaf, in judging order.

        Where a vote did not end as usual, also ``ends``: why each vote ended, as the endpoint says (``length``).
        ``scratch``: a folder for conversions; it is made where needed. Raises Fault for a failure that the agent did
        not cause, and DataProblem for a tree that cannot be judged.
        """


class RulesJudge(Judge):
    """The embedded judge: it checks the conditions in a leaf's ``check`` against the files. Needs no model."""

    name = RULES
    everything = True

    async def judge(self, delivery: Delivery, *, scratch: Path) -> list[Json]:
        nodes = leaves(parse(delivery.tree))
        for node in nodes:
            check_of(node)
        read = any(rules.reads_pictures(check_of(node)) for node in nodes)
        found = await in_cpu_slot("deliverables", lambda: _facts(delivery, scratch, read))
        answer = final_answer(delivery.trace)
        answer = "" if answer == NO_ANSWER else answer
        judged = []
        for node in nodes:
            score, analysis = rules.judge(check_of(node), answer=answer, files=found)
            reply = json.dumps({"score": score, "analysis": analysis}, ensure_ascii=False)
            judged.append({"id": node.id, "replies": [reply], "cached": 0})
        return judged


def _facts(delivery: Delivery, scratch: Path, read: bool) -> list[Facts]:
    scratch.mkdir(parents=True, exist_ok=True)
    files = [shown_file(path, delivery.tokens) for path in delivery.files]
    return facts([file for file in files if file], folder=scratch, read=read)


def check_of(node: Node) -> Json:
    """The conditions of a leaf. Raises DataProblem if it has none."""
    if "check" not in node.raw:
        lacking = f"so the judge {RULES!r} cannot tell whether it is met; name a model with --judge-model"
        raise DataProblem(f"the leaf {node.id!r} has no 'check', {lacking}")
    return node.raw["check"]


USUAL = Sampling(temperature=UPSTREAM_TEMPERATURE)
"""The sampling of a judge model."""


def identity_of(fingerprint: str) -> list[str | float | None]:
    """The identity of a judge model, besides its prompt, for the cache: runs and packs share it."""
    return [fingerprint, USUAL.temperature]


class ModelJudge(Judge):
    """A multimodal model, asked once for each leaf and vote."""

    def __init__(
        self,
        name: str,
        ask: Ask,
        *,
        template: str,
        identity: Json,
        reported: str | None = None,
        votes: int = 1,
        released: bool = True,
        judgements: Judgements | None = None,
        introduce: Callable[[], Awaitable[str]] | None = None,
    ) -> None:
        """``identity``: of everything besides the request that may change a reply, for the cache. ``reported``: see
        Judge. Where it is not known and a stored judgement fits, ``introduce`` finds it: a judgement counts for the
        model that gave it. Without either (an embedded model) there is but one.

        ``released``: files are found and shown as in the released code, and every reply with content counts. Otherwise
        the judge is asked again after an unreadable reply. A reply without content is a fault of the judge in both
        cases.
        """
        self.name = name
        self.everything = not released
        self.reported = reported
        self._ask = ask
        self._template = template
        self._identity = identity
        self._votes = votes
        self._released = released
        self._judgements = judgements or Judgements(None)
        self._introduce = introduce

    async def judge(self, delivery: Delivery, *, scratch: Path) -> list[Json]:
        root = parse(delivery.tree)
        check_weights(root)  # before anything is paid
        nodes = leaves(root)
        files = await asyncio.to_thread(_known_files, delivery)
        shown = _ShownFiles(delivery, files, scratch, released=self._released)
        shown_files = [[known.name, known.digest] for known in files]
        asked = [
            _Vote(*self._prompt(node, delivery, shown_files), vote) for node in nodes for vote in range(self._votes)
        ]
        rests_on = [_KEY, self._identity, self._released, confined.found(), shown_files]
        for one in asked:
            one.key = key_of([*rests_on, with_placeholders(one.prompt, delivery.tokens), one.number])
        await self._recall(asked)
        for turn in range(TRIES):
            await self._round([one for one in asked if one.reply is None], shown, turn)
        for one in asked:
            if one.reply is None:
                lacking = "content" if self._released else "readable score"
                last = f"{one.last[:80]!r}{_CUT if one.end == 'length' else one.beside}"
                raise Fault(f"judge {self.name}: no {lacking} in {TRIES} replies, the last was {last}", cause="judge")
        groups = [asked[start : start + self._votes] for start in range(0, len(asked), self._votes)]
        return [_judged(node, group) for node, group in zip(nodes, groups, strict=True)]

    def _prompt(self, node: Node, delivery: Delivery, files: Json) -> tuple[str, str]:
        """The prompt, and the mark of its frames; without a mark there are none."""
        fields = leaf_fields(node.raw, delivery.trace, delivery.origin_prompt)
        mark = framing.mark_of([with_placeholders(asdict(fields), delivery.tokens), files])
        return filled(self._template, fields, mark), mark if has_frames(self._template) else ""

    async def _recall(self, votes: Sequence[_Vote]) -> None:
        """Take the replies that this very judge has given before."""
        found = [(one, kept) for one in votes if (kept := self._judgements.find(one.key))]
        if found and self.reported is None and self._introduce:
            self.reported = await self._introduce()
        for one, kept in found:
            if self.reported in (None, kept.model):
                one.reply, one.known = kept.reply, True

    async def _round(self, votes: Sequence[_Vote], shown: _ShownFiles, turn: int) -> None:
        """Ask for these votes, AT_ONCE at a time and begun in their order: a cassette counts requests. What is paid for
        is kept, though another vote fails."""
        free = asyncio.Semaphore(AT_ONCE)

        async def ask(one: _Vote) -> None:
            async with free:
                parts = await shown.parts()
                content = (
                    [{"type": "text", "text": one.prompt}, *_framed(parts, one.mark, released=self._released)]
                    if parts
                    else one.prompt
                )
                reply = await self._ask([{"role": "user", "content": content}], one.number + turn * self._votes)
            one.last, one.end = reply.text, reply.finish_reason
            one.beside = " beside its reasoning" if reply.reasoning else ""
            if self._introduce:
                self.reported = reply.model
            has_content = reply.text or reply.refusal  # a refusal is the judge's word, with a score of 0 as released
            readable = not flaw_of(reply.text)
            if has_content and (self._released or readable):
                one.reply = reply.text
                # what trouble of this machine has changed must not stay, and the next run may get a better reply
                if readable and not shown.troubled:
                    kept = StoredReply(reply.text, reply.model)
                    self._judgements.keep(one.key, kept, {"judge": self.name, "vote": one.number})

        outcomes = await asyncio.gather(*map(ask, votes), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome


@dataclass(slots=True)
class _Vote:
    """One reply on one leaf, wanted or given."""

    prompt: str
    mark: str
    number: int  # among the votes of its leaf, from 0
    key: str = ""
    reply: str | None = None
    known: bool = False
    last: str = ""  # the last reply, readable or not
    end: str = ""  # why it ended
    beside: str = ""  # what came with it, for a message


def _framed(parts: Sequence[JudgePart], mark: str, *, released: bool) -> Sequence[JudgePart]:
    """The parts of the files, which the agent has named and written, with the last word behind them."""
    if not mark:
        return parts
    if released:  # a part has one line there, and names are as the agent wrote them
        one_line = {"text", "name"}
        parts = [
            {key: UNFIT.sub("\ufffd", part[key]) if key in one_line else part[key] for key in part} for part in parts
        ]
    first, last = framing.begin(mark), f"{framing.end(mark)}\n\n{AFTER_FILES}"
    return [{"type": "text", "text": first}, *parts, {"type": "text", "text": last}]


_CUT = ", cut at the judge's token limit; give it a higher max_tokens"


def _judged(node: Node, votes: Sequence[_Vote]) -> Json:
    leaf = {"id": node.id, "replies": [one.reply for one in votes], "cached": sum(one.known for one in votes)}
    ends = [one.end for one in votes]
    return leaf if set(ends) <= {"", "stop"} else {**leaf, "ends": ends}


class _ShownFiles:
    """The parts that stand for a delivery's files, made when the first vote has to be paid for."""

    def __init__(self, delivery: Delivery, files: Sequence[_KnownFile], scratch: Path, *, released: bool) -> None:
        self._files = files
        self._digest = key_of([[known.name, known.digest] for known in files])
        self._scratch = scratch
        self._released = released
        self._made: asyncio.Future[list[JudgePart]] | None = None
        self.troubled = False  # a conversion ended by a limit, which may be this machine's doing

    async def parts(self) -> list[JudgePart]:
        if self._made is None:
            self._made = asyncio.ensure_future(in_cpu_slot("conversions", self._make))
        # converters write the time into what they make
        mark = {"stands_for": self._digest}
        return [{**part, **mark} if part["type"] == "local_file" else part for part in await self._made]

    def _make(self) -> list[JudgePart]:
        self._scratch.mkdir(parents=True, exist_ok=True)
        convert = Conversions(self._scratch, upstream=self._released)
        files = [known.path for known in self._files]
        if self._released:
            # an upload that the endpoint refuses is dropped when the request is sent
            parts = upstream_parts(list(map(str, files)), convert=convert, upload=lambda path: Path(path).is_file())
        else:
            parts = extended_parts(files, convert=convert, max_frames=MAX_FRAMES)
        self.troubled = convert.troubled
        return parts


@dataclass(frozen=True, slots=True)
class _KnownFile:
    """A delivered file that may be shown."""

    path: Path
    name: str  # where it lies, the same in equal runs
    digest: str


def _known_files(delivery: Delivery) -> list[_KnownFile]:
    found = [(path, shown_file(path, delivery.tokens)) for path in flatten(list(delivery.files))]
    return [
        _KnownFile(file, str(with_placeholders(path, delivery.tokens)), _digest(file)) for path, file in found if file
    ]


def shown_file(path: str, folders: Iterable[str]) -> Path | None:
    """The file, if it may be shown: a regular file below one of the folders, reached without a link. None otherwise.

    An agent must not make the judge send other files of this machine. The released discovery takes whole sentences for
    paths, so any text may occur as a path.
    """
    try:
        for folder in folders:
            if Path(path).is_relative_to(folder):
                real = Path(folder).resolve() / Path(path).relative_to(folder)
                if real.resolve() == real and S_ISREG(real.stat().st_mode):
                    return Path(path)
    except (OSError, ValueError, RuntimeError):  # missing, too long, a NUL in it, a loop of links
        return None
    return None


def _digest(path: Path) -> str:
    """Digest of the content; for a page also of the pictures and style sheets beside it that it shows."""
    with contextlib.suppress(Unfit):
        return take(path).digest
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class ScoredTree:
    """A judged tree."""

    root: Value
    verdicts: tuple[LeafVerdict, ...]  # one per leaf, in judging order
    votes: int
    stored: int  # votes that were known from an earlier run
    fallbacks: int  # votes that were not read as JSON
    flaws: Mapping[str, int]  # what is wrong with replies whose score is not in the form asked for → how many


def scored(tree: Json, judged: Sequence[Json], *, strict: bool) -> ScoredTree:
    """Read the replies and combine them up the tree (docs/benchmarks/gta_workflow.md#replies and
    docs/benchmarks/gta_workflow.md#scores).

    ``judged``: what ``Judge.judge`` gave. ``strict``: only sound replies are read. Raises Unreadable for one that is
    not, and DataProblem where the replies are not this tree's.
    """
    votes = [[read_reply(reply, strict=strict) for reply in leaf["replies"]] for leaf in judged]
    verdicts = tuple(median(leaf) for leaf in votes)
    root = aggregate(parse(tree), [verdict.score for verdict in verdicts])
    return ScoredTree(
        root=root,
        verdicts=verdicts,
        votes=sum(map(len, votes)),
        stored=sum(leaf.get("cached", 0) for leaf in judged),
        fallbacks=sum(bool(vote.fallback) for leaf in votes for vote in leaf),
        flaws=Counter(flaw for leaf in judged for flaw in _flaws(leaf, strict=strict) if flaw),
    )


def _flaws(leaf: Mapping[str, Json], *, strict: bool) -> Iterator[str]:
    for reply, end in zip_longest(leaf["replies"], leaf.get("ends", ()), fillvalue=""):
        flaw = flaw_of(reply)
        if not flaw and not strict and read_reply(reply).score != read_reply(reply, strict=True).score:
            flaw = "a score that the published rule misses"  # it is nested, or another number stands before it
        yield "cut at the token limit" if flaw and end == "length" else flaw


def key_of(content: Json) -> str:
    """A key of any JSON value: 64 hex digits."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
