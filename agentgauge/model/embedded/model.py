"""The embedded models as a ChatModel: they answer in this process, without an endpoint.

A request and its reply take the forms in which endpoints get and give them. Equal requests get equal replies: ids are
digests, token counts are computed from the text, and there is no clock.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from agentgauge.core.causes import OF_MODEL, Failure
from agentgauge.core.chat import CaseKey, ChatReply, ChatRequest, LocalFile
from agentgauge.core.errors import AgentGaugeError, Fault, ModelFault
from agentgauge.core.registry import Registry
from agentgauge.core.tracebacks import place_of
from agentgauge.model import wire
from agentgauge.model.embedded.baseline import baseline_reply
from agentgauge.model.embedded.oracle import Oracle
from agentgauge.model.embedded.scripted import ReplyScript
from agentgauge.model.files.references import holds_files, with_files
from agentgauge.model.open_requests import UNSENT, OpenRequests
from agentgauge.model.spec import ModelSpec

LARGE = 32_000
"""Bytes of a request that ``baseline`` answers in a thread: it takes a few tenths of a second for 400 kB, and others go
on."""

_FOLDERS = re.compile(r"(?:/[^\s/`'\"\\]+)+/")


class EmbeddedModel:
    """``oracle``, ``baseline`` or ``scripted:FILE``. Belongs to one event loop."""

    def __init__(
        self,
        spec: ModelSpec,
        *,
        tasks: Registry,
        data: Mapping[str, Path] = {},
        dialect: str = "native",
        on_reply: Callable[[CaseKey], None] | None = None,
        requests: OpenRequests | None = None,
    ) -> None:
        """For ``oracle``, ``tasks``: whose cases it answers; ``data``: data set → folder, of others the bundled set;
        ``dialect``: in which it answers. ``on_reply`` is called when a request of a case has been answered.
        ``requests``: those of the worker.

        Raises UsageProblem for a damaged script, and for an unknown dialect."""
        self.name = spec.name
        self.fingerprint = spec.endpoint_fingerprint
        self.reported = spec.reported
        self.tokens = 0
        """Completion tokens of all replies so far."""
        self._spec = spec
        self._answer = _answering(spec, tasks, data, dialect)
        self._on_reply = on_reply
        self._requests = requests or OpenRequests()

    def __repr__(self) -> str:
        return f"EmbeddedModel({self.name!r})"

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer. Raises ModelFault where the model knows no answer, or a benchmark's ``oracle`` has failed."""
        if self._requests.is_stopped:
            raise self._fault(UNSENT)
        shown = await with_files(request.messages, _name_only) if holds_files(request.messages) else request.messages
        body = wire.request_body(self._spec, replace(request, messages=shown))
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        sent = text.encode("utf-8", "replace")  # half a character cannot be sent
        answer = partial(self._outcome, sent, request.case)
        await asyncio.sleep(0)  # no other case waits longer than for one answer
        in_thread = self._spec.kind == "baseline" and len(sent) > LARGE
        outcome = await asyncio.to_thread(answer) if in_thread else answer()
        reply = outcome if isinstance(outcome, BaseException) else wire.read_reply(outcome, self._spec, request.stop)
        if isinstance(reply, Failure):
            raise self._fault(reply)
        if isinstance(reply, BaseException):
            raise self._fault(_failure(reply)) from reply
        self.tokens += reply.usage.completion_tokens
        if self._on_reply and request.case:
            self._on_reply(request.case)
        return replace(reply, max_tokens=wire.sent_limit(body))

    async def close(self) -> None:
        """There is nothing to close."""

    def _outcome(self, sent: bytes, case: CaseKey | None) -> dict[str, Any] | BaseException:
        """The chat completion for a request's body, or why there is none."""
        body = json.loads(sent)  # its own copy: the caller's messages stay as they are
        tools = tuple(body.get("tools") or ())
        request = ChatRequest(messages=tuple(body["messages"]), tools=tools, seed=body.get("seed"), case=case)
        try:
            reply = self._answer(request)
        except BaseException as error:  # of a benchmark's oracle: its sys.exit, too, must end this case alone
            return error
        identity = hashlib.sha256((case.path if case else "").encode() + b"\0" + sent).hexdigest()
        return completion(self._spec.kind, request, reply, identity[:12])

    def _fault(self, failure: Failure) -> ModelFault:
        return ModelFault(f"{OF_MODEL}{self.name}: {failure.message}", cause=failure.cause)


def _answering(
    spec: ModelSpec, tasks: Registry, data: Mapping[str, Path], dialect: str
) -> Callable[[ChatRequest], ChatReply]:
    if spec.kind == "baseline":
        return baseline_reply
    if spec.kind == "oracle":
        return Oracle(tasks, data, dialect).answer
    assert spec.script is not None, "the kinds are EMBEDDED_KINDS"
    return ReplyScript.load(spec.script).answer


def _failure(error: BaseException) -> Failure:
    if isinstance(error, Fault):
        return Failure(error.cause, str(error), final=True)
    if isinstance(error, AgentGaugeError):
        return Failure("no reply", str(error), final=True)
    text = wire.excerpt(f"internal error at {place_of(error)}: {type(error).__name__}: {error}")
    return Failure("internal error", text, final=True)


async def _name_only(part: LocalFile, content: bytes) -> list[dict[str, Any]]:
    """Embedded models read no files."""
    return [{"type": "text", "text": f"[{part['kind']}: {wire.clean(part['name'])}]"}]


def count_tokens(text: str) -> int:
    """A quarter of the characters, rounded up. Of a path only the name counts, so that a count does not depend on where
    a run or a data set lies."""
    return -(-len(_FOLDERS.sub("/", text)) // 4)


def completion(model: str, request: ChatRequest, reply: ChatReply, identity: str) -> dict[str, Any]:
    """The reply in the form in which endpoints give it."""
    ids = (call.id or f"call_{identity}_{number}" for number, call in enumerate(reply.tool_calls))
    calls = tuple(replace(call, id=id) for call, id in zip(reply.tool_calls, ids, strict=True))
    message = {"role": "assistant", **(reply.received or replace(reply, tool_calls=calls).message)}
    if reply.refusal is not None:
        message["refusal"] = reply.refusal
    prompt = count_tokens(json.dumps([request.messages, request.tools], ensure_ascii=False))
    written = count_tokens(reply.text + "".join(call.name + call.arguments for call in reply.tool_calls))
    finish = "tool_calls" if reply.tool_calls and reply.finish_reason == "stop" else reply.finish_reason
    return {
        "model": model,
        "choices": [{"message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written},
    }
