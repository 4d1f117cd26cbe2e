"""What the command line asks for: our options, the tasks, and the number of workers."""

from __future__ import annotations

import argparse
import ast
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from agentgauge.core.option import described, destination, prefixed
from agentgauge.core.options import OPTIONS
from agentgauge.pytest_plugin.keys import REGISTRY

if TYPE_CHECKING:
    from agentgauge.core.registry import Registry
    from agentgauge.core.task import Task
    from agentgauge.core.task_options import TaskOption

# -- pytest's command-line options of a run.
#
# Every process of any project that has AgentGauge installed imports this module: it loads nothing of ours but names.


SHORT_NAMES = "agentgauge_short_options"
"""The setting of pytest's configuration file that switches ``--model`` and the other short names off."""


_PROJECT_FILES = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


def add_options(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the options of every run. A short name is left out if another plugin has it, or if the project has switched
    short names off; the name with the prefix is always added."""
    parser.addini(
        SHORT_NAMES,
        "agentgauge: whether options also have short names (--model, --data ...) beside --agentgauge-model and so on",
        type="bool",
        default=True,
    )
    config: pytest.Config | None = pluginmanager.get_plugin("pytestconfig")
    wanted = config is None or config.getini(SHORT_NAMES)
    group = parser.getgroup(
        "agentgauge",
        "agentgauge (exit status: 0 every case attempted, none broken, gates hold; 1 broken or missing cases or a"
        " failed gate; wrong answers are results; each option also exists as --agentgauge-...)",
    )
    taken = _taken(parser, OPTIONS) if wanted else frozenset(OPTIONS)
    for name, option in OPTIONS.items():
        _add(group, name, option.arguments(), is_taken=name in taken)


def add_task_options(config: pytest.Config, parser: pytest.Parser) -> None:
    """Add the options of the benchmarks. Loads every benchmark. Raises UsageError."""
    group = parser.getgroup("agentgauge")
    options = _task_options(config)
    taken = _taken(parser, options)
    for option in options.values():
        accepted = "|".join(option.accepted) or (option.metavar if option.default is not None else "")
        # None: not given, so the earlier run's where there is one
        _add(group, option.name, described(accepted, option.help, default=None), is_taken=option.name in taken)


def _task_options(config: pytest.Config) -> dict[str, TaskOption]:
    """Raises UsageError."""
    from agentgauge.core.errors import UsageProblem

    try:
        return registry_of(config).options(reserved=OPTIONS)
    except UsageProblem as problem:
        raise pytest.UsageError(str(problem)) from None


def _add(group: pytest.OptionGroup, name: str, option: Mapping[str, Any], *, is_taken: bool) -> None:
    shown = option if is_taken else {**option, "help": argparse.SUPPRESS}
    group.addoption(prefixed(name), dest=destination(name), **shown)
    if not is_taken:
        group.addoption(name, dest=destination(name), **option)


def _taken(parser: pytest.Parser, names: Iterable[str]) -> frozenset[str]:
    """The names that others have given to options of theirs."""
    words = [f"{name}=1" for name in names]
    try:
        _, unknown = parser.parse_known_and_unknown_args(words)
        return frozenset(name for name, word in zip(names, words, strict=True) if word not in unknown)
    except pytest.UsageError:  # one of them does not accept that value; which, is found one by one
        if len(words) == 1:
            return frozenset(names)
        return frozenset().union(*(_taken(parser, [name]) for name in names))


def unknown_options(parser: pytest.Parser, words: list[str]) -> list[str]:
    """The long options of the command line that no plugin has added so far."""
    unknown = parser.parse_known_and_unknown_args(words)[1]
    return [word.partition("=")[0] for word in unknown if word.startswith("--")]


def refuse_mistyped(config: pytest.Config, parser: pytest.Parser, words: list[str]) -> None:
    """Raises pytest's own error, with a suggestion, for an unknown option that resembles one of ours."""
    from agentgauge.core.errors import did_you_mean

    unknown = [] if {"-h", "--help"} & set(words) else unknown_options(parser, words)
    for name in unknown:
        if meant := did_you_mean(name, [*OPTIONS, *_task_options(config)], likeness=0.8):
            raise pytest.UsageError(f"unrecognized arguments: {' '.join(unknown)}; agentgauge: {name}{meant}")


def given(option: Namespace) -> Namespace:
    """The given values of our options: as ``run_dir`` for ``--run-dir``, those of benchmarks by their destination."""
    ours = {each.key: getattr(option, destination(name), None) for name, each in OPTIONS.items()}
    ours["model"] = (ours["model"] or [None])[-1]  # of a run: the command line's comes behind those of addopts
    return Namespace(**{name: value for name, value in vars(option).items() if name.startswith("agentgauge_")}, **ours)


def is_any_given(option: Namespace) -> bool:
    """Whether any option of ours was given."""
    ours = (value for name, value in vars(option).items() if name.startswith("agentgauge_"))
    return any(value is not None and value is not False for value in ours)


_LOOKING = ("collectonly", "setuponly", "setupplan", "showfixtures", "show_fixtures_per_test", "markers", "cacheshow")


def only_looks(config: pytest.Config) -> bool:
    """Whether pytest runs no test to its end: it lists tests, fixtures or markers, or only sets tests up."""
    return any(getattr(config.option, name, None) for name in _LOOKING)


def refuse_paths_elsewhere(config: pytest.Config, words: list[str]) -> None:
    """Raises UsageError for a path after a blank, as in ``--run-dir DIR``, that lies in another project.

    pytest searches for the project before it knows our options, and takes such a path for a path of tests, so it would
    use the settings of the other project. Workers read the command line when a new folder already exists."""
    known = config.known_args_namespace
    if known.rootdir or known.inifilename:
        return  # the project is named
    here = config.invocation_params.dir
    places = [path for word in known.file_or_dir if _is_there(path := here / word.partition("::")[0])]
    project = _project_of(places[0] if places else here)
    workers = getattr(known, "numprocesses", None) or getattr(known, "tx", None)
    paths = [name for name, option in OPTIONS.items() if option.is_path]
    options = {form for name in paths for form in (name, prefixed(name))}
    for option, value in pairwise(words):
        path = (here / value).resolve()
        if option in options and (_is_there(path) or workers) and not path.is_relative_to(project):
            raise pytest.UsageError(
                f"{option} {value}: pytest would look for the project's settings there; write {option}={value}"
            )


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a word that is too long for a path
        return False


def _project_of(path: Path) -> Path:
    """The nearest folder above that has a file with settings of pytest; the path's own folder where none has."""
    path = path.resolve()
    path = path.parent if path.is_file() else path
    return next((one for one in (path, *path.parents) if any((one / name).is_file() for name in _PROJECT_FILES)), path)


def names_benchmarks(config: pytest.Config) -> bool:
    """Whether ``--pyargs`` names a package with a plugin, such as an installed benchmark."""
    if not config.option.pyargs:
        return False
    from agentgauge.core.announcement import package_of, plugins

    packages = set(map(package_of, plugins()))
    return any(word.partition("::")[0].partition(".")[0] in packages for word in config.args)


def test_paths(config: pytest.Config) -> list[Path]:
    """The paths that pytest searches for tests: those of the command line, or else of the settings. Known before
    collection."""
    return [_path(config, word.partition("::")[0]) for word in config.args]


def _path(config: pytest.Config, word: str) -> Path:
    path = config.invocation_params.dir / word
    spec = find_spec(word.partition(".")[0]) if config.option.pyargs and word and not path.exists() else None
    return Path(spec.origin).parent if spec and spec.origin else path


# -- The tasks that pytest knows: of installed packages, of conftest.py files and other plugins, and of the files on the
# command line that hold a benchmark. pytest itself imports such a file only when it collects tests, which is too late
# for the options of its tasks.


_OF_PLUGINS: pytest.StashKey[dict[str, tuple[Task, str]]] = pytest.StashKey()
"""Task name → the task of a conftest.py or another plugin, and its file."""


def registry_of(config: pytest.Config) -> Registry:
    """The tasks, with those of the conftest.py files that pytest has loaded since the last call: such a one takes the
    place of an installed task of its name.

    Raises UsageProblem for a package that cannot be imported, for a task that is not complete, and where two plugins
    have different tasks of one name.
    """
    from agentgauge.core.errors import UsageProblem
    from agentgauge.core.registry import Registry, tasks_of

    if (tasks := config.stash.get(REGISTRY, None)) is None:
        tasks = config.stash[REGISTRY] = Registry.installed()
    known = config.stash.setdefault(_OF_PLUGINS, {})
    for _, plugin in config.pluginmanager.list_name_plugin():
        if isinstance(plugin, ModuleType):
            place = getattr(plugin, "__file__", None) or plugin.__name__
            for name, task in {task.name: task for task in tasks_of(plugin)}.items():
                if name not in known:
                    tasks.add(task)
                    known[name] = task, place
                elif known[name][0] is not task:
                    raise UsageProblem(
                        f"{known[name][1]} and {place} have different tasks of the name {name}; rename one, or import"
                        " it from the other file"
                    )
    return tasks


def add_task_markers(config: pytest.Config) -> None:
    """Register a marker for each benchmark's task, with its title. Raises UsageError."""
    from agentgauge.core.errors import UsageProblem
    from agentgauge.core.tracebacks import with_mistake

    try:
        tasks = [task for task in registry_of(config) if not task.data.in_run_folder]
    except UsageProblem as problem:
        raise pytest.UsageError(with_mistake(problem, config.getoption("tbstyle", "auto"))) from None
    for task in tasks:
        marker = task.name.replace(".", "_")
        config.addinivalue_line("markers", f"{marker}: {task.shown.benchmark}: {task.shown.title} (task {task.name})")


def named_files(config: pytest.Config) -> list[Path]:
    """The files of the command line that hold a benchmark."""
    words = dict.fromkeys(word.partition("::")[0] for word in config.known_args_namespace.file_or_dir)
    paths = [config.invocation_params.dir / word for word in words if word.endswith(".py")]
    return [path for path in paths if path.is_file() and _holds_benchmark(path.read_bytes())]


def _holds_benchmark(text: bytes) -> bool:
    """Whether a file of Python has a class below ``@benchmark(...)``, a name that it imports from ``agentgauge``."""
    if b"agentgauge" not in text:
        return False
    try:
        found = ast.parse(text).body
    except (SyntaxError, ValueError):
        return False  # pytest tells it when it collects the file
    names = {"agentgauge.benchmark"}
    for node in found:
        if isinstance(node, ast.ImportFrom) and node.module == "agentgauge":
            names |= {alias.asname or alias.name for alias in node.names if alias.name == "benchmark"}
        if isinstance(node, ast.ClassDef):
            calls = [each.func for each in node.decorator_list if isinstance(each, ast.Call)]
            if names.intersection(map(ast.unparse, calls)):
                return True
    return False


def import_named(config: pytest.Config) -> None:
    """Import these files. Raises UsageError for a benchmark that is not complete; pytest imports the files again and
    reports any other error."""
    if not (paths := named_files(config)):
        return
    from agentgauge.core.announcement import import_file
    from agentgauge.core.errors import UsageProblem
    from agentgauge.core.registry import tasks_of
    from agentgauge.core.tracebacks import with_mistake

    for path in paths:
        folder = str(path.parent.resolve())
        if folder not in sys.path:
            sys.path.insert(0, folder)  # as pytest does by default
        try:
            module = import_file(path)
        except (pytest.skip.Exception, pytest.fail.Exception):
            continue  # such as importorskip
        except UsageProblem as problem:
            if isinstance(problem.__cause__, UsageProblem):
                raise pytest.UsageError(with_mistake(problem.__cause__, config.getoption("tbstyle", "auto"))) from None
            continue
        try:
            registry_of(config).add(*tasks_of(module))
        except UsageProblem as problem:
            raise pytest.UsageError(with_mistake(problem, config.getoption("tbstyle", "auto"))) from None


# -- The number of worker processes: for benchmarks with ``-n`` at most one for each processor.
#
# A worker sends many concurrent requests, so that processes beyond the processors add start-up, collection and
# memory, and no speed (`make perf` measures it). The slots of a run are a total and stay as they are.


ASKED = pytest.StashKey[int]()
"""The number of workers in ``-n``, if fewer are started."""


def limit_workers(config: pytest.Config) -> None:
    """Start no more workers for ``-n N`` than there are processors, where only benchmarks are run: every path of tests
    lies in the package of an announced benchmark. ``--tx`` is taken as it is.

    The options are changed here because xdist asks a hook for ``-n auto`` only."""
    from agentgauge.run.preflight import package_of
    from agentgauge.run.thread_pools import processors

    option, most = config.option, processors()
    asked = getattr(option, "numprocesses", None)
    if not isinstance(asked, int) or asked <= most:
        return
    paths = test_paths(config)
    packages = {package_of(task) for task in registry_of(config)} - {None}
    if paths and all(any(path.is_relative_to(package) for package in packages if package) for path in paths):
        config.stash[ASKED] = asked
        option.numprocesses = most
        del option.tx[most:]  # xdist has filled it


def limit_restarts(config: pytest.Config) -> None:
    """Replace no more workers with ``--tx`` than xdist does with ``-n``: four times as many as are started. Otherwise
    workers whose Python cannot start them would be replaced for ever."""
    option = config.option
    distributed = getattr(option, "dist", "no") != "no" and option.tx
    if distributed and not option.numprocesses and option.maxworkerrestart is None:
        from xdist.workermanage import parse_tx_spec_config

        option.maxworkerrestart = str(4 * len(parse_tx_spec_config(config)))


def worker_count_notice(config: pytest.Config) -> str | None:
    """A line for the header where fewer workers are started than ``-n`` asked for."""
    asked = config.stash.get(ASKED, None)
    if asked is None:
        return None
    started = config.option.numprocesses
    return (
        f"{started} worker{'' if started == 1 else 's'} instead of {asked}: more workers than processors would cost"
        f" time and memory and gain nothing, because each sends many concurrent requests; --tx '{asked}*popen' --dist"
        " load starts them all"
    )
