"""The connection to an endpoint: the ``openai`` package's client on its aiohttp transport. Imports the package, which
takes half a second and 40 MB, so that only the first request to a real endpoint imports this module."""

from __future__ import annotations

import ast
import asyncio
import errno
import ipaddress
import os
import re
import select
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from functools import cache, partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakSet

import aiohttp
import httpx2
import openai
from openai._vendor.httpx_aiohttp import AiohttpTransport

from agentgauge.core.causes import Failure
from agentgauge.core.errors import UsageProblem
from agentgauge.core.redaction import register_login
from agentgauge.model.exchange import Answer, Outgoing, is_event_stream, lost
from agentgauge.model.providers import custom_headers
from agentgauge.model.spec import ModelKind, ModelSpec
from agentgauge.model.wire import excerpt

if TYPE_CHECKING:
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.client_reqrep import ClientRequest
    from aiohttp.connector import Connection as Kept
    from aiohttp.tracing import Trace

MAX_ANSWER = 32 << 20
"""Bytes of one answer, unpacked. Far more than any reply, and little enough for many at once."""
MAX_STREAM = 256 << 20
"""Bytes of an answer that comes as a stream of events: some 250 for each token."""
MAX_DOWNLOAD = 512 << 20
"""Bytes of what is fetched: files of results, one at a time."""

_IDLE = 4.0
"""Seconds that a connection is kept for a next request. Common model servers close it after 5."""
_LARGE = 1 << 20
"""Bytes of a body that aiohttp sends as one piece. It warns of a larger one, because that blocks the event loop."""
_KEYS: Mapping[ModelKind, tuple[str, str]] = {"azure": ("api-key", "%s"), "anthropic": ("x-api-key", "%s")}
"""The header that holds the key, where that is not ``Authorization``."""
_PLAIN = frozenset(("accept", "accept-encoding", "connection", "content-length", "content-type", "host", "user-agent"))
"""The headers that follow a redirect to another place. All others may hold a secret."""


class Connection:
    """Sends single attempts of requests to one endpoint, over as many connections as there are concurrent requests.
    Belongs to one event loop."""

    def __init__(self, spec: ModelSpec, key: str | None) -> None:
        """Raises UsageProblem where the environment names an unusable proxy or certificate file."""
        url = spec.url or ""
        self._place = urlsplit(url).netloc
        self._home = httpx2.URL(url)
        self._login, proxy = proxy_for(url)
        try:
            trusted = _certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        except OSError as error:
            raise _unusable_certificates(error) from None
        http = openai.DefaultAioHttpClient(
            verify=trusted,
            transport=AiohttpTransport(verify=trusted, proxy=proxy, client=partial(_session, trusted)),
            trust_env=False,  # what is set there was looked up: it may be for other addresses, or unusable
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            event_hooks={"request": [self._keep_secrets], "response": [_bound]},
        )
        # Whatever is not given here, the package takes from its variables, which are about OpenAI.
        settings: dict[str, Any] = {
            "api_key": key or "none",
            "admin_api_key": "",
            "webhook_secret": "",
            "max_retries": 0,
            "timeout": None,
            "http_client": http,
        }
        self._client: openai.AsyncOpenAI
        if spec.kind == "azure":
            name = quote(spec.deployment or "", safe="")
            self._client = openai.AsyncAzureOpenAI(
                azure_endpoint=url, azure_deployment=name, api_version=spec.api_version, **settings
            )
        else:
            self._client = openai.AsyncOpenAI(base_url=url, **settings)
        self._headers: dict[str, Any] = dict(spec.headers)
        if self._home.host != "api.openai.com":
            self._client.organization = self._client.project = None
            self._headers = {**_headers(spec, key), **spec.headers}

    async def send(self, request: Outgoing, seconds: float) -> Answer | Failure:
        """One attempt, redirects followed, within ``seconds``. A cancelled attempt closes its connection."""
        try:
            # For the whole answer: an endpoint that trickles would never end.
            async with asyncio.timeout(seconds):
                answer = await self._send(request)
        except TimeoutError:
            return lost("timeout", f"{seconds:g} s, the `timeout` of its [models.NAME] table", self._place)
        except openai.APIStatusError as error:
            answer = error.response
        except (openai.APIConnectionError, aiohttp.ClientError, _AnswerTooLong, OSError) as error:
            return _failure(error, self._place)
        except ValueError as error:  # of the place of a redirect
            return lost("redirects", excerpt(str(error)), self._place)
        return Answer(answer.status_code, answer.reason_phrase, answer.headers, answer.content)

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()

    async def _send(self, request: Outgoing) -> httpx2.Response:
        headers = dict(self._headers)
        if request.content:
            headers["Content-Type"] = "application/json"
        # The raw answer: building the package's typed objects costs more than the rest of the request.
        send = partial(getattr(self._client, request.method.lower()), request.path, cast_to=httpx2.Response)
        sent: dict[str, Any] = {}
        if request.file is not None:
            headers["Content-Type"] = "multipart/form-data"
            sent = {"body": request.fields, "files": [("file", request.file)]}
        elif len(request.content) > _LARGE:
            headers["Content-Length"] = str(len(request.content))
            sent = {"content": _Pieces(request.content)}
        elif request.content:
            sent = {"content": request.content}
        answer: httpx2.Response = await send(options={"headers": headers}, **sent)
        return answer

    async def _keep_secrets(self, request: httpx2.Request) -> None:
        """Before a request or a redirect is sent: no secret goes to another place than the endpoint, and the login of a
        proxy to nothing but the proxy. aiohttp gives it to tunnels only."""
        url, home = request.url, self._home
        if url.scheme == home.scheme and url.netloc == home.netloc and not self._login:
            return  # nearly all requests go there
        upgraded = url.scheme == "https" and url.port is None and home.port is None
        if url.netloc != home.netloc or not (url.scheme == home.scheme or upgraded):
            for name in set(request.headers) - _PLAIN:
                del request.headers[name]
        request.headers.pop("Proxy-Authorization", None)
        if self._login and url.scheme == "http":
            request.headers["Proxy-Authorization"] = self._login


def _headers(spec: ModelSpec, key: str | None) -> dict[str, Any]:
    """What requests to another address than OpenAI's have besides a table's headers. An ``Omit`` takes the place of
    what the package would add by itself."""
    headers: dict[str, Any] = dict.fromkeys(custom_headers(os.environ), openai.Omit())
    headers |= {"Accept": "application/json", "Authorization": openai.Omit(), "api-key": openai.Omit()}
    if spec.kind == "anthropic":
        headers["anthropic-version"] = "2023-06-01"  # of its own interface, the only one so far
    if key:
        name, form = _KEYS.get(spec.kind, ("Authorization", "Bearer %s"))
        headers[name] = form % key
    return headers


def proxy_for(url: str) -> tuple[str, httpx2.Proxy | None]:
    """The proxy that the environment names for an address (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY), if any, and
    the header with its login.

    Loopback needs none, and a proxy set for the outside would not find it. Raises UsageProblem for one that is no HTTP
    proxy.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    proxies = getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named or _is_loopback(host) or proxy_bypass(host):
        return "", None
    try:
        named = named if "://" in named else f"http://{named}"
        register_login(named)
        proxy = urlsplit(named)
        usable = proxy.scheme in ("http", "https") and bool(proxy.hostname) and (proxy.port is None or proxy.port > 0)
    except ValueError:
        usable = False
    if not usable:
        # It may hold a password, so it is not shown.
        raise UsageProblem(
            f"the proxy that the environment names for {parts.scheme}://{parts.netloc} is not an HTTP proxy; "
            "give http://HOST:PORT, or add the host to NO_PROXY"
        )
    address = f"{proxy.scheme}://{proxy.netloc.rpartition('@')[2]}"
    if proxy.username is None:
        return "", httpx2.Proxy(address)
    login = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    header = f"Basic {b64encode(login.encode()).decode()}"
    return header, httpx2.Proxy(address, headers={"Proxy-Authorization": header})


def _is_loopback(host: str) -> bool:
    try:
        found = ipaddress.ip_address(host)
        return found.is_loopback or found.is_unspecified
    except ValueError:
        return host == "localhost"


@cache
def _certificates(file: str | None, folder: str | None) -> ssl.SSLContext:
    """By the package's own rules: these variables where they are set, else the system's store. Reading it takes 30 ms,
    so the connections of a process share it. Raises OSError."""
    return httpx2.create_ssl_context()


def _unusable_certificates(error: OSError) -> UsageProblem:
    name = "SSL_CERT_FILE" if os.environ.get("SSL_CERT_FILE") else "SSL_CERT_DIR"
    reason = "it holds no certificate" if isinstance(error, ssl.SSLError) else error.strerror
    return UsageProblem(
        f"the certificates that {name} names ({os.environ.get(name)}) cannot be read: {reason}; correct the variable,"
        " or unset it"
    )


def _session(trusted: ssl.SSLContext) -> aiohttp.ClientSession:
    """With as many connections as are asked for, and without cookies, which would carry state from case to case."""
    connector = _Connector(limit=0, keepalive_timeout=_IDLE, ssl=trusted)
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), response_class=_Response)


class _Connector(aiohttp.TCPConnector):
    """Checks a kept connection before it is used again, and drops one that the server has closed.

    aiohttp drops it only when its loop has processed the closing, which may be too late; and it never retries a POST.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._used: WeakSet[ResponseHandler] = WeakSet()

    async def connect(self, req: ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout) -> Kept:  # noqa: ASYNC109
        while True:
            connection = await super().connect(req, traces, timeout)
            protocol = connection.protocol
            assert protocol is not None
            if protocol not in self._used:
                self._used.add(protocol)
                return connection
            if not _is_readable(connection):
                return connection
            connection.close()


def _is_readable(connection: Kept) -> bool:
    """Whether an idle connection can be read: then it has been closed."""
    channel: Any = connection.transport and connection.transport.get_extra_info("socket")
    number: int = -1 if channel is None else channel.fileno()
    if number < 0:
        return True
    poll = select.poll()
    poll.register(number, select.POLLIN)
    return bool(poll.poll(0))


class _Response(aiohttp.ClientResponse):
    """The reason of an answer as text, whatever bytes the server sends: the package encodes it."""

    async def start(self, connection: Kept) -> aiohttp.ClientResponse:
        await super().start(connection)
        self.reason = (self.reason or "").encode("utf-8", "replace").decode()
        return self


class _Pieces:
    """A large body, which every attempt and redirect reads from its beginning."""

    def __init__(self, content: bytes) -> None:
        self._content = memoryview(content)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self._content), _LARGE):
            yield bytes(self._content[start : start + _LARGE])


class _AnswerTooLong(Exception):
    """An answer has more bytes than its limit; the rest was not read."""

    def __init__(self, largest: int) -> None:
        self.largest = largest


async def _bound(answer: httpx2.Response) -> None:
    """Let an answer be read up to its limit only."""
    largest = MAX_DOWNLOAD if answer.request.method == "GET" else MAX_ANSWER
    if is_event_stream(answer.headers):
        largest = max(largest, MAX_STREAM)
    answer.stream = _Bounded(answer, largest)
    answer.headers.pop("content-encoding", None)
    answer.encoding = "utf-8"  # the package decodes an error by whatever its server says


class _Bounded(httpx2.AsyncByteStream):
    """The unpacked body of an answer, whose bytes are counted packed and unpacked."""

    def __init__(self, answer: httpx2.Response, largest: int) -> None:
        self._stream: Any = answer.stream
        self._packed: httpx2.Response | None = None
        if "content-encoding" in answer.headers:
            self._packed = httpx2.Response(answer.status_code, headers=answer.headers, stream=answer.stream)
        self._largest = largest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._packed.aiter_bytes() if self._packed else self._stream:
            size += len(piece)  # a packed piece comes as several
            if max(size, self._packed.num_bytes_downloaded if self._packed else 0) > self._largest:
                raise _AnswerTooLong(self._largest)
            yield piece

    async def aclose(self) -> None:
        await (self._packed or self._stream).aclose()


_ASTRAY = (httpx2.TooManyRedirects, httpx2.UnsupportedProtocol, httpx2.RemoteProtocolError)
"""What the package raises for redirects that end nowhere."""


def _failure(error: BaseException, place: str) -> Failure:
    """The failure behind an exception, by the root of its chain, because the outer layers rename what happened."""
    root: BaseException = error
    while root.__cause__ is not None and not isinstance(root, (aiohttp.ClientError, *_ASTRAY)):
        root = root.__cause__
    if isinstance(root, _ASTRAY):
        return lost("redirects", excerpt(str(root)), place)
    detail = excerpt(str(root)) or type(root).__name__
    match root:
        case _AnswerTooLong():
            return lost("answer too long", root.largest >> 20)
        case aiohttp.ClientConnectorCertificateError():
            return lost("certificate", _untrusted(root.certificate_error), place)
        case TimeoutError():
            return lost("timeout", "the time that the system gives it", place)
        case aiohttp.ClientPayloadError():
            return lost("truncated body")
        case aiohttp.ClientHttpProxyError():
            return lost("proxy", f"HTTP {root.status} {root.message}".rstrip(), place)
        case aiohttp.ClientProxyConnectionError():
            return lost(
                "connection", f"the proxy at {root.host}:{root.port} does not answer: {_in_words(root.os_error)}", place
            )
        case aiohttp.ClientResponseError():
            return lost("not http", _own_words(root.message), place)
        case aiohttp.ClientConnectorError():
            return lost("connection", _in_words(root.os_error), place)
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError() | ConnectionError():
            return lost("disconnected", detail, place)
        case aiohttp.ClientConnectionError() | OSError():
            return lost("connection", detail, place)
    return lost("garbled body", detail)


def _in_words(error: OSError) -> str:
    """Why there is no connection. The system's words: asyncio's name the address again, and not the reason."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused (is the server running there?)"
    known = error.errno in errno.errorcode  # gaierror has numbers of its own
    return os.strerror(error.errno or 0) if known else excerpt(str(error.strerror or error))


def _untrusted(error: Exception) -> str:
    return error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else excerpt(str(error))


_CLIENTS_STATUS = re.compile("^400, message[:=] ?")
"""The prefix of aiohttp's own message about an answer that it cannot read. No endpoint has sent that status."""
_LITERAL = re.compile(r"""b'(?:[^'\\]|\\.)*'|b"(?:[^"\\]|\\.)*\"""")


def _own_words(message: str) -> str:
    """What is wrong with an answer that is no HTTP, and the line of it that is, out of aiohttp's message: ``bad status
    line 'SSH-2.0'``.

    A line that aiohttp has cut is not quoted: it may end in the middle of a key.
    """
    what = excerpt(_CLIENTS_STATUS.sub("", message).partition(":")[0])
    found = _LITERAL.search(message)
    line: bytes = ast.literal_eval(found[0]) if found else b""
    words = what[:1].lower() + what[1:]
    return f"{words} {excerpt(line.decode('utf-8', 'replace'))!r}" if found and not line.endswith(b"...") else words
