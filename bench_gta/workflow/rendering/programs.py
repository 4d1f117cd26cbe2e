"""The programs of this machine that turn documents into PDFs, run in the sandbox (GTA-Workflow spec 3.2).

Chromium is none of them: it ends at its start without /proc, which the sandbox does not have.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from agentgauge import sandbox

_FONTS = ("/etc/fonts", "/usr/share/fonts", "/usr/local/share/fonts", "/usr/share/fontconfig", "/var/cache/fontconfig")
_OFFICE = tuple(f"{place}/libreoffice" for place in ("/etc", "/usr/share", "/var/lib"))
_SHARED = ("/usr/share/liblangtag", "/usr/share/mime")

PAGE_SECONDS, OFFICE_SECONDS = 15.0, 180.0  # of wkhtmltopdf and of LibreOffice: GTA-Workflow spec 3.2
_PAGE_MEMORY, _OFFICE_MEMORY = 2048 << 20, 3072 << 20  # bytes
_LARGEST_FILE, _MOST_DISK = 256 << 20, 1 << 30  # bytes that a program writes
_STARTS_AGAIN = 81  # exit status with which LibreOffice has made its profile
_SOCKETS = "/dev/shm"  # of the sandbox; the path of a socket has at most 107 bytes, so the folder may be too deep


@dataclass(frozen=True, slots=True)
class Program:
    """``readable``: what the program reads besides the system's libraries."""

    path: Path
    readable: tuple[Path, ...]


def wkhtmltopdf() -> Program | None:
    """The program with which upstream makes PDFs of pages and texts; None if it is not installed."""
    found = shutil.which("wkhtmltopdf")
    return Program(Path(found), _existing((found, *_FONTS))) if found else None


def office() -> Program | None:
    """LibreOffice; None where it is missing, or where only its starter is found (a Snap, a Flatpak)."""
    for name in ("soffice", "libreoffice"):
        found = shutil.which(name)
        program = Path(found).resolve().with_name("soffice.bin") if found else None
        if program and program.is_file():
            return Program(program, _existing((str(program.parents[1]), *_FONTS, *_OFFICE, *_SHARED)))
    return None


def found() -> dict[str, str]:
    """Name and place of each program, for the record of a run; an empty place where it is missing."""
    return {
        name: str(program.path) if program else ""
        for name, program in (("wkhtmltopdf", wkhtmltopdf()), ("LibreOffice", office()))
    }


def run_wkhtmltopdf(program: Program, page: Path, made: Path, *, scripts: bool) -> sandbox.SandboxResult:
    """Make a PDF of a page or a text. Both paths are in one folder, which the program may write."""
    words = ["--quiet", *([] if scripts else ["--disable-javascript", "--enable-local-file-access"])]
    return sandbox.run(
        [str(program.path), *words, str(page), str(made)],
        folder=page.parent,
        limits=sandbox.Limits(wall_seconds=PAGE_SECONDS, memory_bytes=_PAGE_MEMORY),
        env={"QT_QPA_PLATFORM": "offscreen"},
        readable=program.readable,
    )


def run_office(program: Program, file: Path, kind: str) -> sandbox.SandboxResult:
    """Convert a file with ``soffice --headless --convert-to``, as the released evaluator does. ``kind``: ``pdf`` or
    ``png``. The result, if any, is beside the file and untrusted. Without namespaces the program cannot start, because
    it talks to itself through a UNIX socket."""
    folder = file.parent
    words = [f"-env:UserInstallation={(folder / 'profile').as_uri()}", f"-env:OSL_SOCKET_PATH={_SOCKETS}"]
    if file.suffix in (".html", ".htm"):
        words.append("--infilter=HTML (StarWriter)")  # the usual one loses what stands before the first picture
    words += ["--headless", "--norestore", "--convert-to", kind, "--outdir", str(folder), str(file)]
    limits = sandbox.Limits(
        wall_seconds=OFFICE_SECONDS,
        memory_bytes=_OFFICE_MEMORY,
        file_bytes=_LARGEST_FILE,
        disk_bytes=_MOST_DISK,
        processes=64,
    )
    for _ in range(2):
        result = sandbox.run(
            [str(program.path), *words],
            folder=folder,
            limits=limits,
            env={"SAL_USE_VCLPLUGIN": "svp", "LD_LIBRARY_PATH": str(program.path.parent)},  # no display, no /proc
            readable=program.readable,
            unix_sockets=True,
        )
        if result.returncode != _STARTS_AGAIN:
            break
    return result


def _existing(paths: tuple[str, ...]) -> tuple[Path, ...]:
    return tuple(path for path in map(Path, paths) if path.exists())
