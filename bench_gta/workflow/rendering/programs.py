"""The programs of this machine that turn documents into PDFs, and the paths that they must read in the sandbox
(GTA-Workflow spec 3.2).

Chromium is none of them: it ends at its start without /proc and UNIX sockets, and the sandbox has neither.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

LIBRARIES = ("libmergedlo.so", "libsofficeapp.so")  # of distributions, and of the Document Foundation
_FONTS = ("/etc/fonts", "/usr/share/fonts", "/usr/local/share/fonts", "/usr/share/fontconfig", "/var/cache/fontconfig")
_OFFICE = tuple(f"{place}/libreoffice" for place in ("/etc", "/usr/share", "/var/lib"))
_SHARED = ("/usr/share/liblangtag", "/usr/share/mime")


@dataclass(frozen=True, slots=True)
class Program:
    """``path``: the program, or LibreOffice's folder. ``readable``: what it reads besides the system's libraries."""

    path: Path
    readable: tuple[Path, ...]


def wkhtmltopdf() -> Program | None:
    """The program with which upstream makes PDFs of pages and texts; None if it is not installed."""
    found = shutil.which("wkhtmltopdf")
    return Program(Path(found), _existing((found, *_FONTS))) if found else None


def office() -> Program | None:
    """LibreOffice; None where it is missing or its library cannot be loaded (a Snap, a Flatpak)."""
    for name in ("soffice", "libreoffice"):
        found = shutil.which(name)
        folder = Path(found).resolve().parent if found else None
        if folder and any((folder / library).is_file() for library in LIBRARIES):
            return Program(folder, _existing((str(folder.parent), *_FONTS, *_OFFICE, *_SHARED)))
    return None


def found() -> dict[str, str]:
    """Name and place of each program, for the record of a run; an empty place where it is missing."""
    return {
        name: str(program.path) if program else ""
        for name, program in (("wkhtmltopdf", wkhtmltopdf()), ("LibreOffice", office()))
    }


def _existing(paths: tuple[str, ...]) -> tuple[Path, ...]:
    return tuple(path for path in map(Path, paths) if path.exists())
