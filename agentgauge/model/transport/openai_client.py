"""The transport through the ``openai`` package, on its aiohttp client. Imports the package: 0.5 s and 40 MB."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import httpx2
import openai

from agentgauge.model.spec import ModelSpec
from agentgauge.model.transport.addressing import custom_headers, own_tls_context, proxy_for
from agentgauge.model.transport.base import MAX_ANSWER, MAX_STREAM, Answer, Outgoing, TransportError, is_event_stream
from agentgauge.model.transport.transport_errors import AnswerTooLong, transport_error
from agentgauge.model.wire import excerpt


class OpenAITransport:
    """One client of the package, without its retries."""

    def __init__(self, spec: ModelSpec, key: str | None, environ: Mapping[str, str]) -> None:
        self._auth: dict[str, Any] = {}
        headers: dict[str, Any] = dict(spec.headers)
        url = spec.url or ""
        own_host = urlsplit(url).hostname == "api.openai.com"
        if not own_host:
            # The package adds what this variable says to every request, wherever it goes.
            headers = {**{name: openai.Omit() for name in custom_headers(environ)}, **headers}
        proxy = proxy_for(url)
        http = openai.DefaultAioHttpClient(
            trust_env=False,  # proxies and certificates are looked up by the rules of both transports
            proxy=httpx2.Proxy(proxy.url, auth=proxy.login) if proxy else None,
            verify=own_tls_context(environ) or True,
            event_hooks={"response": [_bound]},
        )
        common: dict[str, Any] = {"max_retries": 0, "timeout": spec.timeout, "http_client": http}
        self._client: openai.AsyncOpenAI
        if spec.kind == "azure":
            self._client = openai.AsyncAzureOpenAI(
                azure_endpoint=url,
                azure_deployment=spec.deployment,
                api_version=spec.api_version,
                api_key=key,
                default_headers=headers,
                **common,
            )
        else:
            if not own_host:
                # Said per request, because the package takes no other word for "no key"; and it wins over an ambient
                # one.
                self._auth = {"Authorization": f"Bearer {key}" if key else openai.Omit()}
            self._client = openai.AsyncOpenAI(base_url=url, api_key=key or "none", default_headers=headers, **common)
        if not own_host:
            self._client.organization = self._client.project = None

    async def send(self, request: Outgoing) -> Answer | TransportError:
        # The raw answer: building the package's typed objects costs more than the rest of the request.
        options: dict[str, Any] = {
            "cast_to": httpx2.Response,
            "options": {"headers": {**request.headers, **self._auth}},
        }
        try:
            if request.method != "POST":
                send = self._client.get if request.method == "GET" else self._client.delete
                answer = await send(request.path, **options)
            elif request.file is None:
                answer = await self._client.post(request.path, content=request.content, **options)
            else:
                options["options"]["headers"]["Content-Type"] = "multipart/form-data"
                answer = await self._client.post(
                    request.path, body=request.fields, files=[("file", request.file)], **options
                )
        except openai.APIStatusError as error:
            answer = error.response
        except (openai.APIConnectionError, aiohttp.ClientError, AnswerTooLong) as error:
            if isinstance(error.__cause__, httpx2.TooManyRedirects | httpx2.UnsupportedProtocol):
                return TransportError("redirects", excerpt(str(error.__cause__)))
            return transport_error(error)
        return Answer(answer.status_code, answer.reason_phrase, answer.headers, answer.content)

    async def close(self) -> None:
        await self._client.close()


async def _bound(answer: httpx2.Response) -> None:
    answer.stream = _Bounded(answer.stream, MAX_STREAM if is_event_stream(answer.headers) else MAX_ANSWER)


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends with AnswerTooLong where it is too long. Packed bytes are counted here."""

    def __init__(self, stream: Any, largest: int) -> None:
        self._stream = stream
        self._largest = largest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > self._largest:
                raise AnswerTooLong
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
