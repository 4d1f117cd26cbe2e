"""The client of a tool server: ours, or any that speaks AgentLego's protocol (GTA spec 6.4)."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import ToolError, ToolFault
from harness.tools import FILE_TYPES, Parameter, Tool, ToolOutput
from tool_impls import protocol
from tool_impls.openapi import RemoteTool, read_document
from tool_impls.protocol import ProtocolError

if TYPE_CHECKING:
    import aiohttp

RETRY_SECONDS = 5.0
"""How long a call goes on trying to connect: a server that died may be on its way back."""

ANSWER_SECONDS = 300.0
"""How long one answer may take, queueing on the server included."""

SUFFIXES = {"image": "png", "audio": "wav", "video": "mp4"}
TOLD = frozenset({400, 408, 422})
"""Statuses that are the caller's doing: the model is told. Any other but 200 is a fault of the server."""


class ToolServerBox:
    """A ToolBox whose tools run on a server. To be used from one event loop; connects when first used."""

    def __init__(self, url: str, *, answer_seconds: float = ANSWER_SECONDS, retry_seconds: float = RETRY_SECONDS) -> None:
        self._url = url.rstrip("/")
        self._answer_seconds = answer_seconds
        self._retry_seconds = retry_seconds
        self._session: aiohttp.ClientSession | None = None
        self._tools: Mapping[str, RemoteTool] | None = None
        self._discovery = asyncio.Lock()

    async def catalog(self) -> Mapping[str, Tool]:
        return {name: remote.tool for name, remote in (await self.remote_tools()).items()}

    async def remote_tools(self) -> Mapping[str, RemoteTool]:
        """What the server's document announces; asked for once. Raises ToolFault."""
        async with self._discovery:
            if self._tools is None:
                status, _, body = await self._exchange("GET", f"{self._url}/openapi.json", None, b"")
                if status != 200:
                    raise ToolFault(f"the tool server {self._url} answered HTTP {status} for its list of tools", cause=f"http {status}")
                try:
                    self._tools = read_document(_decoded(body), self._url)
                except ProtocolError as error:
                    raise ToolFault(f"{self._url} is no tool server: {error}", cause="protocol") from None
            return self._tools

    async def call(self, name: str, arguments: Mapping[str, Any], *, folder: Path, readable: Sequence[Path]) -> tuple[ToolOutput, ...]:
        remote = (await self.remote_tools()).get(name)
        if remote is None:
            raise ToolError(f"there is no tool {name!r}; known are {', '.join(self._tools or ())}")
        values = _form(remote.tool, arguments, (folder, *readable))
        content_type, body = protocol.encode_call(remote.tool, values, secrets.token_hex(16))
        status, reason, answer = await self._exchange("POST", remote.url, content_type, body)
        if status in TOLD:
            raise ToolError(f"the call of {name} failed: {reason}.\nResponse: {_told(answer)!r}")
        if status != 200:
            raise ToolFault(f"the tool server answered HTTP {status} for {name}: {_told(answer)!r}", cause=f"http {status}")
        try:
            results = protocol.split_results(remote.tool, _decoded(answer))
            pairs = zip(remote.tool.outputs, results, strict=True)
            return tuple([_output(output, result, folder) for output, result in pairs])
        except ProtocolError as error:
            raise ToolFault(f"{name} broke the protocol: {error}", cause="protocol") from None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _exchange(self, method: str, url: str, content_type: str | None, body: bytes) -> tuple[int, str, bytes]:
        """Status, reason and body of an answer. Raises ToolFault; only failures to connect and lost connections are tried again."""
        import aiohttp

        if self._session is None:
            # No limit on connections: how many calls are in the air is the run's business.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=self._answer_seconds)
            )
        headers = {"Content-Type": content_type} if content_type else {}
        deadline, pause = time.monotonic() + self._retry_seconds, 0.1
        while True:
            try:
                async with self._session.request(
                    method, url, data=body, headers=headers, skip_auto_headers=("Content-Type",), allow_redirects=False
                ) as reply:
                    return reply.status, reply.reason or "", await reply.read()
            except TimeoutError:
                raise ToolFault(f"the tool server gave no answer within {self._answer_seconds:g} s ({url})", cause="timeout") from None
            except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError) as error:
                if time.monotonic() + pause > deadline:
                    raise ToolFault(f"the tool server cannot be reached at {url} ({type(error).__name__})", cause="connection") from None
            except (aiohttp.ClientError, ValueError) as error:
                raise ToolFault(f"{url} does not answer as a tool server ({type(error).__name__})", cause="protocol") from None
            await asyncio.sleep(pause)
            pause = min(pause * 2, 1.0)


def _form(tool: Tool, arguments: Mapping[str, Any], allowed: Sequence[Path]) -> dict[str, str | bytes]:
    """The form fields of a call, in the order of the arguments. Raises ToolError."""
    parameters = {parameter.name: parameter for parameter in tool.inputs}
    if unknown := [name for name in arguments if name not in parameters]:
        raise ToolError(f"{tool.name} has no input {', '.join(map(repr, unknown))}; it takes {', '.join(map(repr, parameters)) or 'none'}")
    multipart = protocol.takes_files(tool)
    form: dict[str, str | bytes] = {}
    for name, value in arguments.items():
        if parameters[name].type in FILE_TYPES:
            form[name] = _read(parameters[name], value, allowed)
        elif multipart and isinstance(value, float):
            # The released client fails here as well (GTA spec 6.4); no tool of the benchmarks takes both.
            raise ToolError(f"{name}: {value!r} cannot be sent, because {tool.name} takes files and a form with files holds no float")
        else:
            form[name] = str(value)  # null becomes the text None, as released
    return form


def _read(parameter: Parameter, value: Any, allowed: Sequence[Path]) -> bytes:
    """The bytes of a file below one of the allowed folders, links followed. Raises ToolError."""
    try:
        path = Path(value).resolve()
        if not any(path.is_relative_to(folder.resolve()) for folder in allowed):
            raise ToolError(f"{parameter.name}: {value!r} is not one of the files of this task")
        return path.read_bytes()
    except FileNotFoundError:
        raise ToolError(f"{parameter.name}: there is no file {value!r}") from None
    except (OSError, TypeError, ValueError) as error:  # a folder, no permission, not a text, a null byte
        raise ToolError(f"{parameter.name}: {value!r} cannot be read as a file ({type(error).__name__})") from None


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        raise ProtocolError(f"it answered {body[:80]!r}, which is no JSON") from None


def _told(body: bytes) -> Any:
    """The body of a failure, decoded where it is JSON, else its first characters."""
    try:
        return json.loads(body)
    except ValueError:
        return body[:500].decode("utf-8", "replace")


def _output(output: Parameter, value: Any, folder: Path) -> ToolOutput:
    if output.type not in FILE_TYPES:
        return ToolOutput("text", value if isinstance(value, str) else str(value))
    data = protocol.decode_file(value)
    if output.type == "file":
        category, _, kind = (output.filetype or "file").partition("/")
    else:
        category, kind = output.type, SUFFIXES[output.type]
    return ToolOutput(output.type, str(_store(folder / _clean(category), _clean(kind or "bin"), data)))  # type: ignore[arg-type]


def _clean(word: str) -> str:
    """A word of the server's that may stand in a path."""
    return "".join(sign for sign in word if sign.isalnum() or sign in "-+.").strip(".") or "file"


def _store(folder: Path, suffix: str, data: bytes) -> Path:
    """Write ``0001.<suffix>`` or the next free number, so that a case's files have the same names in every run."""
    folder.mkdir(parents=True, exist_ok=True)
    number = sum(1 for _ in folder.iterdir())
    while True:
        number += 1
        path = folder.resolve() / f"{number:04d}.{suffix}"
        try:
            with path.open("xb") as file:
                file.write(data)
            return path
        except FileExistsError:
            continue
