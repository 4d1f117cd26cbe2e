"""The state of a run in pytest's first process, and the selection of cases that it stores."""

from __future__ import annotations

import re
import shlex
from argparse import Namespace
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.announcement import package_of, plugins
from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import cannot_write
from agentgauge.core.option import destination
from agentgauge.core.options import OPTIONS
from agentgauge.pytest_plugin.options import given
from agentgauge.run.coordination.stopping import StopFile
from agentgauge.run.run import Run
from agentgauge.run.settings import Settings
from agentgauge.store import RunFolder

SELECTION = pytest.StashKey[dict[str, Any]]()
"""The selection of a resumed run that has no plan yet: see ``select``."""


def is_asked_for(option: Namespace, settings: Settings) -> bool:
    """Whether the run folder stays after a run of a project's own tests alone: where an option names or needs it, and
    where other runs read it. ``option``: our options."""
    needed = any(getattr(option, each.key) for each in OPTIONS.values() if each.keeps_run)
    return bool(needed or settings.shared or settings.assignment or settings.file.keeps_own_tests)


def name_tests(config: pytest.Config, arguments: list[str]) -> None:
    """Let a command line that names no tests name those of the run that it resumes or scores again, as run.json has
    them. Called in each process, before pytest looks for conftest.py files.

    The plan selects among the tests of a file. A run folder may be a stranger's, and pytest imports what is named:
    nothing is unless all words are packages that bring benchmarks, or tests below the project's folder, and none lies
    in the run folder.
    """
    known, options = config.known_args_namespace, given(config.known_args_namespace)
    earlier = RunFolder(Path(options.resume or options.rescore))
    try:
        named = [word.partition("::")[0] if earlier.has_plan else word for word in _named(earlier)]
    except (OSError, UsageProblem):
        return  # the run is refused later, with the reason
    packages = [word for word in named if _is_package(word)]
    places = [_package(word) if word in packages else _path(word, config) for word in named]
    if any(place is None or place.is_relative_to(earlier.path.resolve()) for place in places):
        return
    here = config.invocation_params.dir
    shown = named if packages else [word.removeprefix(f"{here}/") for word in named]
    known.file_or_dir = [*dict.fromkeys(shown)]
    known.pyargs = known.pyargs or bool(packages)
    arguments[:0] = ["--pyargs"] * bool(packages) + known.file_or_dir


def _package(word: str) -> Path | None:
    """Where the package of the name lies; None without one, and for one that brings no benchmark."""
    name = word.partition("::")[0].partition(".")[0]
    spec = find_spec(name) if name in map(package_of, plugins()) else None
    return Path(spec.origin).resolve() if spec and spec.origin else None


def _path(word: str, config: pytest.Config) -> Path | None:
    """Where the tests of the word lie; None if that is not below the project's folder, or is a file of other code."""
    path = Path(word.partition("::")[0])
    place = path.resolve()
    if not path.is_absolute() or not place.is_relative_to(config.rootpath.resolve()):
        return None
    is_named = any(fnmatch(place.name, pattern) for pattern in config.getini("python_files"))
    is_test = place.is_dir() or (place.is_file() and (is_named or b"agentgauge" in place.read_bytes()))
    return place if is_test else None


def not_found(config: pytest.Config, settings: Settings) -> list[str]:
    """Why pytest has found no test for a model, or of the run that is resumed or scored again, and what to write.
    Raises OSError and UsageProblem."""
    option, earlier = config.option, settings.run_dir if settings.resume else settings.rescore
    if option.keyword or option.markexpr:
        return []
    if earlier is None:
        asked = getattr(option, destination("--model"), None)
        how = "name a benchmark, such as --pyargs bench_wild, or the file of your own"
        return [f"no test was found for --model; {how}"] if asked else []
    words = _named(RunFolder(earlier))
    pyargs = ["--pyargs"] * any(map(_is_package, words))
    named = " ".join(map(shlex.quote, [*pyargs, *words]))
    how = f"name its tests as the run did: {named}" if named else "name its tests"
    return [f"no test of {earlier} was found; give the command in the project's folder, or {how}"]


def _named(earlier: RunFolder) -> list[str]:
    """The tests that an earlier run named: packages, absolute paths. Raises OSError and UsageProblem."""
    words = (earlier.read_json("run.json").get("selection") or {}).get("arguments")
    return [word for word in words if isinstance(word, str)] if isinstance(words, list) else []


def _is_package(word: str) -> bool:
    """Whether a word of run.json names a package for ``--pyargs``: paths stand there in their absolute form."""
    return bool(re.fullmatch(r"[A-Za-z_][\w.]*(::.*)?", word))


def continue_selection(config: pytest.Config) -> None:
    """A run that ended before it had a plan is planned when it is resumed, with the selection that it was started with.

    Raises UsageProblem where its run.json cannot be read.
    """
    resumed = given(config.option).resume
    folder = RunFolder(Path(resumed or "."))
    if resumed and not folder.has_plan and (folder.path / "run.json").exists():
        earlier: dict[str, Any] = folder.read_json("run.json").get("selection") or {}
        config.stash[SELECTION] = earlier
        select(config, earlier)


def select(config: pytest.Config, earlier: Mapping[str, Any]) -> None:
    """Apply the options of an earlier run's selection if the command line has none. Called in each process, because
    xdist's workers know only the command line."""
    for name, attribute in (("keyword", "keyword"), ("markexpr", "markexpr"), ("limit", destination("--limit"))):
        if earlier.get(name) and not getattr(config.option, attribute):
            setattr(config.option, attribute, earlier[name])


def selection(config: pytest.Config) -> dict[str, Any]:
    """The selection of cases, stored in case the run is killed before it has a plan."""
    option, here = config.option, config.invocation_params.dir
    given = config.args if config.args_source is pytest.Config.ArgsSource.ARGS else []
    paths = [str(here / word) if (here / Path(word.partition("::")[0])).exists() else word for word in given]
    limit = getattr(option, destination("--limit"))
    return {"keyword": option.keyword, "markexpr": option.markexpr, "limit": limit, "arguments": paths}


def words(config: pytest.Config) -> list[str]:
    """The selection of cases as words of a command line."""
    chosen = selection(config)
    given = config.args if config.args_source is pytest.Config.ArgsSource.ARGS else []
    options = (("-k", chosen["keyword"]), ("-m", chosen["markexpr"]))
    limit = [f"--limit={chosen['limit']}"] if chosen["limit"] else []
    pyargs = ["--pyargs"] * bool(given and config.option.pyargs)
    return [*pyargs, *given, *(word for name, value in options if value for word in (name, value)), *limit]


@dataclass
class RunState:
    config: pytest.Config
    run: Run
    has_begun: bool = False  # cases may run
    failures: int = 0  # reports of benchmark cases and ordinary tests
    ordinary_failures: int = 0
    missing_reason: str = ""  # why a case was not attempted, as its worker says
    interrupted: bool = False

    @property
    def is_kept(self) -> bool:
        """Whether the run folder stays when the run has ended."""
        asked = is_asked_for(given(self.config.option), self.run.settings)
        return bool(asked or self.run.benchmark_cases or self.run.service_problem)

    @property
    def why_missing(self) -> str:
        """Why cases that were planned have not been attempted, at the end of the run."""
        if reason := self.run.service_problem or self.run.stop_reason:
            return reason
        if self.interrupted:
            return "interrupted (Ctrl-C or SIGTERM)"
        with suppress(OSError):  # no file: nothing has stopped the workers
            return StopFile(self.run.folder).reason()
        if rescored := self.run.settings.rescore:  # the same cases are missing as there
            with suppress(UsageProblem):  # a run that was killed has no summary
                return str(RunFolder(rescored).read_json("summary.json").get("why_missing", ""))
            return ""
        plugins = [self.config.pluginmanager.get_plugin(name) for name in ("session", "dsession")]  # the latter xdist's
        known = [getattr(plugin, name, "") for plugin in plugins for name in ("shouldstop", "shouldfail")]
        reasons = [reason for reason in known if reason and isinstance(reason, str)]
        return self.missing_reason or (reasons[0] if reasons else "pytest ended before them")

    def cannot_write(self, error: OSError) -> str:
        return f"{cannot_write(self.run.folder, error)}; continue with --resume={self.run.folder}"

    def exit_status(self, exitstatus: int) -> int:
        """Of a run that was summed up: wrong answers are results and no failures of the run. ``exitstatus``: pytest's
        own."""
        if exitstatus in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR) or self.interrupted:
            return exitstatus
        if self.run.service_problem:
            return pytest.ExitCode.USAGE_ERROR
        stopped = self.run.stop_reason or StopFile(self.run.folder).exists()  # a worker may have seen it alone
        if exitstatus == pytest.ExitCode.INTERRUPTED and not (stopped or self.failures):
            return exitstatus  # collection errors, or a worker that was interrupted
        return pytest.ExitCode.TESTS_FAILED if self.run.problems or self.ordinary_failures else pytest.ExitCode.OK
