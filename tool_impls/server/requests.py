"""Which requests the tool server answers, and how it reads the form of a call.

Any web page can send requests to a server on loopback. It can also read the answers if it changes the address of its
own host name to 127.0.0.1 (DNS rebinding). It can forge neither the Host nor the Origin header, and does not know the
token.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import ipaddress
import re
import shutil
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl, unquote

from agentgauge.core.processes import TOOL_TOKEN
from tool_impls.arguments import plain_name
from tool_impls.server import protocol

if TYPE_CHECKING:
    from aiohttp import BodyPartReader, MultipartReader, StreamReader, web


# -- who is answered: by the host that a request names, the page that sent it, and the token


OPEN = frozenset({"/health", "/ready"})
"""Paths that need no token, for programs that watch the server. Host and Origin count there as well."""

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_HOST = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]{2,45})\]|(?P<name>[\w.-]{1,253}))(?::(?P<port>[0-9]{1,5}))?", re.ASCII)
_OWN_SITE = ("same-origin", "none")
"""Values of Sec-Fetch-Site for requests of the server's own pages, and of the user, who typed the address."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The refusal of a request: HTTP status and one sentence."""

    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class Access:
    """The access rules of a server. ``token``: None if none is needed. ``names``: further host names of the server, in
    lower case, at any port.
    """

    token: str | None = None
    names: frozenset[str] = frozenset()

    def refusal(self, path: str, headers: Mapping[str, str], local: tuple[str, int]) -> Refusal | None:
        """Why a request is refused; None if it is accepted.

        ``local``: address and port at which its connection arrived.
        """
        host = headers.get("Host", "")
        if not self._is_ours(host, local):
            reason = f"this tool server does not serve the host {host[:100]!r}; start it with --allow-host NAME"
            return Refusal(403, reason)
        if not _from_own_page(headers, host):
            return Refusal(403, "this tool server answers no requests of foreign web pages; call it from a program")
        if self.token is not None and path not in OPEN and not _has_token(self.token, headers.get("Authorization", "")):
            return Refusal(401, f"this tool server requires a token; set {TOOL_TOKEN} to the one that it printed")
        return None

    def _is_ours(self, host: str, local: tuple[str, int]) -> bool:
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = plain_host(found["six"] or found["name"])
        if name in self.names:
            return True
        return int(found["port"] or 80) == local[1] and (name in LOOPBACK or name == plain_host(local[0]))


WITHOUT_TOKEN = Access()  # for a server on loopback that needs none


def plain_host(host: str) -> str:
    """A host in the normal form in which hosts are compared."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host.lower()
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(address)


def is_host(host: str) -> bool:
    """Whether a text of ``plain_host`` is a host name or an IP address, without a port."""
    return _HOST.fullmatch(f"[{host}]" if ":" in host else host) is not None


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach a server that listens there."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name: it may lead anywhere
        return False


def _from_own_page(headers: Mapping[str, str], host: str) -> bool:
    """Whether no browser sent the request, or one for the server's own page. Pages cannot forge these headers."""
    origin = headers.get("Origin")
    if origin is not None and origin.lower() not in (f"http://{host.lower()}", f"https://{host.lower()}"):
        return False
    return headers.get("Sec-Fetch-Site", "none").lower() in _OWN_SITE


def _has_token(token: str, header: str) -> bool:
    """Whether an Authorization header holds the token: as a bearer token, or as the password of a basic login."""
    scheme, _, value = header.partition(" ")
    if scheme.lower() == "basic":
        try:
            value = base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, ValueError):
            return False
    elif scheme.lower() != "bearer":
        return False
    return hmac.compare_digest(value.encode("utf-8", "surrogateescape"), token.encode("utf-8", "surrogateescape"))


# -- the form of a call, read by aiohttp under limits: bytes, parts, and the time for the body to arrive


MOST_PARTS = protocol.MOST_FILES + 100  # fields and files of one form
CHUNK = 2**18  # bytes of a part that are read at a time
LEFT_SECONDS, LEFT_PAUSE = 10.0, 0.5
"""For reading what is left of a body that is refused: in all, and for the next bytes of it."""


class TooLarge(Exception):
    """A body with more bytes or parts than are accepted."""


class TooSlow(Exception):
    """A body that did not arrive in time."""


class Uploads:
    """The parts of one form. Files lie under names of the server's making, and are removed by ``remove``."""

    def __init__(self, scratch: Path, most: int, seconds: float) -> None:
        """``most``: largest number of bytes of the body. ``seconds``: time for the whole body to arrive."""
        self.named: dict[str, Path] = {}  # files that texts of the call name, by the name there
        self._scratch = scratch
        self._most = most
        self._seconds = seconds
        self._folder: Path | None = None
        self._count = 0

    async def fields(self, request: web.Request) -> dict[str, str | protocol.Upload]:
        """The fields of a request: texts, and paths for parts with a file name. Other content types have no fields.

        Raises ProtocolError or UnicodeError for a form that cannot be read, TooLarge, TooSlow, and ConnectionError if
        the client has closed the connection.
        """
        from aiohttp import ClientPayloadError, web
        from aiohttp.http import HttpProcessingError

        if (request.content_length or 0) > self._most:
            raise TooLarge(f"it has {request.content_length} bytes, of which at most {self._most} are taken")
        try:
            async with asyncio.timeout(self._seconds):
                if request.content_type == protocol.MULTIPART:
                    return await self._form(request)
                return self._urlencoded(await _whole(_Limited(request.content, self._most)), request.content_type)
        except TimeoutError:
            raise TooSlow(f"it did not arrive within {self._seconds:g} s") from None
        except UnicodeError:
            raise
        except (
            *(web.RequestPayloadError, ClientPayloadError, HttpProcessingError),
            *(LookupError, RuntimeError, ValueError),  # of aiohttp's parser, for a form that breaks its rules
        ) as error:
            raise protocol.ProtocolError(str(error)) from None

    def _urlencoded(self, body: bytes, kind: str) -> dict[str, str | protocol.Upload]:
        if kind != protocol.URLENCODED:
            return {}
        text = body.decode()
        try:
            return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_PARTS))
        except ValueError:
            raise TooLarge(f"it has more than {MOST_PARTS} fields") from None

    async def _form(self, request: web.Request) -> dict[str, str | protocol.Upload]:
        from aiohttp import BadContentDispositionHeader, BadContentDispositionParam, BodyPartReader, MultipartReader

        # aiohttp warns of them; the client reads about them in its answer
        warnings.filterwarnings("ignore", category=BadContentDispositionHeader)
        warnings.filterwarnings("ignore", category=BadContentDispositionParam)
        content = cast("StreamReader", _Limited(request.content, self._most))
        reader: MultipartReader = MultipartReader(request.headers, content)
        fields: dict[str, str | protocol.Upload] = {}
        number = 0
        while (part := await reader.next()) is not None:
            number += 1
            if number > MOST_PARTS:
                raise TooLarge(f"it has more than {MOST_PARTS} parts")
            if not isinstance(part, BodyPartReader) or part.name is None:
                raise protocol.ProtocolError("a part of the form has no name, or has parts of its own")
            if part.filename is None:
                fields[part.name] = _text(bytes(await part.read()))
            elif part.name == protocol.FILE_PART:
                path = unquote(part.filename)
                self.named[path] = await self._store(part, plain_name(path))
            else:
                fields[part.name] = await self._store(part, "content")
        return fields

    async def _store(self, part: BodyPartReader, name: str) -> Path:
        self._count += 1
        folder = self._own_folder() / str(self._count)
        folder.mkdir()
        with (folder / name).open("xb") as file:
            while chunk := await part.read_chunk(CHUNK):
                file.write(chunk)
        return folder / name

    def work_folder(self) -> Path:
        """An empty folder for the call, removed with its uploads."""
        folder = self._own_folder() / "work"
        folder.mkdir()
        return folder

    def _own_folder(self) -> Path:
        if self._folder is None:
            self._folder = Path(mkdtemp(prefix="call-", dir=self._scratch))
        return self._folder

    def remove(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


_MOST_LINES = MOST_PARTS * 130
"""Of the boundaries and headers of a form; aiohttp takes 128 headers a part."""


class _Limited:
    """A body of which at most ``most`` bytes are read. aiohttp bounds no body that it reads part by part, and counts
    no line before the first boundary."""

    def __init__(self, body: StreamReader, most: int) -> None:
        self._body, self._most = body, most
        self._lines = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)

    async def read(self, size: int) -> bytes:
        self._check()
        return await self._body.read(size)

    async def readline(self, **limits: Any) -> bytes:
        self._check()
        self._lines += 1
        if self._lines > _MOST_LINES:
            raise TooLarge(f"it has more than {_MOST_LINES} lines beside its contents")
        if self._lines % 1000 == 0:
            await asyncio.sleep(0)  # lines that have arrived are read without a pause for other calls
        return await self._body.readline(**limits)

    def _check(self) -> None:
        if self._body.total_bytes > self._most:
            raise TooLarge(f"it has more than {self._most} bytes")


async def _whole(body: _Limited) -> bytes:
    found = bytearray()
    while chunk := await body.read(CHUNK):
        found += chunk
    return bytes(found)


async def pass_over(request: web.Request, most: int) -> None:
    """Read at most ``most`` bytes of a body that is refused.

    A client that is still sending when the connection is closed sees an error instead of the answer.
    """
    from aiohttp import ClientPayloadError, web

    size = 0
    with suppress(TimeoutError, ConnectionError, web.RequestPayloadError, ClientPayloadError):
        async with asyncio.timeout(LEFT_SECONDS):
            while size < most and (chunk := await asyncio.wait_for(request.content.readany(), LEFT_PAUSE)):
                size += len(chunk)


def _text(data: bytes) -> str:
    """UTF-8, or one character a byte where it is something else, so that a wrong field gets a 422 and no failure."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")
