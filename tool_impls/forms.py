"""The form of a call, read by the server: texts into memory, files to disk as they come."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote

from tool_impls import protocol
from tool_impls.naming import plain_name

if TYPE_CHECKING:
    from aiohttp import BodyPartReader, web


MOST_PARTS = protocol.MOST_FILES + 100  # fields and files of one form


class Uploads:
    """The parts of one form. Files go to disk as they come, under names of the server's making."""

    def __init__(self, scratch: Path, most: int) -> None:
        self.named: dict[str, Path] = {}  # files that texts of the call name, by the name there
        self._scratch = scratch
        self._most = most
        self._folder: Path | None = None
        self._size = 0
        self._count = 0
        self._parts_read = 0

    async def fields(self, request: web.Request) -> dict[str, str | protocol.Upload]:
        """The fields of a request: texts, and paths for parts with a file name. Other content types have no fields.

        Raises ProtocolError or UnicodeError for a form that cannot be read, HTTPRequestEntityTooLarge for one that is too large.
        """
        if request.content_type == protocol.URLENCODED:
            body = await request.read()
            return dict(parse_qsl(body.decode(), keep_blank_values=True))
        if request.content_type == protocol.MULTIPART:
            return await self._parts(request)
        return {}

    async def _parts(self, request: web.Request) -> dict[str, str | protocol.Upload]:
        from aiohttp import BodyPartReader, web

        fields: dict[str, str | protocol.Upload] = {}
        try:
            reader = await request.multipart()
            while (part := await reader.next()) is not None:
                self._parts_read += 1
                if self._parts_read > MOST_PARTS:
                    raise web.HTTPRequestEntityTooLarge(MOST_PARTS, self._parts_read)
                if not isinstance(part, BodyPartReader) or part.name is None:
                    raise protocol.ProtocolError("a part of the form has no name")
                if part.filename is None:
                    fields[part.name] = _text(b"".join([chunk async for chunk in self._chunks(part)]))
                elif part.name == protocol.FILE_PART:
                    path = unquote(part.filename)
                    self.named[path] = await self._store(part, plain_name(path))
                else:
                    fields[part.name] = await self._store(part, "content")
        except (ValueError, AssertionError) as error:  # what aiohttp raises for a form that it cannot read
            raise protocol.ProtocolError(str(error)) from None
        return fields

    def work_folder(self) -> Path:
        """An empty folder for the call, removed with its uploads."""
        folder = self._own_folder() / "work"
        folder.mkdir()
        return folder

    def _own_folder(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="call-", dir=self._scratch))
        return self._folder

    def remove(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def _store(self, part: BodyPartReader, name: str) -> Path:
        self._count += 1
        place = self._own_folder() / str(self._count)
        place.mkdir()
        with (place / name).open("wb") as file:
            async for chunk in self._chunks(part):
                file.write(chunk)
        return place / name

    async def _chunks(self, part: BodyPartReader) -> AsyncIterator[bytes]:
        from aiohttp import web

        while chunk := await part.read_chunk(2**18):
            self._size += len(chunk)
            if self._size > self._most:
                raise web.HTTPRequestEntityTooLarge(self._most, self._size)
            yield bytes(chunk)


def _text(data: bytes) -> str:
    """UTF-8, or one character a byte where it is something else, so that a wrong field gets a 422 rather than a failure."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")
