"""Calls the implementations of the hooks in agentgauge/hookspec.py. pluggy's own call would take the coroutine of an
async one for its answer, and let one that blocks hold up all cases of the loop."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

import pluggy

from agentgauge import hookspec
from agentgauge.core.announcement import loaded, plugins, refused
from agentgauge.core.errors import UsageProblem, did_you_mean
from agentgauge.core.features import FEATURES, PREFIX, features

OF_CASES = tuple(
    f"{PREFIX}{name}"
    for name in ("case_started", "request", "reply", "tool_call", "tool_result", "failed", "case_finished")
)

ANNOUNCING = tuple(
    f"{PREFIX}{name}"
    for name in (
        "tasks",
        "data",
        "commands",
        "providers",
        "prices",
        "dialects",
        "agents",
        "tools",
        "options",
        "pytest_plugins",
        "repeats",
        "configure",
        "choose",
        "process",
        "progress",
        "several",
        "merge",
        "reports",
    )
)
"""Hooks of installed packages alone, which every process calls."""

_OWN = {f"{PREFIX}options": "pytest_addoption", f"{PREFIX}pytest_plugins": "the entry-point group pytest11"}
"""Those of AgentGauge's own plugins alone, and what others have in their place."""


class Failures:
    """What hooks that only look on have raised."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, str]] = {}  # "HOOK of PLUGIN" → how often, and the first error

    def add(self, hook: str, plugin: str, implementation: pluggy.HookImpl, error: Exception) -> None:
        where = f"{hook} of {plugin}"
        count, first = self._found.get(where, (0, f"{type(error).__name__}: {error}{_line(implementation, error)}"))
        self._found[where] = count + 1, first

    def sentences(self, outcome: str = "the run went on without it") -> list[str]:
        return [
            f"{where} has failed {'once' if count == 1 else f'{count} times'} ({first}); {outcome}"
            for where, (count, first) in self._found.items()
        ]


class Hooks:
    """The hooks of a run, or of the cases below one folder. Any thread may call them."""

    def __init__(self, relay: Any, failures: Failures | None = None) -> None:
        """``relay``: of pluggy, with a caller for each hook. Raises UsageProblem for a wrapper, and for a hook that
        announces outside of an installed package."""
        self._relay = relay
        self.failures = failures or Failures()
        for name in vars(hookspec):
            if name.startswith(PREFIX):
                self._of(name)
        for name, instead in _OWN.items():
            for plugin, each in self._of(name):
                if not _module(each.plugin).startswith(FEATURES):
                    raise UsageProblem(f"{name} of {plugin} is not called: only AgentGauge has it; use {instead}")
        installed = [module for _, module in installed_plugins()]
        for name in ANNOUNCING:
            for plugin, each in self._of(name):
                if not any(each.plugin is module for module in installed):
                    raise UsageProblem(
                        f"{name} of {plugin} is not called: it announces what every process must know; put it in a"
                        " module that a package names in the entry-point group agentgauge, and install the package"
                    )

    @property
    def see_cases(self) -> bool:
        """Whether any hook of a case is implemented."""
        return any(map(self._of, OF_CASES))

    def has(self, hook: str) -> bool:
        return bool(self._of(hook))

    async def answer(self, hook: str, **given: Any) -> tuple[Any, str] | None:
        """The first answer that is not None, and the name of the plugin that gives it. Raises what a plugin raises."""
        for plugin, implementation in self._of(hook):
            if (answer := await _awaited(implementation, given)) is not None:
                return answer, plugin
        return None

    async def tell(self, hook: str, **given: Any) -> None:
        """Call all of them, one after the other."""
        for plugin, implementation in self._of(hook):
            try:
                await _awaited(implementation, given)
            except MemoryError:
                raise
            except Exception as error:  # of another's code, which only looks on
                self.failures.add(hook, plugin, implementation, error)

    def call(self, hook: str, **given: Any) -> None:
        """Call all of them, outside of any event loop. Raises what AgentGauge's own raise, and UsageProblem, with the
        name of the plugin, for what another's does."""
        for plugin, implementation in self._of(hook):
            try:
                _now(implementation, given)
            except (UsageProblem, MemoryError):
                raise
            except Exception as error:
                if _module(implementation.plugin).startswith(FEATURES):
                    raise
                why = f"{type(error).__name__}: {error}{_line(implementation, error)}"
                raise UsageProblem(f"{hook} of {plugin} has failed ({why}); correct it, or leave it out") from error

    def lines(self, hook: str, **given: Any) -> list[str]:
        """What all of them say: lines, or one text. A failure is noted, as by ``tell``."""
        said: list[str] = []
        for plugin, implementation in self._of(hook):
            try:
                found = _now(implementation, given)
                said += [found] if isinstance(found, str) else [*map(str, found or ())]
            except MemoryError:
                raise
            except Exception as error:
                self.failures.add(hook, plugin, implementation, error)
        return said

    def tell_now(self, hook: str, *, failures: Failures | None = None, **given: Any) -> None:
        """As ``tell``, outside of any event loop. ``failures``: where errors are noted (default: with all others)."""
        for plugin, implementation in self._of(hook):
            try:
                _now(implementation, given)
            except MemoryError:
                raise
            except Exception as error:
                (failures or self.failures).add(hook, plugin, implementation, error)

    def _of(self, hook: str) -> list[tuple[str, pluggy.HookImpl]]:
        """Plugin and implementation, in the order in which they are called: the latest first, as pluggy does."""
        found = [(_name(each), each) for each in reversed(getattr(self._relay, hook).get_hookimpls())]
        for plugin, each in found:
            if each.wrapper or each.hookwrapper:
                raise UsageProblem(f"{hook} of {plugin} is a wrapper; make it a plain function, or an async one")
        return found


def installed_plugins() -> list[tuple[str, Any]]:
    """Name and module of the installed packages that implement hooks. Raises UsageProblem for one that cannot be
    imported."""
    return [(f"agentgauge-{plugin.name}", loaded(plugin)) for plugin in plugins()]


def ask_installed(hook: str, **given: Any) -> list[Any]:
    """What the installed packages return for one of their own hooks, without None. Raises what AgentGauge's own raise,
    and UsageProblem, with the name of the plugin, for what another's does."""
    found = []
    for plugin in plugins():
        if function := getattr(loaded(plugin), hook, None):
            names = inspect.signature(function).parameters
            try:
                found.append(function(**{name: given[name] for name in names}))
            except (UsageProblem, MemoryError):
                raise
            except Exception as error:
                if plugin in features():
                    raise
                why = f"fails ({type(error).__name__}: {error}); correct its package, or uninstall it"
                raise refused(plugin, hook.removeprefix(PREFIX), why) from error
    return [each for each in found if each is not None]


def hooks_of(plugins: Sequence[Any] = ()) -> Hooks:
    """Those of installed packages and of ``plugins``, which are modules or other objects with such functions.

    Raises UsageProblem for a plugin that cannot be imported, and for a function that is no hook."""
    manager = _Plugins("pytest")
    manager.add_hookspecs(hookspec)
    try:
        for name, plugin in [*installed_plugins(), *((None, plugin) for plugin in plugins)]:
            manager.register(plugin, name)
    except pluggy.PluginValidationError as error:
        raise UsageProblem(no_hook(error)) from None
    except ValueError as error:  # the same plugin twice
        raise UsageProblem(f"{error}; docs/hooks.md has all hooks") from None
    check_names(manager.list_name_plugin())
    return Hooks(manager.hook)


def no_hook(error: pluggy.PluginValidationError) -> str:
    """Why pluggy takes a function for no implementation of a hook, in one sentence where it is one of ours that takes
    an unknown argument."""
    found = re.search(rf"({PREFIX}\w+)\(.*\nArgument\(s\) {{(.*)}} are declared", str(error))
    hook = getattr(hookspec, found[1], None) if found else None
    if not found or not hook:
        return f"{error}; docs/hooks.md has all hooks"
    known = ", ".join(inspect.signature(hook).parameters)
    where = getattr(error.plugin, "__file__", None) or type(error.plugin).__name__
    return f"{found[1]} of {Path(where).name} takes {found[2]}; it may take: {known}; docs/hooks.md has all hooks"


def check_names(plugins: Iterable[tuple[str, Any]]) -> None:
    """``plugins``: name and plugin. Raises UsageProblem for a function that is named as a hook and is none."""
    hooks = [name.removeprefix(PREFIX) for name in vars(hookspec) if name.startswith(PREFIX)]
    for plugin, each in plugins:
        for name in dir(each):
            if name.startswith(PREFIX) and (short := name.removeprefix(PREFIX)) not in hooks:
                where = f"unknown hook {name!r} in {Path(plugin).name}"
                raise UsageProblem(f"{where}{did_you_mean(short, hooks)}; docs/hooks.md has all hooks")


class _Plugins(pluggy.PluginManager):
    """Takes functions for hooks by their name, as pytest does."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        known = super().parse_hookimpl_opts(plugin, name)
        return {} if known is None and name.startswith(PREFIX) and callable(getattr(plugin, name)) else known


async def _awaited(implementation: pluggy.HookImpl, given: dict[str, Any]) -> Any:
    if inspect.iscoroutinefunction(implementation.function):
        return await _called(implementation, given)
    found = await asyncio.to_thread(_called, implementation, given)
    return await found if inspect.isawaitable(found) else found


def _now(implementation: pluggy.HookImpl, given: dict[str, Any]) -> Any:
    """Outside of any event loop."""
    found = _called(implementation, given)
    return asyncio.run(_result(found)) if inspect.isawaitable(found) else found


async def _result(found: Any) -> Any:
    return await found


def _called(implementation: pluggy.HookImpl, given: dict[str, Any]) -> Any:
    return implementation.function(*(given[name] for name in implementation.argnames))


def _module(plugin: Any) -> str:
    return str(getattr(plugin, "__name__", type(plugin).__module__))


def _name(implementation: pluggy.HookImpl) -> str:
    """A conftest.py is registered by its path, which is no one else's business, and an object by a number."""
    if isinstance(implementation.plugin, ModuleType):
        return Path(implementation.plugin_name).name
    return type(implementation.plugin).__name__


def _line(implementation: pluggy.HookImpl, error: Exception) -> str:
    """The last line of the plugin's own file that was run before an error."""
    code = getattr(inspect.unwrap(implementation.function), "__code__", None)
    file = code and code.co_filename
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    return f", line {lines[-1]}" if lines else ""
