"""One endpoint: requests with retries, and a message without secrets for every error."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from agentgauge.core.case import waiting_for_slot
from agentgauge.core.causes import OF_MODEL, Failure, failed_with
from agentgauge.core.chat import ChatReply
from agentgauge.core.errors import ModelFault, UsageProblem
from agentgauge.core.redaction import register
from agentgauge.core.reply_ends import FILTERED, is_filter_error
from agentgauge.core.text import parse_reply
from agentgauge.core.types import Usage
from agentgauge.model.exchange import Answer, Outgoing, Upload
from agentgauge.model.limits import AdaptiveLimiter
from agentgauge.model.outage import Outage, shows_outage
from agentgauge.model.providers import UNSUPPORTED, likely_base, names
from agentgauge.model.rates import Rates
from agentgauge.model.retry import EndpointHealth, RetryPolicy, backoff_scale, persist, retry_after_seconds
from agentgauge.model.spec import ModelSpec
from agentgauge.model.stream import streamed, wants_stream, whole
from agentgauge.model.wire import clean, error_text, excerpt, without_shapes

if TYPE_CHECKING:
    from agentgauge.model.connection import Connection

T = TypeVar("T")
Read = Callable[[object], T | Failure]
"""From a decoded JSON answer to its content."""


class Endpoint:
    """Sends requests to one endpoint, with retries. Belongs to one event loop. The first request opens the
    connection, which imports libraries and reads the key."""

    def __init__(
        self,
        spec: ModelSpec,
        limiter: AdaptiveLimiter | None,
        policy: RetryPolicy | None,
        environ: Mapping[str, str] = os.environ,
        rates: Rates | None = None,
        outage: Outage | None = None,
    ) -> None:
        assert spec.url is not None, "an embedded model has no endpoint"
        self._spec = spec
        self._limiter = limiter or AdaptiveLimiter(32, timeout=spec.timeout)
        self._policy = policy or RetryPolicy(max_retries=spec.max_retries, scale=backoff_scale(environ))
        self._rates = rates
        self._outage = outage or Outage(spec, scale=backoff_scale(environ))
        self._health = EndpointHealth()
        self._environ = environ
        self._connection: Connection | None = None
        self._streams = spec.quirks.stream

    async def post(
        self,
        path: str,
        body: Mapping[str, Any] | bytes,
        read: Read[T],
        *,
        file: Upload | None = None,
        policy: RetryPolicy | None = None,
        sending: AbstractContextManager[None] = contextlib.nullcontext(),  # noqa: B008 - holds nothing
    ) -> T | Failure:
        """Send, with retries: ``body`` as JSON (bytes: it is JSON already), or as the form around a file. The last
        Failure is returned. ``policy``: another one than the endpoint's. ``sending`` is entered while an attempt is on
        its way.

        Raises UsageProblem for an unusable key, proxy or certificate file, and for a body that JSON cannot carry.
        """
        if file is None or isinstance(body, bytes):
            content = body if isinstance(body, bytes) else self.encoded(body)
            request = Outgoing("POST", path, content, sending=sending)
        else:
            request = Outgoing("POST", path, fields=body, file=file)
        return await self._persist(request, lambda answer: self._read(answer, read), policy)

    async def get(self, path: str, read: Read[T]) -> T | Failure:
        """Fetch a JSON value, which may be as long as a file, with retries. Raises as ``post``."""
        return await self._persist(Outgoing("GET", path), lambda answer: self._read(answer, read))

    async def download(self, path: str) -> bytes | Failure:
        """Fetch a file, with retries. Raises as ``post``."""
        return await self._persist(Outgoing("GET", path), lambda answer: answer.content)

    def fault(self, failure: Failure, paid: Usage = Usage()) -> ModelFault:  # noqa: B008 - frozen
        """``paid``: the usage of failed attempts."""
        tries = "" if failure.tries == 1 else f", after {failure.tries} tries"
        message = f"{OF_MODEL}{self._spec.name}: {failure.message}{tries}"
        return ModelFault(message, cause=failure.cause, usage=paid)

    async def delete(self, paths: Sequence[str], *, seconds: float) -> None:
        """Delete these within ``seconds``, with one attempt each. Failures are ignored."""
        connection = self._connection
        if connection is None or not paths:
            return
        slots = asyncio.Semaphore(8)

        async def one(path: str) -> None:
            async with slots:
                await connection.send(Outgoing("DELETE", path), seconds)

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(one(path) for path in paths))

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    def encoded(self, body: Mapping[str, Any]) -> bytes:
        """The JSON of a body, once for all tries. Lone surrogates, which no JSON in UTF-8 can carry, become question
        marks. Raises UsageProblem."""
        try:
            text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except (TypeError, ValueError) as error:
            raise UsageProblem(
                f"a request to model {self._spec.name} cannot be written as JSON ({error}); look at its extra_body in"
                " agentgauge.toml"
            ) from None
        return text.encode("utf-8", "replace")

    async def _persist(
        self, request: Outgoing, read: Callable[[Answer], T | Failure], policy: RetryPolicy | None = None
    ) -> T | Failure:
        attempt = partial(self._patiently, request, read)
        return await persist(attempt, policy or self._policy, self._health, self._limiter.resting)

    async def _patiently(self, request: Outgoing, read: Callable[[Answer], T | Failure]) -> T | Failure:
        """One attempt, which waits while the endpoint is away. Probes of an endpoint that is away do not count."""
        while True:
            turn = await self._outage.turn()
            if isinstance(turn, Failure):
                self._health.dead = True
                return turn
            outcome = await self._limited(request, read, probes=turn)
            if outcome is not None:
                return outcome

    async def _limited(
        self, request: Outgoing, read: Callable[[Answer], T | Failure], *, probes: bool
    ) -> T | Failure | None:
        """One attempt, in a slot. None: it does not count. It has probed an endpoint that is still away, or it was not
        sent, because an outage began while it waited for the slot."""
        rates = self._rates if request.file is None else None
        async with self._limiter.slot() as ticket:
            if self._outage.is_on and not probes:
                return None
            with waiting_for_slot():
                assumed = await rates.wait(unless=lambda: self._outage.is_on and not probes) if rates else 0.0
            if assumed is None:
                return None
            ticket.sent = asyncio.get_running_loop().time()
            answers = self._health.answers
            with self._outage.probe() if probes else contextlib.nullcontext():
                outcome = await self._attempt(request, read)
            if isinstance(outcome, Failure) and shows_outage(outcome):
                if self._health.answers != answers:
                    return outcome
                seconds = asyncio.get_running_loop().time() - ticket.sent
                if not self._outage.noticed(outcome, probes=probes, seconds=seconds):
                    return outcome
                return None if probes else replace(outcome, by_others=True)
            if not (isinstance(outcome, Failure) and outcome.unanswered):
                self._outage.answered()
            if not isinstance(outcome, Failure):
                self._limiter.answered(ticket)
                if rates and isinstance(outcome, ChatReply):
                    rates.used(assumed, outcome.usage.prompt_tokens + outcome.usage.completion_tokens)
            elif outcome.limited:
                self._limiter.refused(ticket)
            elif outcome.cause == "timeout":
                self._limiter.timed_out(ticket)
                if self._health.answers != answers:
                    return replace(outcome, by_others=True)
                self._health.unanswered(ticket.sent, asyncio.get_running_loop().time(), self._spec.timeout)
                if self._health.dead:
                    self._limiter.open()
            return outcome

    async def _attempt(self, request: Outgoing, read: Callable[[Answer], T | Failure]) -> T | Failure:
        """One attempt. What goes wrong on the way comes back as a Failure."""
        if self._connection is None:
            self._connection = open_connection(self._spec, self._environ)
        seconds = self._health.patience(self._spec.timeout)
        answer = await self._send(self._connection, streamed(request) if self._streams else request, seconds)
        if isinstance(answer, Answer) and not self._streams and wants_stream(answer, request):
            second = await self._send(self._connection, streamed(request), seconds)
            if isinstance(second, Answer) and 200 <= second.status < 300:
                self._streams, answer = True, second
        if isinstance(answer, Failure):
            return answer
        if 200 <= answer.status < 300:
            return read(answer)
        failure = self.read_error(answer, request.path)
        if failure.cause == FILTERED and b'"choices"' in answer.content:
            # Microsoft Foundry sends the reply that its filter has ended, with its usage, under status 400
            reply = read(answer)
            return failure if isinstance(reply, Failure) else reply
        return failure

    async def _send(self, connection: Connection, request: Outgoing, seconds: float) -> Answer | Failure:
        """The answer, in one piece even if it came as a stream."""
        with request.sending:
            answer = await connection.send(request, seconds)
        return answer if isinstance(answer, Failure) else whole(answer)

    def _read(self, answer: Answer, read: Read[T]) -> T | Failure:
        try:
            data = parse_reply(answer.content)
        except (json.JSONDecodeError, UnicodeDecodeError):
            text = repr(excerpt(answer.text()))
            kind = excerpt(answer.headers.get("content-type", "").split(";")[0]).lower() or "no content type"
            if kind.endswith("json"):
                return _failure("invalid json", f"the endpoint's answer is not valid JSON: {text}")
            message = f"the endpoint answered with {kind} instead of JSON: {text}{_base_advice(self._spec)}"
            return _failure(f"not json ({kind})", message)
        outcome = read(data)
        if isinstance(outcome, Failure):
            signs = ("holds no choices", "instead of a chat completion", "/chat/completions")
            is_lost = any(sign in outcome.message for sign in signs)
            hint = _base_advice(self._spec) if is_lost else ""
            return replace(outcome, message=without_shapes(clean(outcome.message + hint)))
        return outcome

    def read_error(self, answer: Answer, path: str) -> Failure:
        """The Failure in an answer with an error status."""
        status = answer.status
        try:
            data = parse_reply(answer.content)
        except ValueError:
            data = answer.text()
        if isinstance(data, list) and len(data) == 1:
            data = data[0]  # Google's
        error = data.get("error") if isinstance(data, Mapping) else None
        code = error.get("code") if isinstance(error, Mapping) else None
        if is_filter_error(status, data):
            return replace(_failure(FILTERED, error_text(data)), final=True)
        reason = error_text(data) or answer.reason
        message = f"the endpoint answered HTTP {status}: {reason}{_advice(status, path, reason, self._spec)}"
        failure = failed_with(status, without_shapes(clean(message)), answer=answer.text())
        if code == "insufficient_quota":  # OpenAI says 429 for an empty account too, which no patience fills
            return replace(failure, final=True, limited=False)
        wait = retry_after_seconds(answer.headers, time.time()) if status in (429, 503, 529) else None
        return replace(failure, retry_after=wait)


def _failure(cause: str, message: str) -> Failure:
    return Failure(cause, without_shapes(clean(message)))


def open_connection(spec: ModelSpec, environ: Mapping[str, str]) -> Connection:
    """Call it inside the event loop. Raises UsageProblem for an unusable key, proxy or certificate file."""
    key = read_key(spec, environ)
    from agentgauge.model.connection import Connection

    return Connection(spec, key)


def read_key(spec: ModelSpec, environ: Mapping[str, str] = os.environ) -> str | None:
    """The key's value, registered as a secret. Raises UsageProblem when a required one is missing or cannot be a
    key."""
    key = environ.get(spec.key_env, "").strip() if spec.key_env else ""
    if not key:
        if spec.key_required:
            raise UsageProblem(f"model {spec.name} needs a key: set the environment variable {spec.key_env}")
        return None
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageProblem(
            f"the value of {spec.key_env} cannot be a key: it holds blanks, line breaks or other characters that a"
            " header cannot carry"
        )
    register(key)
    return key


def file_path(identity: str) -> str:
    """Where an uploaded file is, below the base address."""
    return f"/files/{quote(identity, safe='')}"


def _base_advice(spec: ModelSpec) -> str:
    likely = "" if spec.kind == "azure" else likely_base(spec.url or "")
    return likely and f" (is {likely} the base address?)"


def _advice(status: int, path: str, reason: str, spec: ModelSpec) -> str:
    if status in (400, 422) and spec.quirks.temperature and UNSUPPORTED.search(reason) and names(reason, "temperature"):
        return " (to send none, set quirks.temperature = false in its [models.NAME] table of agentgauge.toml)"
    if status in (401, 403) and spec.key_env:
        return f" (check the key in {spec.key_env})"
    if status in (401, 403):
        return " (no key was sent; name its variable with key_env, or set AGENTGAUGE_API_KEY)"
    if status == 404 and "batches" in path:
        return f" (does {spec.url} serve {path.partition('?')[0]}? if not, run without --batch)"
    if status in (404, 405) and (advice := _base_advice(spec)):
        return advice
    if status == 404 and path != "/chat/completions":
        return f' (does {spec.url} serve {path}? if not, set api = "chat" for this model in agentgauge.toml)'
    if status == 404:
        return f" (is {spec.model!r} a model of this endpoint, and {spec.url} its base address?)"
    return ""
