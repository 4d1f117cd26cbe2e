"""Fingerprints of tools: two runs with the same fingerprints used the same tools."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import Distribution, distributions, version
from inspect import getmodulename
from pathlib import Path
from typing import Any

from agentgauge.core.atomic_write import write_whole
from agentgauge.core.index import cache_folder
from agentgauge.core.redaction import without_logins
from agentgauge.data.fetch.lock import NAME
from tool_impls.availability import check
from tool_impls.base import BenchTool
from tool_impls.devices import DEVICE
from tool_impls.options import Option
from tool_impls.registry import BACKENDS, TOOLS
from tool_impls.settings import ToolSettings


def fingerprints(
    settings: ToolSettings, names: Iterable[str], devices: Mapping[str, str] | None = None
) -> dict[str, dict[str, Any]]:
    """For each tool its state, version, back end, versions of its packages, options, and a digest of its weights; for a
    tool in ``devices`` also where its model runs.
    """
    where = {name: {"device": device} for name, device in (devices or {}).items()}
    states = check(settings, names)
    return {name: _fingerprint(name, state, settings) | where.get(name, {}) for name, state in states.items()}


def look_up_packages() -> None:
    """Look up the packages of all tools, once in a process."""
    for kind in TOOLS.values():
        _versions(kind.packages)


def _fingerprint(name: str, state: str, settings: ToolSettings) -> dict[str, Any]:
    kind = TOOLS[name]
    packages = _versions((*kind.packages, *kind.form_packages(settings)))
    return _stated(name, state, settings) | {"packages": packages | _own_version(kind)}


def _stated(name: str, state: str, settings: ToolSettings) -> dict[str, Any]:
    """A fingerprint but for the packages."""
    kind = TOOLS[name]
    found: dict[str, Any] = {
        "state": state,
        "version": kind.version,
        "backend": kind.backend(settings),
        "options": _options(settings, name, kind.options),
    }
    for table in kind.tables:
        options = _options(settings, table, [one for one in BACKENDS[table] if (table, one.name) not in _UNTOLD])
        found["options"] |= {f"{table}.{option}": value for option, value in options.items()}
    if weights := kind.weights(settings):
        found["weights"] = _remembered(weights)
    return found


def _own_version(kind: type[BenchTool]) -> dict[str, str]:
    """Of a tool of another package, that package's version."""
    return {} if kind.distribution == BenchTool.distribution else {kind.distribution: version(kind.distribution)}


_UNTOLD = {("speech", "backend"), ("speech", "batch")}
"""Options that came later: the first stands in ``backend``, and no result depends on the second."""


def _options(settings: ToolSettings, table: str, options: Iterable[Option]) -> dict[str, Any]:
    """The values of options, but for the name of a key and for devices. Of a path, what lies there counts and not
    where."""
    values = {}
    for option in options:
        value = settings.value(table, option)
        if option.kind in ("path", "weights") and value is not None and Path(value).exists():
            value = _remembered((Path(value),))
        if option.name not in ("key_env", DEVICE.name):
            values[option.name] = without_logins(value) if isinstance(value, str) else value
    return values


@cache
def _distributions() -> Mapping[str, list[Distribution]]:
    """Import name → what is installed under it. As importlib.metadata's packages_distributions, which makes an object
    of every installed file and takes five times as long."""
    found: dict[str, list[Distribution]] = {}
    for distribution in distributions():
        names = set((distribution.read_text("top_level.txt") or "").split())
        if not names:
            files = (distribution.read_text("RECORD") or "").splitlines()
            firsts = (line.partition(",")[0].partition("/") for line in files)
            names = {name for first, folder, _ in firsts if (name := first if folder else getmodulename(first))}
        for name in names:
            found.setdefault(name, []).append(distribution)
    return found


@cache
def _versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Versions of the distributions behind import names; a missing one is left out."""
    found: dict[str, str] = {}
    for distribution in (one for package in packages for one in _distributions().get(package, ())):
        found.setdefault(distribution.metadata["Name"].lower(), distribution.metadata["Version"])
    return dict(sorted(found.items()))  # of two of a name the one that Python finds first


def _remembered(paths: tuple[Path, ...]) -> str:
    """SHA-256 over the names and contents of files and folders, shortened to 16 hex digits.

    Weights may be many gigabytes, so it is kept in the user's cache under their paths, sizes and times of change.
    """
    files = [(path.parent, file) for path in sorted(paths) for file in _files(path)]
    key = json.dumps([[str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns] for _, file in files])
    kept = cache_folder().with_name("weights") / hashlib.sha256(key.encode()).hexdigest()[:32]
    if kept.is_file():
        return kept.read_text("utf-8")
    summary = hashlib.sha256()
    for base, file in files:
        summary.update(f"{file.relative_to(base)}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as stream:
            while chunk := stream.read(2**20):
                summary.update(chunk)
    value = summary.hexdigest()[:16]
    with suppress(OSError):  # a home that cannot be written
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, value.encode())
    return value


def _files(path: Path) -> list[Path]:
    """All but what Python made of code, and the note of ``agentgauge fetch``, which has the time of a check."""
    if path.is_file():
        return [path]
    found = (item for item in path.rglob("*") if item.is_file() and item.parent.name != "__pycache__")
    return sorted(item for item in found if item.name != NAME)
