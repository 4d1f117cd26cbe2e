"""What packages and Python files announce: versions, entry points, tasks."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from agentgauge.core.errors import UsageProblem

# -- What Python's package metadata says of AgentGauge: its version, and what it announces by entry points.
#
# A checkout that is not installed has no metadata. There both come from its ``pyproject.toml``, which an installation
# makes the metadata of.


NAME = "agentgauge"
_PROJECT_FILE = Path(__file__).parents[2] / "pyproject.toml"


def own_version() -> str:
    """A checkout that is not installed has the version that setuptools-scm falls back to where it finds no tag.

    Raises PackageNotFoundError outside of both.
    """
    try:
        return version(NAME)
    except PackageNotFoundError:
        if not (project := _checkout()):
            raise
        return str(project["tool"]["setuptools_scm"]["fallback_version"])


def announced(group: str) -> list[EntryPoint]:
    """The entry points of a group: of all installed packages, and of AgentGauge where it is not installed."""
    found = list(_all_announced(tuple(sys.path)).select(group=group))
    try:
        version(NAME)
    except PackageNotFoundError:
        own = _checkout().get("project", {}).get("entry-points", {}).get(group, {})
        found += [EntryPoint(name, value, group) for name, value in own.items()]
    return found


@lru_cache(maxsize=2)
def _all_announced(_path: tuple[str, ...]) -> Any:
    """Of all packages on ``sys.path``: one look at their files takes as long as a dozen imports."""
    return entry_points()


@cache
def _checkout() -> dict[str, Any]:
    """The ``pyproject.toml`` of the checkout that this file lies in; empty elsewhere."""
    if not _PROJECT_FILE.is_file():
        return {}
    content = tomllib.loads(_PROJECT_FILE.read_text("utf-8"))
    return content if content.get("project", {}).get("name") == NAME else {}


# -- Python files that announce tasks.


def import_file(file: Path) -> ModuleType:
    """Import a Python file: by the name that it has on ``sys.path``, so that its relative imports work, else by its
    path alone.

    Raises UsageProblem where there is no such file, and where importing it raises.
    """
    if not file.is_file():
        raise UsageProblem(f"{file} is not a Python file; name one that announces tasks, such as a conftest.py")
    file = file.absolute()
    try:
        if name := next(_names(file), None):
            return import_module(name)
        spec = spec_from_file_location(file.stem, file)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[file.stem] = module  # data classes look themselves up there
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[file.stem]  # the next import must not find half of it
            raise
        return module
    except Exception as error:  # the user's own code
        raise UsageProblem(
            f"{file} announces tasks and cannot be imported without pytest ({type(error).__name__}: {error}); announce"
            " them in a module that can, or by the entry point agentgauge.tasks of a package"
        ) from error


def _names(file: Path) -> Iterator[str]:
    """The names by which ``import`` finds this very file."""
    for folder in sys.path:
        root = Path(folder or ".").absolute()
        if not file.is_relative_to(root):
            continue
        parts = file.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name and all(part.isidentifier() for part in parts):
            try:
                spec = find_spec(name)  # imports the packages around it
            except ImportError:
                continue
            if spec and spec.origin and Path(spec.origin).absolute() == file:
                yield name
