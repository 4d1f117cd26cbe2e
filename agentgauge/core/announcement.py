"""What packages and Python files announce: versions, plugins and what their hooks announce, tasks."""

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
from agentgauge.core.features import GROUP, PREFIX, features

# -- What Python's package metadata says of AgentGauge: its version, and its plugins.
#
# A checkout that is not installed has no metadata. There both come from its ``pyproject.toml``, which an installation
# makes the metadata of.


NAME = "agentgauge"

_PROJECT_FILE = Path(__file__).parents[2] / "pyproject.toml"


def own_version() -> str:
    """Raises PackageNotFoundError outside of an installation and of a checkout."""
    try:
        return version(NAME)
    except PackageNotFoundError:
        if not (project := _checkout()):
            raise
        return str(project["project"]["version"])


def plugins() -> list[EntryPoint]:
    """The modules that implement hooks of ``agentgauge/hookspec.py``: AgentGauge's own, and by their entry points those
    of all installed packages, and of AgentGauge's benchmarks where it is not installed. None is imported."""
    found = [*features(), *_installed(tuple(sys.path))]
    try:
        version(NAME)
    except PackageNotFoundError:
        own = _checkout().get("project", {}).get("entry-points", {}).get(GROUP, {})
        found += [EntryPoint(name, value, GROUP) for name, value in own.items()]
    return found


def package_of(plugin: EntryPoint) -> str:
    """The name that its import begins with."""
    return plugin.module.partition(".")[0]


@lru_cache(maxsize=2)
def _installed(_path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """On ``sys.path``: one look at the files of all packages takes as long as a dozen imports."""
    return tuple(entry_points(group=GROUP))


@cache
def _checkout() -> dict[str, Any]:
    """The ``pyproject.toml`` of the checkout that this file lies in; empty elsewhere."""
    if not _PROJECT_FILE.is_file():
        return {}
    content = tomllib.loads(_PROJECT_FILE.read_text("utf-8"))
    return content if content.get("project", {}).get("name") == NAME else {}


# -- What the plugins announce: ``pytest_agentgauge_tasks`` and its like.


def loaded(plugin: EntryPoint) -> Any:
    """The module. Raises UsageProblem where it cannot be imported."""
    try:
        return plugin.load()
    except UsageProblem:
        raise
    except Exception as error:  # of another package
        ours = package_of(plugin) == NAME  # the metadata of an earlier version names a module that it does not have
        advice = "install AgentGauge again" if ours else "correct its package, or uninstall it"
        raise UsageProblem(
            f"the plugin {_named(plugin)} cannot be imported ({type(error).__name__}: {error}); {advice}"
        ) from error


def announced(kind: str) -> list[tuple[EntryPoint, Any]]:
    """What all plugins announce by the hook of a kind, such as ``tasks``, each with its plugin.

    Raises UsageProblem for a plugin that cannot be imported, and for a hook that raises or returns no list or tuple.
    """
    return [(plugin, each) for plugin in plugins() for each in _returned(plugin, kind, list, tuple)]


def announced_names(plugin: EntryPoint, kind: str) -> dict[str, Any]:
    """What one plugin announces by the hook of a kind whose things have no names of their own, such as ``commands``.

    Raises UsageProblem as ``announced`` does, for a hook that returns no dict.
    """
    return dict(_returned(plugin, kind, dict))


def refused(plugin: EntryPoint, kind: str, why: str) -> UsageProblem:
    """``why``: begins with a verb."""
    return UsageProblem(f"{PREFIX}{kind} of the plugin {_named(plugin)} {why}")


def _returned(plugin: EntryPoint, kind: str, *accepted: type) -> Any:
    hook = getattr(loaded(plugin), PREFIX + kind, None)
    if hook is None:
        return ()
    try:
        found = hook()
    except UsageProblem:
        raise
    except Exception as error:  # of another package
        why = f"fails ({type(error).__name__}: {error}); correct its package, or uninstall it"
        raise refused(plugin, kind, why) from error
    if not isinstance(found, accepted):
        forms = " or ".join(form.__name__ for form in accepted)
        raise refused(plugin, kind, f"returns {found!r:.200}; accepted is a {forms}; correct its package")
    return found


def _named(plugin: EntryPoint) -> str:
    return f"{plugin.name} = {plugin.value}"


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
            " them in a module that can, or by pytest_agentgauge_tasks of a package's plugin"
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
