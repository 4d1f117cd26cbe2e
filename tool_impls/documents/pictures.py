"""Pictures for documents: found by path or number, checked, and converted for the document formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from agentgauge.core.errors import ToolError
from agentgauge.core.pictures import displayed, is_plain
from tool_impls.bounds import Unreadable, opened_picture
from tool_impls.documents.markdown import Picture

MOST = 200  # pictures in one document
PLAIN = ("PNG", "JPEG")  # kept byte for byte; others become PNG


@dataclass(frozen=True, slots=True)
class PreparedPicture:
    """A picture that every format takes. ``width`` and ``height`` in pixels."""

    data: bytes
    width: int
    height: int

    def stream(self) -> BytesIO:
        return BytesIO(self.data)

    def fitted(self, width: float, height: float, grow: bool = True) -> tuple[float, float]:
        """The picture's size in a box, in the units of the box. ``grow``: also enlarge it beyond its number of
        pixels.
        """
        scale = min(width / self.width, height / self.height)
        scale = scale if grow else min(scale, 1.0)
        return self.width * scale, self.height * scale


class DocumentPictures:
    """The pictures of one call. ``image_paths``: paths between commas; ``files``: by path as the model wrote it."""

    def __init__(self, image_paths: str, files: Mapping[str, Path]) -> None:
        self._numbered = [path.strip() for path in (image_paths or "").split(",") if path.strip()]
        self._files = files
        self._ready: dict[Path, PreparedPicture | None] = {}
        self._shown = 0

    def find(self, picture: Picture) -> PreparedPicture | str:
        """The picture, or the note in its place. Raises ToolError for more pictures than fit in a document."""
        path = picture.path
        if picture.number is not None:
            if not 1 <= picture.number <= len(self._numbered):
                return f"[image {picture.number} is missing: image_paths names {len(self._numbered)}]"
            path = self._numbered[picture.number - 1]
        name = base_name(path or "")
        file = self._files.get(path or "")
        if file is None or not file.is_file():
            return f"[image not found: {name}]"
        if file not in self._ready:
            self._ready[file] = load(file)
        ready = self._ready[file]
        if ready is None:
            return f"[image cannot be read: {name}]"
        self._shown += 1
        if self._shown > MOST:
            raise ToolError(f"the document shows more than {MOST} pictures; leave some out")
        return ready


def base_name(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def load(path: Path) -> PreparedPicture | None:
    """The picture as PNG or JPEG, upright; None for a file that is no picture. Raises ToolError for a picture that is
    too large.
    """
    try:
        with opened_picture(path, "a picture") as image:
            image.load()
            if image.format in PLAIN and is_plain(image):
                return PreparedPicture(path.read_bytes(), *image.size)
            made = displayed(image)
    except Unreadable:
        return None
    buffer = BytesIO()
    made.save(buffer, "PNG")
    return PreparedPicture(buffer.getvalue(), *made.size)
