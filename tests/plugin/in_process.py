"""pytest run in this process, as if it had one of its own: with its folder, environment, arguments and streams.

Afterwards all is as before. What a run leaves behind in its process fails the test, because the next run of the same
process would find it.
"""

from __future__ import annotations

import _thread
import gc
import importlib
import logging
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import _pytest.assertion.util as assertion
import pytest

from agentgauge.core import redaction
from tests.model.fault_server import SERVER

SIGNALS = (signal.SIGINT, signal.SIGTERM)
PATIENCE = 10.0
"""Seconds in which the threads of a run must end."""
PACKAGES = (
    "agentgauge",
    "agentgauge_reports",
    "bench_gta",
    "bench_mmau",
    "bench_wild",
    "tool_impls",
    "tests.plugin.toy",
)
"""Modules whose constants a project may change for its run."""


def run_pytest(
    arguments: Sequence[str], cwd: Path, env: Mapping[str, str], seconds: float, plugins: Sequence[object] = ()
) -> tuple[int, str]:
    """Exit status, and what the run has written: to standard output, then to standard error."""
    with ExitStack() as stack:
        output = stack.enter_context(_streams())
        for change in (_modules(cwd, env), _process(cwd, env, arguments), _bounded(seconds)):
            stack.enter_context(change)
        before = _state()
        status = int(_main(arguments, plugins))
        _check(before)
    return status, output[0]


def _main(arguments: Sequence[str], plugins: Sequence[object]) -> int:
    try:
        return int(pytest.main([*arguments], plugins=[*plugins]))
    except SystemExit as end:  # pytest raises it for --version, say
        return int(end.code or 0)
    except BaseException:  # which Python would show, and end
        traceback.print_exc()
        return 1


@contextmanager
def _streams() -> Iterator[list[str]]:
    """Standard output and error of the process go to files, and are what the list holds afterwards."""
    written: list[str] = []
    kept = {number: os.dup(number) for number in (1, 2)}
    ours = sys.stdout, sys.stderr
    for stream in ours:
        stream.flush()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        for number, file in ((1, out), (2, errors)):
            os.dup2(file.fileno(), number)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
        try:
            yield written
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            sys.stdout, sys.stderr = ours
            for number, copy in kept.items():
                os.dup2(copy, number)
                os.close(copy)
            for file in (out, errors):
                file.seek(0)
            written.append("".join(file.read().decode(errors="replace") for file in (out, errors)))


@contextmanager
def _process(cwd: Path, env: Mapping[str, str], arguments: Sequence[str]) -> Iterator[None]:
    """What a process has of its own."""
    environ, folder, argv, path = dict(os.environ), Path.cwd(), sys.argv, [*sys.path]
    secrets, config, places = redaction._known, assertion._config, tempfile.tempdir
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    os.chdir(cwd)
    tempfile.tempdir = None
    redaction._known = ()
    sys.argv = [str(Path(pytest.__file__).with_name("__main__.py")), *arguments]
    sys.path[:] = [str(cwd), *filter(None, env.get("PYTHONPATH", "").split(os.pathsep)), *path]
    importlib.invalidate_caches()
    gc.freeze()  # what is there is no garbage of the run
    try:
        with warnings.catch_warnings():
            warnings.resetwarnings()
            warnings.filterwarnings("default", category=DeprecationWarning, module="__main__")
            for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
                warnings.filterwarnings("ignore", category=category, append=True)
            yield
    finally:
        gc.unfreeze()
        os.environ.clear()
        os.environ.update(environ)
        time.tzset()
        os.chdir(folder)
        sys.argv, sys.path[:] = argv, path
        redaction._known, assertion._config, tempfile.tempdir = secrets, config, places
        for name in ("last_exc", "last_type", "last_value", "last_traceback"):
            if hasattr(sys, name):
                delattr(sys, name)


@contextmanager
def _modules(cwd: Path, env: Mapping[str, str]) -> Iterator[None]:
    """Modules of the project and tests are forgotten, and what the project has changed in ours is as before."""
    before = dict(sys.modules)
    given = [folder for folder in env.get("PYTHONPATH", "").split(os.pathsep) if folder and folder not in sys.path]
    ours = {
        name: dict(vars(module))
        for name, module in before.items()
        if name.startswith(PACKAGES) and isinstance(module, ModuleType)
    }
    try:
        yield
    finally:
        for name in [*sys.modules]:
            if name not in before and _is_of_run(name, sys.modules[name], [cwd, *given]):
                del sys.modules[name]
        for name, module in before.items():
            if sys.modules.get(name) is not module:
                sys.modules[name] = module
        for name, values in ours.items():
            vars(sys.modules[name]).update(values)


def _is_of_run(name: str, module: ModuleType | None, folders: Sequence[str | Path]) -> bool:
    file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), "")
    last = name.rpartition(".")[2]
    return last == "conftest" or last.startswith("test_") or bool(file and any(map(Path(file).is_relative_to, folders)))


@contextmanager
def _bounded(seconds: float) -> Iterator[None]:
    """Ctrl-C for a run that takes too long."""
    late = threading.Event()

    def interrupt() -> None:
        late.set()
        _thread.interrupt_main()

    timer = threading.Timer(seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
    assert not late.is_set(), f"the run took more than {seconds} s"


def _state() -> dict[str, Any]:
    root = logging.getLogger()
    return {
        "environment": {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"},
        "folder": os.getcwd(),  # noqa: PTH109 - compared as it is
        "signals": [signal.getsignal(number) for number in SIGNALS],
        "garbage": (gc.get_threshold(), gc.isenabled()),
        "logging": (root.level, [*root.handlers], [*root.filters]),
        "hooks": (sys.excepthook, threading.excepthook, sys.unraisablehook),
        "streams": (sys.stdout, sys.stderr, sys.stdin),
        "threads": {thread for thread in threading.enumerate() if thread.name != SERVER},
    }


def _check(before: Mapping[str, Any]) -> None:
    """Raises AssertionError for what a run has left."""
    end = time.monotonic() + PATIENCE
    for thread in _state()["threads"] - before["threads"]:
        thread.join(max(0.0, end - time.monotonic()))
    after = _state()
    left = [thread.name for thread in after.pop("threads") - before["threads"]]
    assert not left, f"the run has left threads: {left}"
    for name, value in after.items():
        assert value == before[name], f"the run has left another {name}: {_difference(value, before[name])}"


def _difference(value: Any, before: Any) -> Any:
    if isinstance(value, dict):
        return {key: (before.get(key), now) for key, now in value.items() if before.get(key) != now}
    return before, value
