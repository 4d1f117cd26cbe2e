"""Batches of uploaded files: OpenAI's ``/files`` and ``/batches``, and what Azure and Together do differently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from agentgauge.core.causes import Failure
from agentgauge.model.endpoint import Endpoint, file_path
from agentgauge.model.spec import ModelSpec
from agentgauge.plugins.batch.formats import (
    ENDINGS,
    ONCE,
    BatchFormat,
    BatchItem,
    Pause,
    Sought,
    Status,
    failed,
    lines,
    list_batches,
    read_batch,
    read_files,
    read_id,
    read_object,
)

_UNREADY = ("pending", "running", "notrunning")
"""Statuses of a file that Azure has not read yet."""
_LOOKS = 60
"""Polls of such a file: an hour."""
_NO_LIST = ("http 404", "http 405", "http 501")
"""The causes that mean that a provider does not list its files."""


@dataclass(frozen=True)
class FileBatches(BatchFormat):
    """Batches as OpenAI has them; the fields are what others have instead."""

    title: str = "OpenAI"
    most: int = 50_000
    largest: int = 100_000_000
    takes_files: bool = True
    purpose: str = "batch"
    upload_path: str = "/files"
    upload_fields: Mapping[str, str] = field(default_factory=dict)
    request_path: str = "/v1/chat/completions"
    reads_files: bool = False  # before a batch of a file can be created

    def endpoint_spec(self, spec: ModelSpec) -> ModelSpec:
        return replace(spec, model=spec.deployment or spec.model)

    async def upload(self, endpoint: Endpoint, name: str, items: Sequence[BatchItem], pause: Pause) -> str | Failure:
        line = b'{"custom_id":"%s","method":"POST","url":"' + self.request_path.encode() + b'","body":%s}\n'
        file = (_file_name(name), b"".join(lines(items, line)), "application/jsonl")
        form = {"purpose": self.purpose, **({"file_name": file[0]} if self.upload_fields else {}), **self.upload_fields}
        identity = await endpoint.post(self.upload_path, form, read_id, file=file)
        if isinstance(identity, Failure) or not self.reads_files:
            return identity
        for polls in range(_LOOKS):
            about = await endpoint.get(file_path(identity), read_object)
            if isinstance(about, Failure):
                return about
            if str(about.get("status")).lower() not in _UNREADY:
                return identity
            await pause(polls)
        return Failure("unread file", f"the endpoint has not read the file of a batch after {_LOOKS} polls", final=True)

    async def create(self, endpoint: Endpoint, upload: str, items: Sequence[BatchItem]) -> str | Failure:
        body = {"input_file_id": upload, "endpoint": self.request_path, "completion_window": "24h"}
        return await endpoint.post("/batches", body, lambda data: read_id(_job(data)), policy=ONCE)

    async def find(self, endpoint: Endpoint, sought: Sought) -> list[str] | Failure:
        uploads = [sought.upload] if sought.upload else await self._uploads(endpoint, sought.name)
        if isinstance(uploads, Failure) or not uploads:
            return uploads
        found = await list_batches(endpoint, "/batches", sought.since)
        if isinstance(found, Failure):
            return found
        return [str(batch.get("id")) for batch in found if batch.get("input_file_id") in uploads]

    async def _uploads(self, endpoint: Endpoint, name: str) -> list[str] | Failure:
        """The ids of the uploaded files of this name, which the provider keeps. None where it has no list of files."""
        found = await endpoint.get("/files", read_files)
        if isinstance(found, Failure):
            return [] if found.cause in _NO_LIST else found
        return [str(file.get("id")) for file in found if file.get("filename") == _file_name(name)]

    async def status(self, endpoint: Endpoint, identity: str) -> Status | Failure:
        about = await endpoint.get(f"/batches/{quote(identity, safe='')}", lambda data: read_batch(_job(data)))
        if isinstance(about, Failure):
            return about
        word = str(about.get("status")).lower()
        ending = ENDINGS.get(word)
        files = [about.get(name) for name in ("output_file_id", "error_file_id")]
        paths = tuple(f"{file_path(file)}/content" for file in files if isinstance(file, str) and file)
        return Status(ending, word, _failure(about) if ending == "failed" else None, paths if ending else ())


def _file_name(batch: str) -> str:
    return f"agentgauge-{batch}.jsonl"


def _job(data: object) -> object:
    """The batch; Together wraps a new one."""
    return data["job"] if isinstance(data, Mapping) and isinstance(data.get("job"), Mapping) else data


def _failure(about: Mapping[str, Any]) -> Failure:
    errors = about.get("errors")
    listed = errors.get("data") if isinstance(errors, Mapping) else None
    first = listed[0] if isinstance(listed, list) and listed else about.get("error")
    code = first.get("code") if isinstance(first, Mapping) else None
    return failed(first, crowded=code == "token_limit_exceeded")


OPENAI = FileBatches()
AZURE = replace(OPENAI, title="Azure OpenAI", request_path="/chat/completions", reads_files=True)
TOGETHER = replace(
    OPENAI,
    title="Together AI",
    takes_files=False,
    purpose="batch-api",
    upload_path="/files/upload",
    upload_fields={"file_type": "jsonl"},
)
