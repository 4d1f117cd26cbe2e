"""One endpoint, reached through the ``openai`` package: requests with retries, and every mishap put into words without secrets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlsplit

from harness.errors import ModelFault, UsageProblem
from harness.model.limits import AdaptiveLimiter
from harness.model.retry import EndpointHealth, Failure, RetryPolicy, backoff_scale, failure_kind, persist, retry_after_seconds
from harness.model.spec import ModelSpec
from harness.model.wire import error_text, excerpt, redact

if TYPE_CHECKING:
    import httpx2
    import openai

T = TypeVar("T")
Read = Callable[[object], T | Failure]
"""A decoded JSON answer to what it says."""
Upload = tuple[str, bytes, str]
"""A file to send: name, content, media type."""

FILTERED = "content filter"
"""The cause of a Failure that is a filter's answer in the model's place; its message is what the filter said."""


class Endpoint:
    """Belongs to one event loop. The client is made with the first request: that is when ``openai`` is imported (0.6 s)
    and when the key is read."""

    def __init__(
        self, spec: ModelSpec, limiter: AdaptiveLimiter | None, policy: RetryPolicy | None, environ: Mapping[str, str] = os.environ
    ) -> None:
        if spec.url is None:
            raise UsageProblem(f"the model {spec.name} has no address yet; it has to be served first")
        self._spec = spec
        self._limiter = limiter or AdaptiveLimiter(32)
        self._policy = policy or RetryPolicy(max_retries=spec.max_retries, scale=backoff_scale(environ))
        self._health = EndpointHealth()
        self._environ = environ
        self._key: str | None = None
        self._auth: dict[str, Any] = {}
        self._client: openai.AsyncOpenAI | None = None
        self._answer_type: type[httpx2.Response] | None = None

    async def post(
        self, path: str, body: Mapping[str, Any], read: Read[T], *, headers: Mapping[str, str] | None = None, file: Upload | None = None
    ) -> T | Failure:
        """Send, with retries: ``body`` as JSON, or as the form around a file. The last Failure is returned.

        Raises UsageProblem for an unusable key.
        """
        options: dict[str, Any] = {"headers": dict(headers or {})}
        if file is not None:
            options["headers"]["Content-Type"] = "multipart/form-data"
        return await persist(lambda: self._limited(path, body, read, options, file), self._policy, self._health)

    def fault(self, failure: Failure) -> ModelFault:
        """A Failure as what a case breaks of."""
        tries = "" if failure.tries == 1 else f", after {failure.tries} tries"
        return ModelFault(f"model {self._spec.name}: {failure.message}{tries}", cause=failure.cause)

    async def delete(self, paths: Sequence[str], *, seconds: float) -> None:
        """Delete as many of these as can be deleted within ``seconds``, one try each; the rest stays, and nothing is raised."""
        client = self._client
        if client is None or not paths:
            return
        places = asyncio.Semaphore(8)

        async def one(path: str) -> None:
            import aiohttp
            import openai

            assert self._answer_type is not None
            async with places:
                # What is left over does no harm to the run, which has ended.
                with contextlib.suppress(openai.OpenAIError, aiohttp.ClientError):
                    await client.delete(path, cast_to=self._answer_type, options={"headers": self._auth})

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(one(path) for path in paths))

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _limited(
        self, path: str, body: Mapping[str, Any], read: Read[T], options: Mapping[str, Any], file: Upload | None
    ) -> T | Failure:
        async with self._limiter.slot() as ticket:
            outcome = await self._attempt(path, body, read, options, file)
            if not isinstance(outcome, Failure):
                self._limiter.succeeded()
            elif outcome.kind == "limit":
                self._limiter.throttled(ticket)
            return outcome

    async def _attempt(
        self, path: str, body: Mapping[str, Any], read: Read[T], options: Mapping[str, Any], file: Upload | None
    ) -> T | Failure:
        """One try. What goes wrong on the way comes back as a Failure."""
        import aiohttp
        import openai

        client = self._client or self._make_client()
        assert self._answer_type is not None
        try:
            # The client's own time-out counts from one chunk to the next; an endpoint that trickles would never end.
            async with asyncio.timeout(self._spec.timeout):
                # The raw answer: building the package's typed objects costs more than the rest of the request.
                answer = await client.post(
                    path,
                    body=body,
                    cast_to=self._answer_type,
                    files=None if file is None else [("file", file)],
                    options={"headers": {**options["headers"], **self._auth}},
                )
        except openai.APIStatusError as error:
            return self._read_error(error.response, path)
        except TimeoutError:
            return self._timeout()
        except (openai.APIConnectionError, aiohttp.ClientError) as error:
            return self._lost(error)
        return self._read(answer, read)

    def _read(self, answer: httpx2.Response, read: Read[T]) -> T | Failure:
        kind = _content_type(answer.headers)
        try:
            data = json.loads(answer.content)
        except ValueError:
            if kind.endswith("json"):
                return self._failure("invalid json", f"the endpoint's answer is no valid JSON: {excerpt(answer.text)!r}")
            return self._failure(f"not json ({kind})", f"the endpoint answered with {kind} instead of JSON: {excerpt(answer.text)!r}")
        except RecursionError:
            return self._failure("invalid json", "the endpoint's answer is JSON nested too deep")
        outcome = read(data)
        if isinstance(outcome, Failure):
            return self._failure(outcome.cause, outcome.message, outcome)
        return outcome

    def _read_error(self, answer: httpx2.Response, path: str) -> Failure:
        """An answer with an error status."""
        status = answer.status_code
        try:
            data = json.loads(answer.content)
        except (ValueError, RecursionError):
            data = answer.text
        error = data.get("error") if isinstance(data, Mapping) else None
        code = error.get("code") if isinstance(error, Mapping) else None
        if status == 400 and code == "content_filter":
            # Azure's filter answers in the model's place. It would do so at every resume: a refusal, not a fault.
            return self._failure(FILTERED, error_text(data), Failure("", "", "final"))
        kind = failure_kind(status)
        if code == "insufficient_quota":
            kind = "final"  # OpenAI says 429 for an empty account too, which no patience fills
        message = f"the endpoint answered HTTP {status}: {error_text(data) or answer.reason_phrase}{_advice(status, path, self._spec)}"
        wait = retry_after_seconds(answer.headers, time.time()) if status in (429, 503, 529) else None
        return self._failure(f"http {status}", message, Failure("", "", kind, wait))

    def _lost(self, error: BaseException) -> Failure:
        """No whole answer came. What happened is at the root of the exception chain, below two layers that rename it."""
        import aiohttp

        root: BaseException = error
        while root.__cause__ is not None and not isinstance(root, aiohttp.ClientError):
            root = root.__cause__
        if isinstance(root, TimeoutError):
            return self._timeout()
        if isinstance(root, aiohttp.ClientPayloadError):
            return self._failure("truncated body", "the endpoint closed the connection in the middle of its answer")
        detail = excerpt(str(root)) or type(root).__name__
        if isinstance(root, aiohttp.ClientResponseError):
            return self._failure("not http", f"the answer from {self._place} is not HTTP: {detail}")
        if not isinstance(root, aiohttp.ClientConnectionError | OSError):
            return self._failure("garbled body", f"the endpoint's answer cannot be decoded: {detail}")
        return self._failure("connection", f"no connection to {self._place}: {detail}", Failure("", "", "unreachable"))

    def _timeout(self) -> Failure:
        return self._failure("timeout", f"no answer from {self._place} within {self._spec.timeout:g} s", Failure("", "", "unreachable"))

    def _failure(self, cause: str, message: str, like: Failure | None = None) -> Failure:
        kind, wait = (like.kind, like.retry_after) if like else ("again", None)
        return Failure(cause, redact(message, self._key), kind, wait)

    @property
    def _place(self) -> str:
        return urlsplit(self._spec.url or "").netloc

    def _make_client(self) -> openai.AsyncOpenAI:
        import httpx2
        import openai

        spec = self._spec
        self._key = read_key(spec, self._environ)
        # Loopback needs no proxy, and a proxy set for the outside would not find it.
        http = openai.DefaultAioHttpClient(trust_env=not _loopback(spec.url or ""))
        headers: dict[str, Any] = dict(spec.headers)
        common: dict[str, Any] = {"max_retries": 0, "timeout": spec.timeout, "http_client": http}
        if spec.kind == "azure":
            self._client = openai.AsyncAzureOpenAI(
                azure_endpoint=spec.url or "",
                azure_deployment=spec.deployment,
                api_version=spec.api_version,
                api_key=self._key,
                default_headers=headers,
                **common,
            )
        else:
            if urlsplit(spec.url or "").hostname != "api.openai.com":
                # The package adds what these variables say to every request, wherever it goes.
                lines = self._environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
                ambient = {line.partition(":")[0].strip(): openai.Omit() for line in lines if ":" in line}
                headers = {**ambient, **headers}
                # Said per request, because the package takes no other word for "no key"; and it wins over an ambient one.
                self._auth = {"Authorization": f"Bearer {self._key}" if self._key else openai.Omit()}
            self._client = openai.AsyncOpenAI(base_url=spec.url, api_key=self._key or "none", default_headers=headers, **common)
        if urlsplit(spec.url or "").hostname != "api.openai.com":
            self._client.organization = self._client.project = None
        self._answer_type = httpx2.Response
        return self._client


def read_key(spec: ModelSpec, environ: Mapping[str, str] = os.environ) -> str | None:
    """The key's value. Raises UsageProblem when a required one is missing or cannot be a key."""
    key = environ.get(spec.key_env, "").strip() if spec.key_env else ""
    if not key:
        if spec.key_required:
            raise UsageProblem(f"model {spec.name} needs a key: set the environment variable {spec.key_env}")
        return None
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageProblem(
            f"the value of {spec.key_env} cannot be a key: it holds blanks, line breaks or other characters that a header cannot carry"
        )
    return key


def file_path(identity: str) -> str:
    """Where an uploaded file is, below the base address."""
    return f"/files/{quote(identity, safe='')}"


def _content_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").split(";")[0].strip().lower() or "no content type"


def _loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _advice(status: int, path: str, spec: ModelSpec) -> str:
    if status in (401, 403):
        return (
            f" (check the key in {spec.key_env})"
            if spec.key_env
            else " (no key was sent; name its variable with key_env, or set AGENTGAUGE_API_KEY)"
        )
    if status == 404 and path != "/chat/completions":
        return f' (does {spec.url} serve {path}? if not, set api = "chat" for this model in agentgauge.toml)'
    if status == 404:
        return f" (is {spec.model!r} a model of this endpoint, and {spec.url} its base address?)"
    return ""
