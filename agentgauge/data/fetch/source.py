"""Where official data comes from: a source lists files with their addresses and published sizes and checksums."""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agentgauge.core.redaction import without_logins

if TYPE_CHECKING:
    import httpx2

Report = Callable[[str], None]
"""Prints one line for the user."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    name: str  # relative path, with slashes
    url: str  # without a mirror: what the lock file keeps
    address: str  # what is requested
    size: int | None = None  # bytes, where it is published
    sha256: str | None = None  # where it is published
    git_sha1: str | None = None  # of the git object with this content, where that is published instead
    headers: dict[str, str] = field(default_factory=dict)
    local: Path | None = None  # a copy on this machine that is taken instead

    @property
    def published(self) -> bool:
        return bool(self.sha256 or self.git_sha1)

    @property
    def shown(self) -> str:
        """The address without a password, for messages."""
        return without_logins(self.address)


@dataclass(frozen=True, slots=True)
class Listing:
    source: str  # names it in the lock file, the same for every mirror: "https://github.com/OWNER/REPO/releases/tag/v1"
    revision: str
    files: tuple[RemoteFile, ...]


class Source(ABC):
    """A publisher of data."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """As ``Listing.source``."""

    @property
    def shown(self) -> str:
        """Its address, for messages."""
        return self.identity

    @abstractmethod
    def listing(self, client: httpx2.Client, mirror: str | None, pinned: str | None, report: Report) -> Listing:
        """The files. ``mirror`` replaces scheme and host; ``pinned`` is the revision of a lock file.

        Raises UsageProblem where the source cannot be reached or has no fitting file.
        """


def stays_inside(name: str) -> bool:
    """Whether an untrusted relative path stays below the folder that it is put in, on every system."""
    parts = name.removesuffix("/").split("/")
    odd = "\\" in name or re.match(r"[A-Za-z]:", name) or any(unicodedata.category(sign) == "Cc" for sign in name)
    return not odd and not any(part in ("", ".", "..") for part in parts)


def mirrored(url: str, mirror: str | None) -> str:
    """The URL at a mirror: the mirror's scheme and host, the mirror's path, then the URL's own path."""
    if mirror is None:
        return url
    parts = urlsplit(url)
    return mirror.rstrip("/") + parts.path + (f"?{parts.query}" if parts.query else "")
