"""What the code may read: the interpreter, its standard library, the installed packages, the system's shared libraries."""

# Plain texts throughout: Path.resolve() would follow links that must stay.
# ruff: noqa: PTH100, PTH110, PTH115, PTH118, PTH120
from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

_SYSTEM = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/etc/ld.so.cache")
_PARTS = ("bin", "lib", "lib64", "pyvenv.cfg")  # of a prefix: not all of it, a project may be its own virtual environment
_SHARED_PREFIXES = ("/", "/usr", "/usr/local")  # their bin holds the programs of the whole system


@lru_cache(maxsize=1)
def package_folders() -> tuple[str, ...]:
    """The folders of installed packages on this interpreter's path."""
    return tuple(path for path in sys.path if Path(path).name in ("site-packages", "dist-packages") and Path(path).is_dir())


@lru_cache(maxsize=1)
def interpreter_paths() -> tuple[tuple[str, str], ...]:
    """Pairs of a real path and the place where it must appear, parents before children."""
    wanted = [*_SYSTEM, *package_folders(), *_links(sys.executable)]
    for prefix in {sys.prefix, sys.base_prefix}:
        if prefix not in _SHARED_PREFIXES:
            wanted += [os.path.join(prefix, part) for part in _PARTS]
    return places(wanted)


def places(paths: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Pairs of a real path and the place where it must appear: as given and, through links, as it really is."""
    chosen: dict[str, str] = {}
    for path in paths:
        real = os.path.realpath(path)
        if os.path.exists(real):
            chosen[os.path.abspath(path)] = real
            chosen[real] = real
    kept: list[tuple[str, str]] = []
    for target, source in sorted(chosen.items()):
        if not any(_inside(source, target, above) for above in kept):
            kept.append((source, target))
    return tuple(kept)


def _inside(source: str, target: str, above: tuple[str, str]) -> bool:
    """True if a pair that is already there shows this one as well: the file itself, or the link to it.

    A link must stay one. What it leads to has a pair of its own, which may not be there yet when this one's turn comes.
    """
    above_source, above_target = above
    return target.startswith(above_target + "/") and source == os.path.realpath(above_source + target[len(above_target) :])


def _links(path: str) -> Iterator[str]:
    """A path and every link on the way to the file itself."""
    for _ in range(40):  # as many as the kernel follows
        yield path
        try:
            path = os.path.join(os.path.dirname(path), os.readlink(path))
        except OSError:
            return
