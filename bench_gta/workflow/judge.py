"""Judging what was delivered, leaf by leaf (GTA-Workflow spec 3).

A judge answers each leaf with one raw reply per vote. Replies are stored; scores are read from them later, so that a run can
be scored again by other rules without paying again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench_gta.workflow import rules
from bench_gta.workflow.cache import Judgements, key_of
from bench_gta.workflow.convert import Conversions
from bench_gta.workflow.facts import Facts, facts
from bench_gta.workflow.fields import leaf_fields
from bench_gta.workflow.parts import Part, extended_parts, flatten, upstream_parts
from bench_gta.workflow.prompts import leaf_prompt
from bench_gta.workflow.replies import Unreadable, Verdict, median, read_reply
from bench_gta.workflow.tree import Node, Value, aggregate, leaves, parse
from harness.errors import DataProblem, Fault
from harness.model.types import ChatReply, Message
from harness.portable import portable
from harness.types import Json

RULES = "rules"
"""The embedded judge's name."""

UPSTREAM_TEMPERATURE = 0.2

MAX_FRAMES = 8
"""Pictures of a video that a judge is shown, but under parity (GTA-Workflow spec 3.2)."""

TRIES = 3
"""Times that a judge is asked where replies must be readable."""

_KEY = "gta_workflow judgement 1"  # to be raised when what a judge is shown of equal files changes


@dataclass(frozen=True, slots=True)
class Delivery:
    """What one task came to."""

    origin_prompt: Json  # the user turns' texts, or one text
    trace: Json  # compressed steps
    files: tuple[str, ...]  # what was delivered, in order: absolute paths
    tree: Json  # as stored
    tokens: Mapping[str, str] = field(default_factory=dict)  # folders, which differ between equal runs, to what stands for them


Ask = Callable[[Sequence[Message], int], Awaitable[ChatReply]]
"""Puts messages to the judge; the number tells votes of one leaf apart. Raises ModelFault."""


class Judge(ABC):
    """Answers every leaf."""

    name: str
    everything: bool  # wants all files that were really delivered, not the released list

    @abstractmethod
    async def judge(self, delivery: Delivery, *, scratch: Path) -> list[Json]:
        """``{"id", "replies": one text per vote, "cached": votes that were known}`` for each leaf, in judging order.

        ``scratch``: a folder for conversions; it is made where needed. Raises Fault for what is not the agent's doing, and
        DataProblem for a tree that cannot be judged.
        """


class RulesJudge(Judge):
    """The embedded judge: conditions that a leaf states in ``check``, held against the files themselves. Needs no model."""

    name = RULES
    everything = True

    async def judge(self, delivery: Delivery, *, scratch: Path) -> list[Json]:
        nodes = leaves(parse(delivery.tree))
        for node in nodes:
            check_of(node)
        read = any(rules.reads_pictures(check_of(node)) for node in nodes)
        found = await asyncio.to_thread(_facts, delivery, scratch, read)
        answer = leaf_fields({}, delivery.trace, delivery.origin_prompt).final_answer
        judged = []
        for node in nodes:
            score, analysis = rules.judge(check_of(node), answer=answer, files=found)
            reply = json.dumps({"score": score, "analysis": analysis}, ensure_ascii=False)
            judged.append({"id": node.id, "replies": [reply], "cached": 0})
        return judged


def _facts(delivery: Delivery, scratch: Path, read: bool) -> list[Facts]:
    scratch.mkdir(parents=True, exist_ok=True)
    return facts([Path(file) for file in delivery.files], folder=scratch, read=read)


def check_of(node: Node) -> Json:
    """The conditions of a leaf. Raises DataProblem where it has none."""
    if "check" not in node.raw:
        raise DataProblem(
            f"the leaf {node.id!r} has no 'check', so the judge {RULES!r} cannot tell whether it is met; name a model with --judge-model"
        )
    return node.raw["check"]


class ModelJudge(Judge):
    """A multimodal model, asked once for each leaf and vote."""

    def __init__(
        self,
        name: str,
        ask: Ask,
        *,
        template: str,
        identity: Json,
        votes: int = 1,
        released: bool = True,
        judgements: Judgements | None = None,
    ) -> None:
        """``identity``: of everything besides the request that may change a reply, for the cache. ``released``: files are found and
        shown as in the released code, and every reply counts, whatever it is; otherwise an unreadable one is asked for again."""
        self.name = name
        self.everything = not released
        self._ask = ask
        self._template = template
        self._identity = identity
        self._votes = votes
        self._released = released
        self._judgements = judgements or Judgements(None)

    async def judge(self, delivery: Delivery, *, scratch: Path) -> list[Json]:
        nodes = leaves(parse(delivery.tree))
        digests = await asyncio.to_thread(_digests, delivery)
        shown = _Shown(delivery, scratch, key_of(digests), released=self._released)
        prompts = [leaf_prompt(self._template, leaf_fields(node.raw, delivery.trace, delivery.origin_prompt)) for node in nodes]
        votes = [self._vote(prompt, vote, shown, digests, delivery) for prompt in prompts for vote in range(self._votes)]
        # all are waited for: what is paid for is kept, though another vote fails
        outcomes = await asyncio.gather(*votes, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        told = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
        groups = [told[start : start + self._votes] for start in range(0, len(told), self._votes)]
        return [
            {"id": node.id, "replies": [reply for reply, _ in group], "cached": sum(known for _, known in group)}
            for node, group in zip(nodes, groups, strict=True)
        ]

    async def _vote(self, prompt: str, vote: int, shown: _Shown, digests: Json, delivery: Delivery) -> tuple[str, bool]:
        """A reply, and whether it was known."""
        key = key_of([_KEY, self._identity, self._released, portable(prompt, delivery.tokens), digests, vote])
        if (known := self._judgements.find(key)) is not None:
            return known, True
        parts = await shown.parts()
        content = [{"type": "text", "text": prompt}, *parts] if parts else prompt
        for number in range(1 if self._released else TRIES):
            reply = await self._ask([{"role": "user", "content": content}], vote + number * self._votes)
            if self._released or _readable(reply.text):
                self._judgements.keep(key, reply.text, {"judge": self.name, "vote": vote})
                return reply.text, False
        raise Fault(f"judge {self.name}: no readable score in {TRIES} replies, the last was {reply.text[:80]!r}", cause="judge")


class _Shown:
    """The parts that stand for a delivery's files, made when the first vote has to be paid for."""

    def __init__(self, delivery: Delivery, scratch: Path, digest: str, *, released: bool) -> None:
        self._delivery = delivery
        self._scratch = scratch
        self._digest = digest  # of all delivered files
        self._released = released
        self._made: asyncio.Future[list[Part]] | None = None

    async def parts(self) -> list[Part]:
        if self._made is None:
            self._made = asyncio.ensure_future(asyncio.to_thread(self._make))
        # converters write the time into what they make
        return [{**part, "stands_for": self._digest} if part["type"] == "local_file" else part for part in await self._made]

    def _make(self) -> list[Part]:
        self._scratch.mkdir(parents=True, exist_ok=True)
        convert = Conversions(self._scratch, upstream=self._released)
        files = [path for path in flatten(list(self._delivery.files)) if self._may_be_shown(path)]
        if self._released:
            # an upload that the endpoint refuses is dropped when the request is sent
            return upstream_parts(files, convert=convert, upload=lambda path: Path(path).is_file())
        return extended_parts([Path(path) for path in files], convert=convert, max_frames=MAX_FRAMES)

    def _may_be_shown(self, path: str) -> bool:
        """Only files of the run and of the data set: an agent must not have another file of this machine sent away."""
        real = Path(path).resolve()
        return any(real.is_relative_to(Path(folder).resolve()) for folder in self._delivery.tokens)


def _digests(delivery: Delivery) -> Json:
    """What identifies the files, wherever they lie."""
    return [[portable(path, delivery.tokens), _digest(Path(path))] for path in delivery.files]


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (OSError, ValueError):
        return ""  # missing, or no path at all: nothing is shown of it


def _readable(text: str) -> bool:
    try:
        read_reply(text, strict=True)
    except Unreadable:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Scored:
    """A judged tree."""

    root: Value
    verdicts: tuple[Verdict, ...]  # one per leaf, in judging order
    fallbacks: int  # votes that were not read as JSON


def scored(tree: Json, judged: Sequence[Json], *, strict: bool) -> Scored:
    """Read the replies and combine them up the tree (GTA-Workflow spec 3.4 and 4).

    ``judged``: what ``Judge.judge`` gave. ``strict``: only sound replies are read. Raises Unreadable for one that is not, and
    DataProblem where the replies are not this tree's.
    """
    votes = [[read_reply(reply, strict=strict) for reply in leaf["replies"]] for leaf in judged]
    verdicts = tuple(median(leaf) for leaf in votes)
    root = aggregate(parse(tree), [verdict.score for verdict in verdicts])
    return Scored(root, verdicts, sum(bool(vote.fallback) for leaf in votes for vote in leaf))
