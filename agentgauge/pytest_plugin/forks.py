"""xdist workers as forks: with everything imported, instead of a start of Python, pytest and its plugins (0.3 s of a
processor).

They are forked from pytest's first process while nothing is configured yet and no thread runs, and wait. When xdist
starts a worker, execnet gets one of them, by an execution model of ours; it goes on as ``python -u -c CODE`` would,
which is what execnet starts otherwise. Replacements for workers that died are started so, and all workers where a fork
could differ from a fresh start: on another system than Linux, with threads, logging that is set up, while coverage is
measured, in a debugger, where a module of the project holds something alive (a file, a connection), with ``--tx
popen//python=...``.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import gc
import io
import json
import logging
import os
import signal
import site
import subprocess
import sys
import sysconfig
import threading
import traceback
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn

import pytest
from execnet.gateway_base import MainThreadOnlyExecModel

from agentgauge.core.errors import AgentGaugeError
from agentgauge.data.find import find_data
from agentgauge.pytest_plugin.descriptors import make_room

FORKS = pytest.StashKey["Forks"]()
_OURS = str(Path(__file__).parents[2]) + os.sep
_PACKAGES = {"agentgauge", "reports", "tool_impls", "bench_gta", "bench_wild", "bench_mmau"}
_PLAIN = {
    "__future__",
    "builtins",
    "types",
    "typing",
    "re",
    "pathlib",
    "enum",
    "functools",
    "datetime",
    "logging",
    "_pytest",
    *_PACKAGES,
}
"""Where the types come from of what a module may hold to be the same in a fork and in a fresh process."""


def fork_workers(config: pytest.Config, count: int, connections: int) -> None:
    """Where that is possible. Called before anything is configured. ``connections``: see ``make_room``."""
    if not _may_fork():
        return
    _load_what_all_need(config)
    gc.freeze()  # whoever looks through what is shared copies it
    forks = config.stash[FORKS] = Forks(connections)
    config.add_cleanup(forks.close)
    with contextlib.suppress(OSError):  # no more processes: xdist will say so, or do with what there is
        for _ in range(count):
            forks.add(config)


def _load_what_all_need(config: pytest.Config) -> None:
    """Once instead of in each: the tasks, the indices of ``--data=DIR``, the client."""
    with contextlib.suppress(AgentGaugeError):  # who reads the options meets it again and says so
        find_data(config.option.data or "auto", config.rootpath)
    if getattr(config.option, "model", None):
        with contextlib.suppress(ImportError):
            import agentgauge.model.client
            import agentgauge.model.transport.aiohttp_client  # noqa: F401


def _may_fork() -> bool:
    coverage = sys.modules.get("coverage")
    watched = sys.gettrace() or (coverage and coverage.Coverage.current())
    if (
        sys.platform != "linux" or watched or len(list(Path("/proc/self/task").iterdir())) > 1
    ):  # threads, those of libraries among them
        return False
    loggers = [
        logging.root,
        *(one for one in logging.root.manager.loggerDict.values() if isinstance(one, logging.Logger)),
    ]
    if any(not isinstance(handler, logging.NullHandler) for logger in loggers for handler in logger.handlers):
        return False
    held = (pair for _, module in _of_the_project() for pair in vars(module).items())
    return all(_is_plain(value) for name, value in held if not name.startswith("__"))


def _is_plain(value: Any) -> bool:
    if isinstance(value, (ModuleType, type)):
        return True
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return type(value).__module__.partition(".")[0] in _PLAIN


def _of_the_project() -> Iterator[tuple[str, ModuleType]]:
    """Names and modules of what is neither Python's, nor installed, nor ours: ``conftest.py`` and what it imports."""
    library = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    library += [*site.getsitepackages(), site.getusersitepackages()]
    installed = tuple({folder + os.sep for folder in library})
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        ours = file and name.partition(".")[0] in _PACKAGES and file.startswith(_OURS)
        if file and name != "__main__" and not ours and not file.startswith(installed):
            yield name, module


def use_forks(config: pytest.Config) -> None:
    """Before xdist starts its first worker."""
    dsession: Any = config.pluginmanager.get_plugin("dsession")
    if (forks := config.stash.get(FORKS, None)) and dsession is not None:
        dsession.nodemanager.group.set_execmodel(_Forking(forks), "main_thread_only")


class _Forking(MainThreadOnlyExecModel):
    """Says to execnet how processes are started."""

    def __init__(self, forks: Forks) -> None:
        self._forks = forks

    @property
    def subprocess(self) -> Any:
        return SimpleNamespace(PIPE=subprocess.PIPE, Popen=self._forks.popen)


class Fork:
    """A process that waits to be told what it is: what execnet needs of a ``subprocess.Popen``."""

    def __init__(self, pid: int, stdin: int, stdout: int) -> None:
        self.pid = pid
        self.stdin, self.stdout = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb")
        self._ended = False

    def wait(self) -> None:
        if not self._ended:
            os.waitpid(self.pid, 0)
            self._ended = True

    def kill(self) -> None:
        if not self._ended:
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """End one that has done nothing yet, or is gone."""
        with contextlib.suppress(OSError):  # where the end of children is ignored nobody is left to wait for
            self.kill()
            self.wait()
        self.stdout.close()
        with contextlib.suppress(OSError):  # what was written to one that is gone
            self.stdin.close()


class Forks:
    """Those that wait."""

    def __init__(self, connections: int) -> None:
        self._connections = connections
        self._waiting: list[Fork] = []

    def add(self, config: pytest.Config) -> None:
        """Raises OSError where no process can be had."""
        stdin, to_stdin = map(_high, os.pipe())
        from_stdout, stdout = map(_high, os.pipe())
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            pid = os.fork()
            if pid == 0:
                ends = [
                    to_stdin,
                    from_stdout,
                    *(stream.fileno() for fork in self._waiting for stream in (fork.stdin, fork.stdout)),
                ]
                make_room(self._connections)  # a fork's table is as small as it can be
                _wait_and_work(config, stdin, stdout, ends)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        os.close(stdin)
        os.close(stdout)
        self._waiting.append(Fork(pid, to_stdin, from_stdout))

    def popen(self, arguments: Sequence[str], stdin: int, stdout: int) -> Fork | subprocess.Popen[bytes]:
        """As ``subprocess.Popen`` with two pipes."""
        while self._waiting and arguments[:3] == [sys.executable, "-u", "-c"]:
            fork = self._waiting.pop(0)
            order = {"code": arguments[3], "environ": dict(os.environ), "cwd": str(Path.cwd())}
            try:
                fork.stdin.write(json.dumps(order).encode() + b"\n")
                fork.stdin.flush()
            except OSError:  # somebody has ended it
                fork.close()
                continue
            return fork
        return subprocess.Popen(arguments, stdin=stdin, stdout=stdout)

    def close(self) -> None:
        """End those whom nobody wanted."""
        for fork in self._waiting:
            fork.close()


def _high(descriptor: int) -> int:
    """Not one of the three that a worker has for its own, which are free where pytest was started without them."""
    if descriptor > 2:
        return descriptor
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return moved


def _wait_and_work(config: pytest.Config, stdin: int, stdout: int, ends: Sequence[int]) -> NoReturn:
    """The other process, to its end. ``ends``: of pipes that are the first process's."""
    status = 1
    try:
        interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        for end in ends:
            os.close(end)
        kept = _begin_anew()
        with os.fdopen(os.dup(stdin), "rb", buffering=0) as orders:
            order = orders.readline()
        if order:
            signal.signal(signal.SIGINT, interrupt)
            _work(stdin, stdout, **json.loads(order))
        del kept
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        _end(status)


def _work(stdin: int, stdout: int, *, code: str, environ: dict[str, str], cwd: str) -> None:
    """What ``python -u -c code`` does."""
    for number, pipe in enumerate((stdin, stdout)):
        os.dup2(pipe, number)
        os.close(pipe)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(cwd)
    sys.argv = ["-c"]
    main = sys.modules["__main__"] = ModuleType("__main__")
    exec(code, main.__dict__)


def _begin_anew() -> list[ModuleType]:
    """Leave to the first process what is its own: what it tidies up at its end, and the project's modules, which are
    imported anew, since a ``conftest.py`` may ask at its import which worker it is in. Returns these: nothing in them
    may end here."""
    atexit._clear()
    atexit.register(logging.shutdown)
    weakref.finalize._registry.clear()  # type: ignore[attr-defined]
    weakref.finalize._registered_with_atexit = False  # type: ignore[attr-defined]
    if processes := sys.modules.get("multiprocessing.util"):
        processes._finalizer_registry.clear()
        atexit.register(processes._exit_function)
    sys.meta_path[:] = [
        finder for finder in sys.meta_path if type(finder).__name__ != "AssertionRewritingHook"
    ]  # pytest makes another
    kept = dict(_of_the_project())
    for name in kept:
        del sys.modules[name]
    return list(kept.values())


def _end(status: int) -> NoReturn:
    """As Python ends, save that nothing is taken apart: the frames of the first process are below this one."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        held = (value for _, module in _of_the_project() for value in vars(module).values())
        for file in [one for one in (*held, *gc.get_objects()) if type(one) in (io.TextIOWrapper, io.BufferedWriter)]:
            with contextlib.suppress(OSError, ValueError):  # who listened is gone, or the descriptor is
                file.flush()
    finally:
        os._exit(status)
