"""An endpoint on loopback with a Files and a Responses API, and what its tests send.

with FilesServer(uploads=[serve.status(500)]) as server:
    ...  # the first upload fails, every later one gets an id
server.uploaded  # what came to /files, in order
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from agentgauge.core.chat import ChatReply, ChatRequest, LocalFile
from agentgauge.core.config import Config, ModelTable
from agentgauge.model.client import OpenAIModel
from agentgauge.model.limits import AdaptiveLimiter
from agentgauge.model.presets import resolve
from agentgauge.model.retry import RetryPolicy
from agentgauge.model.spec import ModelSpec
from tests.model import fault_server as serve
from tests.model.fault_server import Act, FaultServer, Seen

SECRET = "own-endpoint-key-0815"
ENVIRON = {"AGENTGAUGE_API_KEY": SECRET}


def response(
    *parts: Mapping[str, Any], status: str = "completed", items: Sequence[Mapping[str, Any]] = (), **more: Any
) -> dict[str, Any]:
    """A response as JSON data: one message with these parts, then further items."""
    message = {"type": "message", "role": "assistant", "content": list(parts)}
    output = [*([message] if parts else []), *items]
    return {
        "id": "resp-test",
        "status": status,
        "output": output,
        "usage": {"input_tokens": 10, "output_tokens": 5},
        **more,
    }


def said(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


@dataclass
class FilesServer:
    """``uploads`` and ``answers`` are played in order; after that uploads succeed, and the last answer repeats."""

    uploads: Sequence[Act] = ()
    answers: Sequence[Act] = field(default_factory=lambda: [serve.data(response(said("ok")))])
    delete: Act = field(default_factory=lambda: serve.data({"deleted": True}))
    server: FaultServer = field(default_factory=FaultServer)

    def __enter__(self) -> FilesServer:
        self.server.choose = self._choose
        self.server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.stop()

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def uploaded(self) -> list[Seen]:
        return [
            seen
            for seen in self.server.requests
            if seen.method == "POST" and seen.path.split("?")[0].endswith("/files")
        ]

    @property
    def asked(self) -> list[Seen]:
        return [seen for seen in self.server.requests if seen.method == "POST" and seen not in self.uploaded]

    @property
    def deleted(self) -> list[str]:
        return [seen.path for seen in self.server.requests if seen.method == "DELETE"]

    def _choose(self, seen: Seen) -> Act:
        if seen.method == "DELETE":
            return self.delete
        if seen in self.uploaded:
            number = len(self.uploaded)
            return self.uploads[number - 1] if number <= len(self.uploads) else serve.data({"id": f"file-{number}"})
        return self.answers[min(len(self.asked), len(self.answers)) - 1]


def png(colour: int = 0, side: int = 2) -> bytes:
    """A grey picture."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return len(content).to_bytes(4, "big") + kind + content + zlib.crc32(kind + content).to_bytes(4, "big")

    head = side.to_bytes(4, "big") * 2 + bytes([8, 0, 0, 0, 0])
    rows = (b"\0" + bytes([colour]) * side) * side
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def pdf(pages: int = 1, width: int = 200, height: int = 100) -> bytes:
    """Empty pages; the reader has to find the objects by itself, as there is no table of them."""
    kids = " ".join(f"{number + 3} 0 R" for number in range(pages))
    page = f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 {width} {height}]>>"
    objects = ["<</Type/Catalog/Pages 2 0 R>>", f"<</Type/Pages/Kids[{kids}]/Count {pages}>>", *[page] * pages]
    body = "".join(f"{number} 0 obj{content}endobj\n" for number, content in enumerate(objects, start=1))
    return f"%PDF-1.4\n{body}trailer<</Root 1 0 R>>\n%%EOF\n".encode()


def part(path: Path, content: bytes | None = None, *, instead: str = "", name: str = "") -> LocalFile:
    """A part that shows a file, which is written if ``content`` is given."""
    if content is not None:
        path.write_bytes(content)
    return {
        "type": "local_file",
        "kind": "file" if path.suffix == ".pdf" else "image",
        "path": str(path),
        "name": name or path.name,
        "instead": instead,
    }


def request(*parts: Mapping[str, Any] | LocalFile, text: str = "Look.", **changes: Any) -> ChatRequest:
    return ChatRequest(({"role": "user", "content": [{"type": "text", "text": text}, *parts]},), **changes)


def own(url: str, **table: Any) -> ModelSpec:
    """A model with a table of its own."""
    tables = {"mine": ModelTable(model="judge", url=url, key_env="AGENTGAUGE_API_KEY", timeout=5.0, **table)}
    return resolve("mine", config=Config(models=tables), environ=ENVIRON)


def client(spec: ModelSpec) -> OpenAIModel:
    """It tries three times, without waiting."""

    async def sleep(_seconds: float) -> None: ...

    policy = RetryPolicy(max_retries=2, sleep=sleep, chance=lambda: 0.0)
    return OpenAIModel(spec, AdaptiveLimiter(4), policy=policy, environ=ENVIRON)


def ask(spec: ModelSpec, *requests: ChatRequest) -> list[ChatReply]:
    """Put requests at the same time, to a client of their own."""

    async def main() -> list[ChatReply]:
        model = client(spec)
        try:
            return await asyncio.gather(*(model.complete(request) for request in requests))
        finally:
            await model.close()

    return asyncio.run(main())
