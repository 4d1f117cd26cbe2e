"""The form of a call, read by the server: counted as it arrives, whole before it is parsed, files to disk.

aiohttp's own reader does not keep the bound in bytes: a form that is sent in chunks may begin with any number of lines
before its first boundary, which it passes over and does not count.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from email.message import Message
from email.parser import HeaderParser
from email.utils import collapse_rfc2231_value
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import SpooledTemporaryFile, mkdtemp
from typing import IO, TYPE_CHECKING
from urllib.parse import parse_qsl, unquote

from tool_impls.naming import plain_name
from tool_impls.server import protocol

if TYPE_CHECKING:
    from aiohttp import web

MOST_PARTS = protocol.MOST_FILES + 100  # fields and files of one form
IN_MEMORY = 2**20  # bytes of a body that are kept in memory; a longer one goes to disk
LONGEST_HEAD = 2**14  # bytes before the content of a part
LEFT_SECONDS, LEFT_PAUSE = 10.0, 0.5
"""For reading what is left of a body that is refused: in all, and for the next bytes of it."""

Content = bytes | mmap


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
        with ExitStack() as closing:
            body = await self._body(request, closing)
            if isinstance(body, mmap):  # seconds of work, while which other calls are to be answered
                return await asyncio.to_thread(self._parsed, body, request.content_type, request.headers)
            return self._parsed(body, request.content_type, request.headers)

    def _parsed(self, body: Content, kind: str, headers: Mapping[str, str]) -> dict[str, str | protocol.Upload]:
        if kind == protocol.URLENCODED:
            try:
                return dict(parse_qsl(body[:].decode(), keep_blank_values=True, max_num_fields=MOST_PARTS))
            except UnicodeError:
                raise
            except ValueError:
                raise TooLarge(f"it has more than {MOST_PARTS} fields") from None
        return self._form(body, headers["Content-Type"]) if kind == protocol.MULTIPART else {}

    async def _body(self, request: web.Request, closing: ExitStack) -> Content:
        from aiohttp import ClientPayloadError, web

        if (request.content_length or 0) > self._most:
            raise TooLarge(f"it has {request.content_length} bytes, of which at most {self._most} are taken")
        temporary = SpooledTemporaryFile(IN_MEMORY, dir=str(self._own_folder()))  # noqa: SIM115 - closed as below
        file: IO[bytes] = closing.enter_context(temporary)
        size = 0
        try:
            async with asyncio.timeout(self._seconds):
                async for chunk in request.content.iter_any():
                    size += len(chunk)
                    if size > self._most:
                        raise TooLarge(f"it has more than {self._most} bytes")
                    file.write(chunk)
        except TimeoutError:
            raise TooSlow(f"it did not arrive within {self._seconds:g} s") from None
        except (web.RequestPayloadError, ClientPayloadError) as error:
            raise protocol.ProtocolError(str(error)) from None
        if size <= IN_MEMORY:
            file.seek(0)
            return file.read()
        file.flush()
        return closing.enter_context(mmap(file.fileno(), 0, access=ACCESS_READ))

    def _form(self, body: Content, content_type: str) -> dict[str, str | protocol.Upload]:
        head = Message()
        head["Content-Type"] = content_type
        boundary = head.get_boundary("")
        if not boundary:
            raise protocol.ProtocolError("the form names no boundary")
        fields: dict[str, str | protocol.Upload] = {}
        for number, part in enumerate(split(body, boundary.encode()), 1):
            if number > MOST_PARTS:
                raise TooLarge(f"it has more than {MOST_PARTS} parts")
            content = memoryview(body)[part.start : part.end]
            with content:
                if part.file_name is None:
                    fields[part.name] = _text(bytes(content))
                elif part.name == protocol.FILE_PART:
                    path = unquote(part.file_name)
                    self.named[path] = self._store(content, plain_name(path))
                else:
                    fields[part.name] = self._store(content, "content")
        return fields

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

    def _store(self, content: memoryview, name: str) -> Path:
        self._count += 1
        folder = self._own_folder() / str(self._count)
        folder.mkdir()
        (folder / name).write_bytes(content)
        return folder / name


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a form. ``start`` and ``end``: of its content in the body. ``file_name``: None for a text."""

    name: str
    file_name: str | None
    start: int
    end: int


def split(body: Content, boundary: bytes) -> Iterator[Part]:
    """The parts of a ``multipart/form-data`` body (RFC 7578). Raises ProtocolError for another body."""
    mark = b"--" + boundary
    at = 0 if body[: len(mark)] == mark else body.find(b"\r\n" + mark) + 2
    if at == 1:
        raise protocol.ProtocolError("the boundary is not in the body")
    while True:
        at += len(mark)
        if body[at : at + 2] == b"--":
            return
        line = body.find(b"\r\n", at, at + LONGEST_HEAD)
        if line < 0 or body[at:line].strip(b" \t"):
            raise protocol.ProtocolError("a boundary does not end its line")
        blank = body.find(b"\r\n\r\n", line, line + LONGEST_HEAD)
        end = body.find(b"\r\n" + mark, blank + 2)
        if blank < 0 or end < 0:
            raise protocol.ProtocolError("a part has no end")
        yield _part(bytes(body[line + 2 : blank]), blank + 4, end)
        at = end + 2


def _part(head: bytes, start: int, end: int) -> Part:
    headers = HeaderParser().parsestr(head.decode("utf-8", "replace"), headersonly=True)
    name, file_name = (headers.get_param(word, header="Content-Disposition") for word in ("name", "filename"))
    if name is None:
        raise protocol.ProtocolError("a part of the form has no name")
    return Part(
        collapse_rfc2231_value(name),
        None if file_name is None else collapse_rfc2231_value(file_name),
        start,
        max(start, end),  # a part without content may share its line end with the boundary
    )


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
