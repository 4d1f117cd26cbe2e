"""The protocol's requests, answered from a session: lists of tools and files, calls, and contents of files."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server import Server, ServerRequestContext

from agentgauge.core.announcement import own_version
from agentgauge.core.errors import ToolError, ToolFault
from agentgauge.core.redaction import redact
from agentgauge.core.tools import FILE_TYPES, ToolOutput
from tool_impls.mcp.session import OpenSession, SessionFiles, input_schema, mime_type, uri_of

MOST_TEXT = 1 << 20  # characters of one result
MOST_INLINE = 4 << 20  # bytes of a picture or sound that stands in a result; a larger one is only linked
MOST_RESOURCE = 32 << 20  # bytes of a file that is read as a resource
_GUIDE = (
    "Inputs that are files take a name or a URI of the list of resources. A file that a tool makes becomes a resource;"
    " the result gives its name, which later calls can use."
)

Find = Callable[[ServerRequestContext[Any, Any]], OpenSession]


def make_server(session_of: Find) -> Server[Any]:
    """A server whose requests are answered from the session that ``session_of`` finds."""

    async def list_tools(
        context: ServerRequestContext[Any, Any], _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        tools = session_of(context).session.tools
        return types.ListToolsResult(
            tools=[
                types.Tool(name=tool.name, description=tool.description, input_schema=input_schema(tool))
                for tool in tools
            ]
        )

    async def call_tool(
        context: ServerRequestContext[Any, Any], asked: types.CallToolRequestParams
    ) -> types.CallToolResult:
        session, arguments = session_of(context), asked.arguments or {}
        tool = session.tools.get(asked.name)
        if tool is None:
            reason = f"there is no tool {asked.name[:200]!r}; known are {', '.join(session.tools) or 'none'}"
            session.session.refused(asked.name, arguments, reason)
            raise MCPError(types.INVALID_PARAMS, reason)
        try:
            outputs = await session.run(tool, arguments)
            return types.CallToolResult(content=list(_content(outputs, session.files)))
        except (ToolError, ToolFault) as error:
            message = session.files.named(str(error))[:MOST_TEXT]
            return types.CallToolResult(content=[types.TextContent(text=message)], is_error=True)

    async def list_resources(
        context: ServerRequestContext[Any, Any], _: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        files = session_of(context).files
        return types.ListResourcesResult(resources=[types.Resource(**_described(name, path)) for name, path in files])

    async def read_resource(
        context: ServerRequestContext[Any, Any], asked: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(asked.uri)
        try:
            path = session_of(context).files.path(uri)
            content = _read(path, MOST_RESOURCE)
        except ToolError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        kind = mime_type(path)
        if kind.startswith("text/") or kind == "application/json":
            text = content.decode("utf-8", "replace")
            return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=text)])
        blob = base64.b64encode(content).decode()
        return types.ReadResourceResult(contents=[types.BlobResourceContents(uri=uri, mime_type=kind, blob=blob)])

    server: Server[Any] = Server(
        "agentgauge",
        version=own_version(),
        instructions=_GUIDE,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )
    server.middleware.clear()  # it begins with the package's own tracing
    return server


def _content(outputs: Sequence[ToolOutput], files: SessionFiles) -> Iterator[types.ContentBlock]:
    for output in outputs:
        if output.type not in FILE_TYPES:
            yield types.TextContent(text=_cut(files.named(redact(output.content))))
            continue
        path = Path(output.content)
        name = files.add(path)
        yield types.TextContent(text=f"[{output.type}]({name})")  # many clients drop links
        kind, size = mime_type(path), path.stat().st_size
        if size <= MOST_INLINE and output.type in ("image", "audio"):
            data = base64.b64encode(_read(path, MOST_INLINE)).decode()
            inline = types.ImageContent if output.type == "image" else types.AudioContent
            yield inline(data=data, mime_type=kind)
        yield types.ResourceLink(**_described(name, path))


def _described(name: str, path: Path) -> dict[str, Any]:
    size = path.stat().st_size if path.is_file() else None
    return {"name": name, "uri": uri_of(name), "mime_type": mime_type(path), "size": size}


def _read(path: Path, most: int) -> bytes:
    """Raises ToolError for a file that is gone or too large."""
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise ToolError(f"the file {path.name!r} cannot be read ({error.strerror})") from None
    if len(content) > most:
        raise ToolError(f"the file {path.name!r} has more than {most} bytes, which is the limit")
    return content


def _cut(text: str) -> str:
    left_out = len(text) - MOST_TEXT
    return text if left_out <= 0 else f"{text[:MOST_TEXT]}\n[{left_out} characters left out]"
