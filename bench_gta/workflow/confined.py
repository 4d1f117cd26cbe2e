"""What looks at delivered files in the sandbox: modules of our own and programs of this machine, which get checked
copies (docs/benchmarks/gta_workflow.md#files-for-the-judge; docs/security.md#files-servers-and-secrets).

What an agent delivers is as untrusted as the code it writes: a library that fails on it, hangs or grows takes only the
child along. A child module reads its order as JSON from standard input and prints one JSON value as its answer.
Chromium is none of the programs: it ends at its start without /proc, which the sandbox does not have.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import unquote

from agentgauge import sandbox
from agentgauge.core.errors import AgentGaugeError, DataProblem
from agentgauge.core.types import Json
from agentgauge.sandbox.paths import package_folders
from bench_gta.workflow.inside.kinds import kind_of, suffix_of

HOLDS_DATA = ("bench_gta", "bench_gta.workflow")
"""A child sees only the ``__init__.py`` of these: they hold the data sets that deliverables are judged by."""

PACKAGES = ("agentgauge", "tool_impls", *HOLDS_DATA, "bench_gta.workflow.inside")
"""The packages of this project that a child may import. It sees them as a whole, except HOLDS_DATA."""

MOST_ANSWER = 32 << 20  # bytes of an answer and of what is printed beside it
MOST_FILE = 256 << 20  # bytes of a file that a child makes
MOST_DISK = 1 << 30  # bytes of all that it makes
MOST_PROCESSES = 64  # and threads; media decoders start one for each core

# The folder of the packages cannot be listed inside, so each package is announced by the place of its own.
_START = """
import contextlib, importlib, importlib.util, runpy, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        place = places.get(name)
        load = importlib.util.spec_from_file_location
        return place and load(name, place + "/__init__.py", submodule_search_locations=[place])
sys.path += more
sys.meta_path.insert(0, Finder)
def main():
    runpy.run_module(module, run_name="__main__", alter_sys=True)
for name in ahead:
    with contextlib.suppress(ImportError):  # the child says what it lacks
        importlib.import_module(name)
if __name__ == "__main__":
    main()
"""


class ChildEnded(DataProblem):
    """A child was ended by a limit, which may be the file's doing or that of a busy machine."""


def run_child(
    module: str,
    order: Json,
    *,
    folder: Path,
    readable: Sequence[Path] = (),
    ahead: Sequence[str] = (),
    keep: bool = True,
    seconds: float = 60,
    memory_mb: int = 2048,
) -> Json:
    """The answer of ``python -m module`` of one of PACKAGES to an order, both JSON values.

    ``folder``: an existing folder, the only one that the child can write, its working directory. ``readable``: files
    and folders that it may read besides. ``ahead``: modules that a prepared process imports for further orders; a child
    that it forks sees the folder by another name. ``keep``: False where no file that the child writes is needed.
    ``seconds``: of wall time and of each process's processor time. ``memory_mb``: MiB of all its processes together.
    Blocks; safe in any thread. Raises DataProblem if the child dies, hangs, uses too much or answers no JSON (the text
    says which, and fits after "cannot be read: "); SandboxFault if it cannot be started; UsageProblem if this machine
    cannot confine it.
    """
    limits = sandbox.SandboxLimits(
        wall_seconds=seconds,
        memory_bytes=memory_mb << 20,
        output_bytes=MOST_ANSWER,
        file_bytes=MOST_FILE,
        disk_bytes=MOST_DISK,
        processes=MOST_PROCESSES,
    )
    text = _start(module, tuple(ahead))
    result = sandbox.run(
        sandbox.Script(text) if ahead else [sys.executable, "-I", "-S", "-c", text],
        folder=folder,
        limits=limits,
        stdin=json.dumps(order).encode(),
        readable=(*_sources(), *readable),
        keep=keep,
    )
    if result.status != "ok":
        raise (DataProblem if result.status == "error" else ChildEnded)(
            f"the program that looked at it was ended: {result.reason}{_last_line(result)}"
        )
    try:
        return json.loads(result.stdout)
    except (ValueError, RecursionError):
        raise DataProblem("the program that looked at it gave no answer") from None


@lru_cache(maxsize=1)
def _packages() -> dict[str, str]:
    """Where each of PACKAGES lies: beside the others."""
    root = Path(__file__).resolve().parents[2]
    return {name: str(root.joinpath(*name.split("."))) for name in PACKAGES}


@lru_cache(maxsize=1)
def _sources() -> tuple[Path, ...]:
    """What is read of them."""
    return tuple(
        Path(place) / "__init__.py" if name in HOLDS_DATA else Path(place) for name, place in _packages().items()
    )


@lru_cache
def _start(module: str, ahead: Sequence[str]) -> str:
    return f"places, module, more, ahead = {(_packages(), module, list(package_folders()), ahead)!r}\n{_START}"


def _last_line(result: sandbox.SandboxResult) -> str:
    """What a child that ended with an error said last, cut to a line's length: the exception and its message."""
    line = result.stderr.strip().rpartition("\n")[2].strip() if result.status == "error" else ""
    return f" ({line[:200]})" if line else ""


_FONTS = ("/etc/fonts", "/usr/share/fonts", "/usr/local/share/fonts", "/usr/share/fontconfig", "/var/cache/fontconfig")
_OFFICE = tuple(f"{place}/libreoffice" for place in ("/etc", "/usr/share", "/var/lib"))
_SHARED = ("/usr/share/liblangtag", "/usr/share/mime")

# of wkhtmltopdf and of LibreOffice: docs/benchmarks/gta_workflow.md#files-for-the-judge
PAGE_SECONDS, OFFICE_SECONDS = 15.0, 180.0
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
        limits=sandbox.SandboxLimits(wall_seconds=PAGE_SECONDS, memory_bytes=_PAGE_MEMORY),
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
    limits = sandbox.SandboxLimits(
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
class DeliveredFile:
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


def take(path: Path) -> DeliveredFile:
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
    return DeliveredFile(path, safe_name(path.name), size, digest.hexdigest(), companions)


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
