"""Delivered files for a converter: checked, named, and copied with what lies beside them (GTA-Workflow spec 3.2)."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import unquote

from agentgauge.core.errors import AgentGaugeError
from bench_gta.workflow.rendering.kinds import kind_of, suffix_of

LARGEST = 256 << 20  # bytes of a file that is looked at
MOST_COMPANIONS, LARGEST_COMPANION = 30, 8 << 20  # pictures and style sheets of one page, bytes of each
MOST_SEARCHED = 4 << 20  # bytes of a page that are searched for their names

_REFERENCE = re.compile(
    r"""(?:\b(?:src|href)\s*=\s*|url\(\s*|!\[[^\]\n]{0,200}\]\(\s*)["']?([^"'<>()\s]{1,300})""", re.IGNORECASE
)
_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)


class Unfit(AgentGaugeError):
    """A file cannot be shown; the text says why and fits after its name and a colon."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file to show. ``name`` is its base name made safe; ``companions``: by its name in the text, a file beside it
    and that file's place below the folder of the source."""

    path: Path
    name: str
    size: int  # bytes
    digest: str  # SHA-256 of its content, in hex
    companions: dict[str, tuple[Path, PurePosixPath]] = field(default_factory=dict)

    def copy_to(self, folder: Path) -> dict[str, str]:
        """Copy it and its companions into a folder. Where each companion is there, by the name that the text has."""
        copy(self.path, folder / self.name)
        placed = {}
        for name, (path, place) in self.companions.items():
            target = folder / place
            if not target.exists():
                try:
                    target.parent.mkdir(parents=True, exist_ok=True)
                except (FileExistsError, NotADirectoryError):
                    continue  # the safe name of the source is that of a folder beside it
                copy(path, target)
            placed[name] = str(target)
        return placed


def take(path: Path) -> Source:
    """Look at a file. Raises Unfit for a file that is missing, not regular (such as a link), empty or too large."""
    digest = hashlib.sha256()
    kind = kind_of(path.name)
    with opened(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        text = stream.read(MOST_SEARCHED) if kind in ("page", "markdown") else b""
        digest.update(text)
        while piece := stream.read(1 << 20):
            digest.update(piece)
    companions = dict(islice(_companions(text.decode("utf-8", "replace"), path.parent), MOST_COMPANIONS))
    for name, (beside, _) in companions.items():
        with opened(beside) as stream:
            digest.update(name.encode("utf-8", "replace") + stream.read(LARGEST_COMPANION))
    return Source(path, safe_name(path.name), size, digest.hexdigest(), companions)


def safe_name(name: str) -> str:
    """A base name of plain characters that keeps the kind of the file."""
    suffix = suffix_of(name)
    stem = name[: -len(suffix)] if suffix and name.lower().endswith(suffix) else name
    return (_UNSAFE.sub("_", stem).strip("._-")[:60] or "file") + _UNSAFE.sub("", suffix)


def opened(path: Path) -> IO[bytes]:
    """A regular file opened for reading. A link is not followed. Raises Unfit."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Unfit("it does not exist") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Unfit("it is a link" if path.is_symlink() else f"it cannot be opened ({reason})") from None
    info, why = os.fstat(descriptor), ""
    if not stat.S_ISREG(info.st_mode):
        why = "it is no regular file"
    elif not info.st_size:
        why = "the file is empty"
    elif info.st_size > LARGEST:
        why = f"it has {info.st_size >> 20:,} MB; at most {LARGEST >> 20} MB are looked at"
    if why:
        os.close(descriptor)
        raise Unfit(why)
    return os.fdopen(descriptor, "rb")


def copy(source: Path, target: Path) -> None:
    """Copy a regular file, not a link. Raises Unfit."""
    with opened(source) as stream, target.open("xb") as file:
        shutil.copyfileobj(stream, file, 1 << 20)


def _companions(text: str, folder: Path) -> Iterator[tuple[str, tuple[Path, PurePosixPath]]]:
    """Pictures and style sheets below the folder that a page names, by the names that it uses."""
    root = folder.resolve()
    for name in dict.fromkeys(match[1] for match in _REFERENCE.finditer(text)):
        relative = _relative(name)
        if relative and (kind_of(relative.name) in ("picture", "drawing") or relative.suffix.lower() == ".css"):
            with contextlib.suppress(OSError, ValueError, RuntimeError):  # a name that no file can have
                path = root / relative
                sound = path.resolve() == path and path.is_file() and os.access(path, os.R_OK)
                if sound and 0 < path.stat().st_size <= LARGEST_COMPANION:
                    yield name, (path, relative)


def _relative(name: str) -> PurePosixPath | None:
    """A reference as a path below the page's folder; None for addresses, absolute paths and ways upwards."""
    path = PurePosixPath(unquote(re.split(r"[?#]", name, maxsplit=1)[0]))
    if ":" in path.as_posix() or "\\" in path.as_posix() or path.is_absolute() or ".." in path.parts or not path.name:
        return None
    return path
