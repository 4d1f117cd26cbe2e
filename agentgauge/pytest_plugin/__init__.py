"""The pytest side of AgentGauge: options, collection, fixtures, workers, reporting.

pytest loads this module by its entry point in every project. Until an option, a fixture or a marker of ours is used, it
adds the options and loads nothing else of ours; ``activation`` describes what happens then.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import pytest
from pluggy import PluginValidationError

from agentgauge.core.features import PREFIX, features
from agentgauge.pytest_plugin.fixtures import model, outcome, sample, solve, tools
from agentgauge.pytest_plugin.keys import COLLECTION, LOST_OUTPUT, PROBLEM, REFUSED
from agentgauge.pytest_plugin.options import (
    add_options,
    add_task_markers,
    add_task_options,
    given,
    import_named,
    is_any_given,
    named_files,
    names_benchmarks,
    only_looks,
    refuse_mistyped,
    refuse_paths_elsewhere,
    unknown_options,
)

__all__ = [
    "benchmark_task",
    "model",
    "outcome",
    "sample",
    "solve",
    "tools",
]

pytest_plugins = [name for plugin in features() for name in getattr(plugin.load(), f"{PREFIX}pytest_plugins", tuple)()]
"""pytest loads them after this module, so that their fixtures replace those of the same name here."""

Function = TypeVar("Function", bound=Callable[..., Any])


def benchmark_task(name: str) -> Callable[[Function], Function]:
    """Parametrize a test function: one case per sample of a task. The task's name, with ``_`` for dots, is a marker."""
    return pytest.mark.benchmark_task(name)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from agentgauge import hookspec

    pluginmanager.add_hookspecs(hookspec)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    add_options(parser, pluginmanager)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None]:
    _prepare_capture(early_config)
    try:
        refuse_paths_elsewhere(early_config, args)
    except OSError as error:  # a folder that this user may not look into
        from agentgauge.core.files import refusal

        raise pytest.UsageError(refusal(error)) from None
    options = given(early_config.known_args_namespace)
    if (options.resume or options.rescore) and not early_config.known_args_namespace.file_or_dir:
        from agentgauge.pytest_plugin.run_state import name_tests

        name_tests(early_config, args)
    try:
        yield
    except PluginValidationError as error:  # of a conftest.py
        if PREFIX not in str(error):
            raise
        from agentgauge.run.hooks import no_hook

        raise pytest.UsageError(no_hook(error)) from None
    import_named(early_config)
    # by now the project's own options are known, and the tasks of its conftest.py
    if early_config.known_args_namespace.help or unknown_options(parser, args):
        add_task_options(early_config, parser)
        refuse_mistyped(early_config, parser, args)


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Runs after xdist's hook and before pytest's own, which runs the whole session; in xdist's workers, too."""
    if _is_wanted(config) and not (hasattr(config, "workerinput") or only_looks(config)):
        from agentgauge import sandbox
        from agentgauge.core.errors import UsageProblem
        from agentgauge.core.files import refusal, require_files
        from agentgauge.pytest_plugin.options import limit_restarts, limit_workers
        from agentgauge.pytest_plugin.several_models import run_several_models

        config.add_cleanup(sandbox.kept())
        try:
            require_files()
            if results := config.getoption("allure_report_dir", None):
                os.makedirs(results, exist_ok=True)  # noqa: PTH103 - where that fails, allure-pytest has a traceback
            if (status := run_several_models(config)) is not None:
                return status
        except (UsageProblem, OSError) as problem:
            text = refusal(problem) if isinstance(problem, OSError) else str(problem)
            raise pytest.UsageError(text) from None
        limit_workers(config)
        limit_restarts(config)
    return None


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "benchmark_task(name): one case per sample of a benchmark's task")
    if config.getoption("markers", False):
        add_task_markers(config)
        return
    given: dict[str, Any] | None = getattr(config, "workerinput", None)
    if _is_wanted(config) if given is None else "agentgauge_run_dir" in given:
        from agentgauge.pytest_plugin.activation import activate

        activate(config)
        if given is None:
            from agentgauge.pytest_plugin.reporting import prepare_terminal

            prepare_terminal(config)


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> list[pytest.Item | pytest.Collector] | None:
    if "agentgauge.core.task" not in sys.modules or not isinstance(collector, pytest.Module):
        return None
    from agentgauge.core.task import Task

    if type(obj) is not Task:  # another object may answer to isinstance, too
        return None
    from agentgauge.pytest_plugin.benchmark import collect

    return collect(collector, obj)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("benchmark_task")
    if marker is not None:
        from agentgauge.pytest_plugin.activation import activate_late

        if collection := activate_late(metafunc.config):
            collection.generate(metafunc, marker.args[0])
        elif hasattr(metafunc.config, "workerinput"):  # an error of the collection: -k and -m cannot hide it
            pytest.fail(
                "with -n, AgentGauge must know before collection that there are benchmark cases: name the model, such"
                " as --model=baseline, or put an agentgauge.toml into the project's root folder",
                pytrace=False,
            )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """Runs before ``-k`` and ``-m`` are applied, and after that."""
    if (problem := config.stash.get(PROBLEM, None)) is not None:
        raise problem
    collection, collected = config.stash.get(COLLECTION, None), [*items]
    try:
        if collection is not None:
            collection.choose(items)
        try:
            yield
        except pytest.UsageError as error:
            if collection is not None and str(error).startswith("Unknown marker"):  # with --strict-markers
                collection.refuse_mistyped_marker(collected, likeness=0.6)
            raise
        if collection is not None and not items:
            collection.refuse_mistyped_keyword(collected)
            collection.refuse_mistyped_marker(collected)
        if collection is not None:
            collection.keep_once(items)
            collection.keep_limited(items)
            collection.leave_out_pictures(items)
            collection.keep_chosen(items)
    except pytest.UsageError as error:
        if (output := getattr(config, "workeroutput", None)) is not None:  # xdist drops the message
            output[REFUSED] = str(error)
        raise
    if collection is not None:
        collection.is_chosen = True


def _prepare_capture(config: pytest.Config) -> None:
    """Before pytest captures the standard streams: open those that are closed, and look for a place for temporary
    files. Once it has put them back: let no lost output fail the interpreter's end."""
    try:
        tempfile.gettempdir()
    except FileNotFoundError as error:
        raise pytest.UsageError(f"{error.strerror}; set TMPDIR to a folder that can be written") from None
    if sys.stdout is None or sys.stderr is None:
        from agentgauge.core.processes import open_closed_streams

        open_closed_streams()

    def drop_lost() -> None:
        if LOST_OUTPUT in config.stash:
            from agentgauge.core.processes import drop

            drop(sys.stdout)

    config.add_cleanup(drop_lost)


def _is_wanted(config: pytest.Config) -> bool:
    """Whether AgentGauge has something to do, as far as that is known before tests are collected."""
    if config.option.help or config.option.version:
        return False
    if is_any_given(config.option) or names_benchmarks(config) or named_files(config):
        return True
    # what is used is seen when tests are collected, but not by a process that leaves them to workers
    return bool(getattr(config.option, "tx", None)) and (config.rootpath / "agentgauge.toml").is_file()
