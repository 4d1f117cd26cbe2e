"""What identifies a set of tools: two runs with the same fingerprints asked the same tools."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import Distribution, distributions
from inspect import getmodulename
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from agentgauge.core.redaction import without_logins
from tool_impls.availability import check
from tool_impls.options import Option
from tool_impls.registry import BACKENDS, TOOLS
from tool_impls.settings import ToolSettings
from tool_impls.weights import digest


def fingerprints(settings: ToolSettings, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """For each tool its state, version, back end, the versions of its packages, its options and a digest of its
    weights."""
    return {name: _fingerprint(name, state, settings) for name, state in check(settings, names).items()}


def look_up_packages() -> None:
    """Those of all tools. They are looked up once in a process."""
    for kind in TOOLS.values():
        _versions(kind.packages)


def _fingerprint(name: str, state: str, settings: ToolSettings) -> dict[str, Any]:
    kind = TOOLS[name]
    found: dict[str, Any] = {
        "state": state,
        "version": kind.version,
        "backend": kind.backend(settings),
        "packages": _versions(kind.packages),
        "options": _options(settings, name, kind.options),
    }
    for table in kind.tables:
        found["options"] |= {
            f"{table}.{option}": value for option, value in _options(settings, table, BACKENDS[table]).items()
        }
    if weights := kind.weights(settings):
        found["weights"] = _remembered(weights)
    return found


def _options(settings: ToolSettings, table: str, options: tuple[Option, ...]) -> dict[str, Any]:
    """The values of options. Where one is a path, what lies there counts and not where; the name of a key is
    left out."""
    values = {}
    for option in options:
        value = settings.value(table, option)
        if option.kind in ("path", "weights") and value is not None and Path(value).exists():
            value = _remembered((Path(value),))
        if option.name != "key_env":
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
            firsts = (
                line.partition(",")[0].partition("/") for line in (distribution.read_text("RECORD") or "").splitlines()
            )
            names = {name for first, folder, _ in firsts if (name := first if folder else getmodulename(first))}
        for name in names:
            found.setdefault(name, []).append(distribution)
    return found


def _versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of the distributions behind import names; a missing one is left out."""
    found: dict[str, str] = {}
    for package in packages:
        for name, version in _versions_of(package):
            found.setdefault(name, version)  # of two the one that Python finds first
    return dict(sorted(found.items()))


@cache
def _versions_of(package: str) -> list[tuple[str, str]]:
    found = (distribution.metadata for distribution in _distributions().get(package, ()))
    return [(metadata["Name"].lower(), metadata["Version"]) for metadata in found]


def _remembered(paths: tuple[Path, ...]) -> str | None:
    """The digest of weights, which may be many gigabytes: kept in the user's cache under their paths, sizes and
    times of change."""
    files = [
        file
        for path in paths
        for file in ([path] if path.is_file() else sorted(item for item in path.rglob("*") if item.is_file()))
    ]
    key = json.dumps([[str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns] for file in files])
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path("~").expanduser() / ".cache") / "agentgauge" / "weights"
    kept = base / hashlib.sha256(key.encode()).hexdigest()[:32]
    if kept.is_file():
        return kept.read_text("utf-8")
    value = digest(paths)
    if value is not None and os.access(base.parent.parent, os.W_OK):
        base.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=base, delete=False, encoding="utf-8") as file:
            file.write(value)
        Path(file.name).replace(kept)
    return value
