"""A tool server whose calls run in other tool servers, its replicas: ``agentgauge serve-tools --replica URL``.

The tools, with their descriptions, states and limits, are those that the replicas tell in ``/about`` and ``/tools``.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from agentgauge.core.announcement import own_version
from agentgauge.core.errors import AgentGaugeError, ToolFault, UsageProblem
from agentgauge.core.files import OwnFolder
from agentgauge.core.processes import TOOL_TOKEN, checked_address
from agentgauge.core.redaction import redacted
from agentgauge.core.text import parse_json
from agentgauge.core.tools import DEVICE, FILE_TYPES, Tool, devices_of, united
from tool_impls.base import REPEATABLE, works
from tool_impls.server import protocol
from tool_impls.server.app import ToolQueue, ToolServer
from tool_impls.server.calls import CallAnswer, QueuedCall, failure
from tool_impls.server.client import ANSWER_SECONDS, ToolServerBox, encode_call
from tool_impls.server.execution import ToolMetrics
from tool_impls.server.requests import Access
from tool_impls.server.worker_pool import ATTEMPTS, LOAD_SECONDS, STOPPED

if TYPE_CHECKING:
    from tool_impls.server.client import Form

START_SECONDS = 300.0  # for all replicas to be ready
LOOK_SECONDS = 2.0  # after which a replica is asked again whether it is there
SILENT_SECONDS = 15.0  # a replica that takes longer to say so gets no calls, and those that it has go to others
WAIT_SECONDS = 10.0  # that a call waits for a replica where none is there: one may be restarting
SEND_SECONDS = 120.0  # for a call with its files to arrive at a replica, and its answer here
PASSED_ON = frozenset({200, 400, 408, 413, 422, 500, 503})  # other answers are of a replica that lacks our token, say


@dataclass(frozen=True)
class Offer:
    """What ``/about`` tells of a tool: its state, the calls at a time, those that may wait or run, and their seconds.
    ``identity``: that of ``/tools``."""

    meta: Tool
    state: str
    slots: int
    queue: int
    seconds: float
    identity: Mapping[str, Any]

    def difference(self, other: Offer) -> str:
        """What tells this tool from that of another replica, apart from devices; empty where nothing does."""
        one, two = ({"description": offer.meta.to_json(), **offer.identity} for offer in (self, other))
        keys = sorted((one.keys() | two.keys()) - {DEVICE, REPEATABLE})
        return next(
            (f"{key} {one.get(key)!r} and {two.get(key)!r}" for key in keys if one.get(key) != two.get(key)), ""
        )


class Replica:
    """``away``: why it gets no calls; empty while it does. ``calls``: those of ours that it works on, by tool."""

    def __init__(self, address: str) -> None:
        self.box = ToolServerBox(address, retry_seconds=0)
        self.url = self.box.url
        self.offers: Mapping[str, Offer] = {}
        self.away = ""
        self.calls: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def join(self) -> None:
        """Wait until it is ready. Raises UsageProblem where it never is, or is no replica of ours."""
        why = "it gives no answer"
        try:
            async with asyncio.timeout(START_SECONDS):
                while True:
                    try:
                        self.offers = await self._look()
                        return
                    except ToolFault as fault:
                        why = str(fault)
                        await asyncio.sleep(0.5)
        except TimeoutError:
            late = f"is not ready within {START_SECONDS:g} s: {why}; start it, or correct the address"
            raise UsageProblem(f"--replica {self.url} {late}") from None

    async def watch(self) -> None:
        """Notice when it does not answer any more, and when it is back with the same tools."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                if not self.away:
                    await self._get("/ready", SILENT_SECONDS)
                    continue
                offers = await self._look()
                for name, before in self.offers.items():
                    if name not in offers or (other := before.difference(offers[name])):
                        raise ToolFault(
                            f"it came back {f'with {name}: {other}' if name in offers else f'without {name}'}"
                        )
                self.offers, self.away = offers, ""
                logging.getLogger("agentgauge.tools").warning("the replica %s is back", self.url)
            except (ToolFault, UsageProblem) as problem:
                self.lose(str(problem))
                for task in self._tasks:
                    task.cancel()

    def lose(self, why: str) -> None:
        if not self.away:
            logging.getLogger("agentgauge.tools").warning("the replica %s gets no calls for now: %s", self.url, why)
        self.away = why

    async def call(self, name: str, form: Callable[[], Form], seconds: float, *, raw: bool) -> CallAnswer:
        """Raises ToolFault where no answer of its tool comes."""
        url = f"{self.url}/{protocol.path_name(self.offers[name].meta)}"
        task = asyncio.create_task(self.box.exchange("POST", url, form, seconds=seconds, raw=raw))
        self._tasks.add(task)
        self.calls[name] += 1
        try:
            await asyncio.wait({task})
            if task.cancelled():  # by ``watch``
                raise ToolFault(self.away, cause="connection")
            status, _, body, kind, headers = task.result()
        finally:
            task.cancel()
            self._tasks.discard(task)
            self.calls[name] -= 1
        if status not in PASSED_ON:
            raise ToolFault(f"it answers HTTP {status}", cause=f"http {status}")
        names = json.loads(unquote(headers.get(protocol.NAMES_HEADER, "[]")))
        note = unquote(headers.get(protocol.NOTE_HEADER, ""))
        return CallAnswer(status, body, tuple(names), kind == protocol.RAW, note)

    async def _look(self) -> dict[str, Offer]:
        """What it offers. Raises ToolFault where it is not there or not ready, UsageProblem where it does not fit."""
        about = await self._get("/about", SILENT_SECONDS)
        if about.get("version") != (here := own_version()):
            there = f"has AgentGauge {about.get('version')}, and this machine {here}; install one version"
            raise UsageProblem(f"--replica {self.url} {there}")
        tools = await self._get("/tools", ANSWER_SECONDS)
        await self._get("/ready", SILENT_SECONDS)
        try:
            metas = {name: Tool.from_json(told["meta"]) for name, told in about["tools"].items()}
            return {
                name: Offer(**{**about["tools"][name], "meta": metas[name]}, identity=tools[name]) for name in metas
            }
        except (KeyError, TypeError, ValueError, AttributeError, AgentGaugeError) as error:
            why = f"tells of its tools in another form ({type(error).__name__}: {error})"
            raise UsageProblem(f"--replica {self.url} {why}; `agentgauge serve-tools` must run there") from None

    async def _get(self, path: str, seconds: float) -> dict[str, Any]:
        """Raises ToolFault where it is not there or not ready, UsageProblem for another answer than 200."""
        status, _, body, *_ = await self.box.exchange("GET", self.url + path, seconds=seconds)
        try:
            found = redacted(parse_json(body))
            told = found.get("detail") or found.get("waiting_for")
        except (ValueError, AttributeError):
            found, told = {}, "no tool server"
        if status == 503:
            raise ToolFault(f"HTTP 503 for {path}: {told}", cause="http 503")
        if status != 200:
            token = f"its token belongs before its host as :TOKEN@, or in {TOOL_TOKEN}"
            advice = token if status == 401 else f"`agentgauge serve-tools` of version {own_version()} must run there"
            raise UsageProblem(f"--replica {self.url} answers HTTP {status} for {path}: {told}; {advice}")
        return dict(found)


class ReplicaPool:
    """Sends each call to the replica that works on the fewest and has its tool. ``having``: by tool its replicas."""

    confinement = ""  # each replica tells its own

    def __init__(self, having: Mapping[str, Sequence[Replica]]) -> None:
        self._having = having
        self._replicas = list(dict.fromkeys(replica for replicas in having.values() for replica in replicas))
        self._watching: list[asyncio.Task[None]] = []
        self._closed = False

    async def run(self, call: QueuedCall, seconds: float) -> CallAnswer:
        """The answer. A call whose replica is lost goes to another one, and so does one that a replica refuses."""
        self._watching = self._watching or [asyncio.create_task(replica.watch()) for replica in self._replicas]
        meta = self._having[call.tool][0].offers[call.tool].meta
        form = partial(encode_call, meta, *await asyncio.to_thread(_content, meta, call))
        refusals: dict[Replica, CallAnswer] = {}
        lost: list[str] = []
        while len(lost) < ATTEMPTS and not self._closed:
            replica = await self._choose(call.tool, refusals)
            if replica is None:
                states = ", ".join(f"{one.url} ({one.away})" for one in self._having[call.tool])
                none = failure(503, f"no replica of {call.tool} is there; start one again: {states}")
                return next(iter(refusals.values()), none)
            try:
                answer = await replica.call(call.tool, form, LOAD_SECONDS + seconds + SEND_SECONDS, raw=call.raw)
            except ToolFault as fault:
                if fault.cause == "timeout":  # it is there, as ``watch`` knows
                    return failure(500, str(fault))
                lost.append(f"{replica.url} ({fault})")
                if not self._closed:
                    replica.lose(str(fault))
                continue
            if answer.status != 503:
                return answer
            refusals[replica] = answer  # its queue is full of other clients' calls, or it is being stopped
        return (
            failure(*STOPPED) if self._closed else failure(500, f"{call.tool} has lost its replicas: {', '.join(lost)}")
        )

    async def load(self, name: str) -> CallAnswer:
        """The replicas load their models themselves, with ``--preload`` or at the first call."""
        return CallAnswer(200, b"true")

    async def close(self) -> None:
        self._closed = True
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, *(one.box.close() for one in self._replicas), return_exceptions=True)

    async def _choose(self, tool: str, refusals: Iterable[Replica]) -> Replica | None:
        deadline = asyncio.get_running_loop().time() + WAIT_SECONDS
        while not self._closed:
            there = [one for one in self._having[tool] if not one.away and one not in refusals]
            if there:
                return min(there, key=lambda one: (one.calls[tool] >= one.offers[tool].slots, one.calls.total()))
            if refusals or asyncio.get_running_loop().time() > deadline:
                break
            await asyncio.sleep(0.1)
        return None


def _content(tool: Tool, call: QueuedCall) -> tuple[dict[str, str | bytes], dict[str, bytes]]:
    """The form of a call that has been read: fields, and the files that texts name."""
    values: dict[str, str | bytes] = {}
    for parameter in tool.inputs:
        value = call.values.get(parameter.name or "")
        if value is not None:
            values[parameter.name or ""] = Path(value).read_bytes() if parameter.type in FILE_TYPES else str(value)
    return values, {path: Path(stored).read_bytes() for path, stored in call.files.items()}


async def front(addresses: Sequence[str], names: Sequence[str] | None, access: Access) -> ToolServer:
    """A server in front of replicas, with the named tools (all by default). Raises UsageProblem where a replica is not
    ready in time, and where replicas do not fit together."""
    problem = "is not an address; give one such as http://gpu-box:16181, a password in it percent-encoded"
    replicas = [Replica(one) for one in dict.fromkeys(checked_address("--replica", one, problem) for one in addresses)]
    try:
        async with asyncio.TaskGroup() as group:
            for replica in replicas:
                group.create_task(replica.join())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    finally:
        await asyncio.gather(*(replica.box.close() for replica in replicas))
    there = dict.fromkeys(name for replica in replicas for name in replica.offers)
    if unknown := [name for name in names or () if name not in there]:
        raise UsageProblem(f"--tools: no replica has {unknown[0]!r}; they have {', '.join(there)}")
    having = {name: _having(name, replicas) for name in dict.fromkeys(names or there)}
    tools = united({name: one.offers[name].identity for name in having if one in having[name]} for one in replicas)
    for name, ours in having.items():  # results of one replica may be those of another only where both say so
        if len({one.offers[name].identity.get(REPEATABLE) for one in ours}) > 1:
            tools[name] = {key: value for key, value in tools[name].items() if key != REPEATABLE}
    metrics, pool = ToolMetrics(), ReplicaPool(having)
    for replica in replicas:
        metrics.add_replica(replica.url, partial(lambda one: not one.away, replica))
    queues = []
    for name, ours in having.items():
        offers = [one.offers[name] for one in ours]
        slots, limit = sum(offer.slots for offer in offers), sum(offer.queue for offer in offers)
        seconds = max(offer.seconds for offer in offers)
        queues.append(ToolQueue(offers[0].meta, offers[0].state, pool, slots=slots, limit=limit, seconds=seconds))
    told: Any = {"fingerprints": lambda: tools, "devices": devices_of(tools)}
    return ToolServer(queues, metrics, OwnFolder("tools").path, access=access, **told)


def _having(name: str, replicas: Sequence[Replica]) -> list[Replica]:
    """The replicas where a tool works; those that have it, where it works nowhere. Raises UsageProblem where it is not
    the same in all of them."""
    having = [replica for replica in replicas if name in replica.offers]
    first, *others = having = [one for one in having if works(one.offers[name].state)] or having
    for other in others:
        if difference := first.offers[name].difference(other.offers[name]):
            alike = "set them up alike, or let --tools of one leave it out"
            raise UsageProblem(f"--replica {first.url} and {other.url} have another {name}: {difference}; {alike}")
    return having
