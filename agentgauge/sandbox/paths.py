"""The files that a program may see: the interpreter with its library, other projects' packages, the system's shared
libraries.

The packages of this project, and packages that announce tasks, are left out, because their data sets hold the gold. The
folders given to ``hide`` are left out, too, wherever they lie.
"""

# Plain texts throughout: Path.resolve() would follow links that must stay.
# ruff: noqa: PTH100, PTH110, PTH112, PTH115, PTH118, PTH119, PTH120, PTH207
from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from agentgauge.core.announcement import package_of, plugins

HIDDEN = "AGENTGAUGE_HIDDEN"
"""Environment variable with the folders that were given to ``hide``, so that the processes of a run know them too."""

_SYSTEM = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/etc/ld.so.cache")
_PARTS = ("bin", "lib", "lib64", "pyvenv.cfg")  # of a prefix; a project may be its own virtual environment
_SHARED_PREFIXES = ("/", "/usr", "/usr/local")  # their bin holds the programs of the whole system
_PACKAGE_FOLDERS = ("site-packages", "dist-packages")
_OWN = (
    "bench_*",
    "bundled_data",
    "agentgauge",
    "tool_impls",
    "agentgauge*",
    "__editable__*agentgauge*",
)
"""What an installation of this project puts into a folder of packages, and what a checkout has beside it."""
_ROOT = os.path.realpath(Path(__file__).parents[2])
"""The folder that this project's packages lie in: one of packages, or that of the project."""


@dataclass(frozen=True, slots=True)
class FileView:
    """The part of the machine's files that a program sees.

    ``mounts``: where there is a file system of the program's own, pairs of a real path and the place where it
    appears, parents before children; a pair without a real path stands for a file or folder that appears empty.
    ``readable``: where there is none, the real paths that it may read; and ``listed``, the folders whose names it may
    read besides.
    """

    mounts: tuple[tuple[str, str], ...]
    readable: tuple[str, ...]
    listed: tuple[str, ...]


def hide(folders: Iterable[Path]) -> None:
    """Hide these folders from all programs in sandboxes, in this process and in its child processes.

    A folder within them stays visible to a run that names it as readable.
    """
    known = _given()
    new = [path for path in dict.fromkeys(os.path.realpath(folder) for folder in folders) if path not in known]
    if new:
        os.environ[HIDDEN] = os.pathsep.join((*known, *new))


@lru_cache(maxsize=1)
def package_folders() -> tuple[str, ...]:
    """The folders of installed packages on this interpreter's path."""
    return tuple(path for path in sys.path if Path(path).name in _PACKAGE_FOLDERS and Path(path).is_dir())


def view(readable: Iterable[str] = (), *, packages: bool = True) -> FileView:
    """The view of a program that may also read these paths. ``packages``: whether it sees installed packages."""
    readable = tuple(readable)
    hidden = {*_own(), *_given()} if packages else {*_own(), *_given(), *map(os.path.realpath, package_folders())}
    mounts = _arranged({**_interpreter(packages), **_chosen(readable)}, hidden | _own_in(readable))
    return FileView(mounts, *_without_mounts(mounts))


@lru_cache(maxsize=2)
def _interpreter(packages: bool) -> Mapping[str, str]:
    """What the interpreter needs, place by real path."""
    wanted = [*_SYSTEM, *(package_folders() if packages else ()), *_links(sys.executable)]
    for prefix in {sys.prefix, sys.base_prefix}:
        if prefix not in _SHARED_PREFIXES:
            wanted += [os.path.join(prefix, part) for part in _PARTS]
    return _chosen(wanted)


def _chosen(paths: Iterable[str]) -> dict[str, str]:
    """The real path by the place where it must appear."""
    chosen: dict[str, str] = {}
    for path in paths:
        real = os.path.realpath(path)
        if os.path.exists(real):
            chosen[os.path.abspath(path)] = real
            chosen[real] = real
    return chosen


def _given() -> tuple[str, ...]:
    return tuple(filter(None, os.environ.get(HIDDEN, "").split(os.pathsep)))


@lru_cache(maxsize=1)
def _own() -> tuple[str, ...]:
    """The real paths of what belongs to this project, in every folder of packages that programs see."""
    folders = {*package_folders()}
    if os.path.basename(_ROOT) in _PACKAGE_FOLDERS:
        folders.add(_ROOT)
    for library in {real for real in _interpreter(True).values() if os.path.isdir(real)}:
        for name in _PACKAGE_FOLDERS:
            folders.update(glob.glob(os.path.join(glob.escape(library), "python3*", name)))
    found = {path for folder in folders for own in _OWN for path in glob.glob(os.path.join(glob.escape(folder), own))}
    return tuple({os.path.realpath(path) for path in (*found, *_announcing())} | ({_ROOT} - folders))


@lru_cache(maxsize=8)
def _own_in(readable: tuple[str, ...]) -> set[str]:
    """The real paths of what belongs to this project in other virtual environments and libraries."""
    places = [f"{glob.escape(path)}{library}/python3*" for path in readable for library in ("", "/lib")]
    folders = [f"{place}/{name}" for place in places for name in _PACKAGE_FOLDERS]
    return {os.path.realpath(path) for folder in folders for own in _OWN for path in glob.glob(f"{folder}/{own}")}


def _announcing() -> Iterator[str]:
    """The folders of packages, and single modules, with a plugin: it may announce tasks, whose gold is beside it."""
    for package in set(map(package_of, plugins())):
        spec = find_spec(package)
        if spec is not None:
            yield from spec.submodule_search_locations or filter(None, [spec.origin])


def _arranged(chosen: Mapping[str, str], hidden: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """The pairs of ``FileView.mounts``. Hidden paths are empty wherever they would appear, but for what is chosen
    within."""
    empty = {
        target + path[len(source) :]: ""
        for path in hidden
        for target, source in chosen.items()
        if path.startswith(source + "/")
    }
    kept: dict[str, str] = {}
    for target, source in sorted({**empty, **chosen}.items()):
        above = next((place for place in _parents(target) if place in kept), None)
        shown = kept[above] + target[len(above) :] if above and kept[above] else None
        if shown is None:
            needed = bool(source)
        elif source:  # a link must stay one; what it leads to has a place of its own, whose turn may not have come yet
            needed = os.path.realpath(shown) != source
        else:
            needed = os.path.exists(shown)
        if needed:
            kept[target] = source
    return tuple((source, target) for target, source in kept.items())


def _without_mounts(mounts: Iterable[tuple[str, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """``FileView.readable`` and ``FileView.listed``.

    Rights cannot be taken away below a folder, so what lies there is named one by one.
    """
    mounts = tuple(mounts)
    sources = dict.fromkeys(source for source, target in mounts if source == target)
    empty = tuple(target for source, target in mounts if not source)
    readable: list[str] = []
    listed: list[str] = []
    for source in sources:
        found, folders = _split(source, tuple(path for path in empty if path.startswith(source + "/")))
        readable += found
        listed += folders
    return tuple(readable), tuple(listed)


@lru_cache(maxsize=64)
def _split(folder: str, empty: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """As few paths in a folder as possible without those that are to appear empty; and the folders that were split.

    Links are left out: what they lead to is readable if it has a place of its own.
    """
    if not empty:
        return (folder,), ()
    readable: list[str] = []
    listed = [folder]
    for entry in os.scandir(folder):
        if entry.path in empty or entry.is_symlink():
            continue
        found, folders = _split(entry.path, tuple(path for path in empty if path.startswith(entry.path + "/")))
        readable += found
        listed += folders
    return tuple(readable), tuple(listed)


def _parents(path: str) -> Iterator[str]:
    """The folders above a path, the nearest first."""
    while (above := os.path.dirname(path)) != path:
        yield above
        path = above


def _links(path: str) -> Iterator[str]:
    """A path and every link on the way to the file itself."""
    for _ in range(40):  # as many as the kernel follows
        yield path
        try:
            path = os.path.join(os.path.dirname(path), os.readlink(path))
        except OSError:
            return
