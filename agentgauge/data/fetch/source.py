"""Where official data comes from: a source lists files, each with an address and whatever its publisher says of its
content."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from agentgauge.core.redaction import without_logins

if TYPE_CHECKING:
    import httpx2

Say = Callable[[str], None]
"""Tells the user one line."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One file of a source."""

    name: str  # relative path, with slashes
    url: str  # without a mirror: what the lock file keeps
    address: str  # what is asked
    size: int | None = None  # bytes, where it is published
    sha256: str | None = None  # where it is published
    git_sha1: str | None = None  # of the git object with this content, where that is published instead
    headers: dict[str, str] = field(default_factory=dict)
    local: Path | None = None  # a copy on this machine that is taken instead

    @property
    def published(self) -> bool:
        """Whether its publisher tells a checksum."""
        return bool(self.sha256 or self.git_sha1)

    @property
    def shown(self) -> str:
        """For people: what is asked, without a password."""
        return without_logins(self.address)


@dataclass(frozen=True, slots=True)
class Listing:
    """What a source offers."""

    source: str  # names it in the lock file, the same for every mirror: "https://github.com/OWNER/REPO/releases/tag/v1"
    revision: str
    files: tuple[Wanted, ...]


class Source(Protocol):
    """A place that data is published at."""

    @property
    def identity(self) -> str:
        """As ``Listing.source``."""

    @property
    def shown(self) -> str:
        """For people: where it is."""

    def offered(self, client: httpx2.Client, mirror: str | None, pinned: str | None, say: Say) -> Listing:
        """What is there. ``mirror`` stands for scheme and host; ``pinned`` is the revision of a lock file.

        Raises UsageProblem where the place cannot be reached or has nothing that fits.
        """


def stays_inside(name: str) -> bool:
    """Whether a stranger's relative path means one file or folder below the folder that it is put in, on every
    system."""
    parts = name.removesuffix("/").split("/")
    odd = "\\" in name or re.match(r"[A-Za-z]:", name) or any(unicodedata.category(sign) == "Cc" for sign in name)
    return not odd and not any(part in ("", ".", "..") for part in parts)


def mirrored(url: str, mirror: str | None) -> str:
    """The URL with a mirror's scheme and host, and behind the mirror's path."""
    if mirror is None:
        return url
    parts = urlsplit(url)
    return mirror.rstrip("/") + parts.path + (f"?{parts.query}" if parts.query else "")
