"""The parts of a judge's request that show the delivered files (GTA-Workflow spec 3.2)."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Protocol

from agentgauge.agent.framing import quoted
from agentgauge.core.errors import DataProblem
from agentgauge.core.types import Json

Part = dict[str, Any]
"""``{"type": "text", "text"}``, or ``{"type": "local_file", "kind": "image"|"file", "path", "name", "instead"}``: a
file to send.

``path`` is absolute. ``name``: the name that the judge is given. ``instead``: the text that is sent where the
endpoint refuses the file; empty: nothing is.
"""

PDF, IMAGES = (".pdf",), (".png", ".jpg", ".jpeg", ".webp")
SOUNDS, VIDEOS, PAGES = (".mp3", ".wav", ".m4a"), (".mp4", ".mov", ".webm"), (".html", ".txt", ".md", ".json")
"""The table of GTA-Workflow spec 3.2; files of other suffixes are dropped upstream."""

MOST_FILES = 50  # shown to the judge; more are only named
MOST_TEXT = 120_000  # characters of all texts of files together
MOST_NAMED = 200  # files in the closing list

UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Shown:
    """The form in which one file is shown.

    ``files``: absolute paths of PDFs and pictures that stand for it. ``note``: what it is, for the judge. ``text``:
    content shown as text. ``instead``: the text of ``files``, for endpoints that refuse them. ``why``: why nothing can
    be shown, else empty.
    """

    files: tuple[str, ...] = ()
    note: str = ""
    text: str = ""
    instead: str = ""
    why: str = ""


class Converter(Protocol):
    """Converts files into forms that judges accept. All calls block; a failure raises no exception."""

    def to_pdf(self, path: str) -> str | None:
        """A PDF of an HTML, text, Markdown or JSON file; None if that fails."""

    def frames(self, path: str) -> list[str]:
        """Pictures of a video, one every 2.5 s, in order; none if that fails."""

    def show(self, path: str, max_frames: int) -> Shown:
        """The shown form of any file; of a moving picture at most ``max_frames``."""


def flatten(attached: Json) -> list[str]:
    """The paths in a sample's list of files, in order and with repeats (GTA-Workflow spec 3.2). Texts are trimmed;
    blanks, nulls and numbers are left out. Raises DataProblem for an object without a ``path``."""
    if isinstance(attached, str):
        return [attached.strip()] if attached.strip() else []
    if isinstance(attached, list | tuple):
        return [path for item in attached for path in flatten(item)]
    if isinstance(attached, dict):
        path = attached.get("path")
        if not isinstance(path, str):
            shown = str(attached)[:80]
            raise DataProblem(f"attached_files holds an object without a path, {shown}; give its path as text")
        return flatten(path)
    return []


def upstream_parts(attached: Json, *, convert: Converter, upload: Callable[[str], bool]) -> list[Part]:
    """The files as the released judge shows them, to the letter (GTA-Workflow spec 3.2).

    ``upload`` is asked for each file that upstream uploads, in order, and says whether that succeeded. A file that is
    missing, or that cannot be converted or uploaded, is dropped. Raises DataProblem as ``flatten``.
    """
    parts: list[Part] = []
    for path in flatten(attached):
        if Path(path).is_file():
            parts += _upstream(path, convert, upload)
    return parts


def _upstream(path: str, convert: Converter, upload: Callable[[str], bool]) -> Iterator[Part]:
    suffix = PurePath(path).suffix.lower()
    if suffix in PDF + IMAGES:
        if upload(path):
            yield _file(path, PurePath(path).name)
    elif suffix in SOUNDS:
        if upload(path):  # QUIRK (GTA-Workflow spec 3.2): it is uploaded, though only its name is ever sent
            yield _text(f"[Attached audio file exists: {PurePath(path).name}]")
    elif suffix in VIDEOS:
        if upload(path):
            yield from (_file(frame, PurePath(frame).name) for frame in convert.frames(path) if upload(frame))
    elif suffix in PAGES:
        made = convert.to_pdf(path)
        if made is not None and upload(made):
            yield _file(made, PurePath(made).name)
    # QUIRK (GTA-Workflow spec 3.2): whatever else is there is dropped without telling the judge


def extended_parts(files: Sequence[Path], *, convert: Converter, max_frames: int = 8) -> list[Part]:
    """The files as shown by default (GTA-Workflow spec 3.2, "Ours"): each under its name; files that cannot be shown
    are named at the end.

    ``max_frames``: pictures of one video at most. At most MOST_FILES files and MOST_TEXT characters are shown.
    """
    parts: list[Part] = []
    unseen: list[tuple[str, str]] = []
    room = MOST_TEXT
    names = shown_names(files)
    for name, file in zip(names[:MOST_FILES], files, strict=False):
        shown = convert.show(str(file), max_frames)
        if shown.why:
            unseen.append((name, shown.why))
            continue
        parts.append(_text(f"[File {name}: {shown.note}]"))
        for number, path in enumerate(shown.files, start=1):
            title = _title(name, path, number if len(shown.files) > 1 else 0)
            text = shown.instead if number == 1 else ""
            instead = _framed(name, text) if text else f"[{title} could not be sent to you]"
            parts.append(_file(path, title, instead))
        if shown.text:
            text = shown.text if len(shown.text) <= room else f"{shown.text[:room]}\n[cut here: too much text in all]"
            room -= min(len(shown.text), room)
            parts.append(_text(_framed(name, text)))
    unseen += [(name, f"only the first {MOST_FILES} files are shown") for name in names[MOST_FILES:]]
    if unseen:
        lines = [f"- {name}: {why}" for name, why in unseen[:MOST_NAMED]]
        if len(unseen) > MOST_NAMED:
            lines.append(f"- and {len(unseen) - MOST_NAMED} more")
        parts.append(_text("[Files that exist but could not be shown to you:]\n" + "\n".join(lines)))
    return parts


def shown_names(files: Sequence[Path]) -> list[str]:
    """The base name of each file; where several share one, with as much of the folder as they do not share. One line
    each."""
    bases = Counter(file.name for file in files)
    absolute = [os.path.abspath(file) for file in files]  # noqa: PTH100 - resolve() would follow links
    names = []
    for file, path in zip(files, absolute, strict=True):
        name = file.name
        if bases[name] > 1:
            folders = [PurePath(other).parent for other in absolute if PurePath(other).name == name]
            name = PurePath(path).relative_to(os.path.commonpath(folders)).as_posix()
        names.append(name)
    return [UNFIT.sub("\ufffd", name) for name in names]


def _title(name: str, path: str, number: int) -> str:
    """What a file is called that stands for the one of that name."""
    suffix = PurePath(path).suffix
    if number:
        return f"{name}, picture {number}"
    return name if name.lower().endswith(suffix) else name + suffix


def _framed(name: str, text: str) -> str:
    """Content that is not taken for a word to the judge."""
    return f"[File {name} as text, with > before each line:]\n{quoted(text)}\n[End of {name}]"


def _text(text: str) -> Part:
    return {"type": "text", "text": text}


def _file(path: str, name: str, instead: str = "") -> Part:
    kind = "file" if PurePath(path).suffix.lower() in PDF else "image"
    return {"type": "local_file", "kind": kind, "path": os.path.abspath(path), "name": name, "instead": instead}  # noqa: PTH100
