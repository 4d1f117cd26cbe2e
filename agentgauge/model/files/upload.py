"""How an endpoint gets a local file: inside the request, or as an earlier upload."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgauge.core.causes import Failure
from agentgauge.core.chat import LocalFile
from agentgauge.model.endpoint import Endpoint, file_path
from agentgauge.model.files.references import digest
from agentgauge.model.files.rendering import MAX_PAGES, FileRenderer, RenderedPicture, SharedTasks
from agentgauge.model.spec import ModelSpec
from agentgauge.model.wire import clean

_PDF = "application/pdf"
_SUFFIXES = {_PDF: [".pdf"], "image/jpeg": [".jpg", ".jpeg"]}  # of other pictures: the last word of the media type
_REFUSED = ("http 400", "http 413", "http 415", "http 422")
"""Failures of an upload that the file itself causes."""

MAX_INLINE = 24_000_000
"""Characters (base64) of all files inside one request: endpoints refuse requests that are somewhat larger."""

_EXPIRY = 7 * 24 * 3600  # seconds; what a run that was killed could not delete goes by itself
_DELETE_SECONDS = 10.0  # for deleting all uploads


class InlineFiles:
    """Puts files into chat completion requests: pictures as data URLs, a PDF as pictures of its pages or, with ``pdf =
    "file"``, as a file."""

    def __init__(self, spec: ModelSpec) -> None:
        self._whole = spec.pdf == "file"
        self._renderer = FileRenderer()

    async def __call__(self, part: LocalFile, content: bytes) -> list[dict[str, Any]] | None:
        """The parts that present a file; None for a damaged file. Raises SandboxFault, UsageProblem."""
        if part["kind"] == "image":
            picture = await self._renderer.picture(content)
            return None if picture is None else [_image(picture)]
        pages = await self._renderer.pages(content, limit=0 if self._whole else MAX_PAGES)
        if pages is None:
            return None
        if self._whole:
            return [{"type": "file", "file": {"filename": _file_name(part, _PDF), "file_data": _data(content, _PDF)}}]
        if not pages.drawn:
            return None
        left = pages.total - len(pages.drawn)
        if left:
            note = f"{pages.total} pages, of which {len(pages.drawn)} follow as images; {left} left out"
        else:
            note = "1 page follows as an image" if pages.total == 1 else f"{pages.total} pages follow as images"
        return [_text(f"[{clean(part['name'])}: {note}]"), *map(_image, pages.drawn)]


class UploadedFiles:
    """Uploads files for the Responses API. Each content is uploaded once; concurrent requests wait for the same upload.

    ``close`` deletes what was uploaded. At OpenAI itself files also expire after a week, for runs that were killed.
    """

    def __init__(self, spec: ModelSpec, endpoint: Endpoint) -> None:
        self._spec = spec
        self._endpoint = endpoint
        self._renderer = FileRenderer()
        self._uploads: SharedTasks[str | None] = SharedTasks()

    async def __call__(self, part: LocalFile, content: bytes) -> list[dict[str, Any]] | None:
        """The parts that present a file; None for a damaged file and for one that the endpoint refuses. Raises Fault,
        UsageProblem.
        """
        if part["kind"] == "image":
            picture = await self._renderer.picture(content)
        else:
            picture = RenderedPicture(content, _PDF) if await self._renderer.pages(content, limit=0) else None
        if picture is None:
            return None
        name = _file_name(part, picture.media)
        identity = await self._uploads.result(digest(picture.content), lambda: self._upload(picture, name))
        if identity is None:
            return None
        if part["kind"] == "image":
            return [{"type": "input_image", "file_id": identity, "detail": "auto"}]
        return [{"type": "input_file", "file_id": identity}]

    async def close(self) -> None:
        identities = [identity for identity in await self._uploads.cancel() if identity]
        await self._endpoint.delete(list(map(file_path, identities)), seconds=_DELETE_SECONDS)

    async def _upload(self, picture: RenderedPicture, name: str) -> str | None:
        """The endpoint's id of the file, or None if it refuses it. Raises Fault."""
        # Azure does not take the purpose that OpenAI names for this.
        form: dict[str, Any] = {"purpose": "assistants" if self._spec.kind == "azure" else "user_data"}
        if self._spec.provider == "openai":
            form["expires_after"] = {"anchor": "created_at", "seconds": _EXPIRY}
        outcome = await self._endpoint.post("/files", form, _read_identity, file=(name, picture.content, picture.media))
        if isinstance(outcome, str):
            return outcome
        if outcome.cause in _REFUSED:
            return None
        raise self._endpoint.fault(outcome)


def _read_identity(data: object) -> str | Failure:
    identity = data.get("id") if isinstance(data, Mapping) else None
    if not isinstance(identity, str) or not identity:
        return Failure("no file id", "the endpoint took a file and gave no id for it")
    return identity


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image(picture: RenderedPicture) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": _data(picture.content, picture.media)}}


def _data(content: bytes, media: str) -> str:
    return f"data:{media};base64,{base64.b64encode(content).decode('ascii')}"


def _file_name(part: LocalFile, media: str) -> str:
    """The name with an ending that fits: endpoints recognise kinds of files by it."""
    name = clean(part["name"])
    endings = _SUFFIXES.get(media) or ["." + media.rpartition("/")[2]]
    return name if Path(name).suffix.lower() in endings else name + endings[0]
