"""xdist workers as forks: with everything imported, instead of a start of Python, pytest and its plugins (0.3 s of a processor).

They are forked from pytest's first process while nothing is configured yet and no thread runs, and wait. When xdist starts a worker,
execnet gets one of them, by an execution model of ours; it goes on as ``python -u -c CODE`` would, which is what execnet starts
otherwise. Replacements for workers that died are started so, and all workers where forks cannot be had: on another system than
Linux, with threads, while coverage is measured, in a debugger, with ``--tx popen//python=...``.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import subprocess
import sys
import sysconfig
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn

import pytest
from execnet.gateway_base import MainThreadOnlyExecModel

from harness.task import known_tasks

FORKS = pytest.StashKey["Forks"]()
_OURS = {"harness", "reports", "tool_impls", "bench_gta", "bench_wild", "bench_mmau"}


def fork_workers(config: pytest.Config, count: int) -> None:
    """Where that is possible. Called before anything is configured."""
    coverage = sys.modules.get("coverage")
    watched = sys.gettrace() or (coverage and coverage.Coverage.current())
    if sys.platform != "linux" or watched or len(list(Path("/proc/self/task").iterdir())) > 1:  # threads, those of libraries among them
        return
    known_tasks()  # imports what every worker will need
    gc.freeze()  # whoever looks through what is shared copies it
    forks = config.stash[FORKS] = Forks()
    for _ in range(count):
        forks.add(config)
    config.add_cleanup(forks.close)


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
        self.stdin.close()
        self.stdout.close()


class Forks:
    """Those that wait."""

    def __init__(self) -> None:
        self._waiting: list[Fork] = []

    def add(self, config: pytest.Config) -> None:
        stdin, to_stdin = os.pipe()
        from_stdout, stdout = os.pipe()
        pid = os.fork()
        if pid == 0:
            for end in (to_stdin, from_stdout, *(stream.fileno() for fork in self._waiting for stream in (fork.stdin, fork.stdout))):
                os.close(end)
            _wait_and_work(config, stdin, stdout)
        os.close(stdin)
        os.close(stdout)
        self._waiting.append(Fork(pid, to_stdin, from_stdout))

    def popen(self, arguments: Sequence[str], stdin: int, stdout: int) -> Fork | subprocess.Popen[bytes]:
        """As ``subprocess.Popen`` with two pipes."""
        if self._waiting and arguments[:3] == [sys.executable, "-u", "-c"]:
            fork = self._waiting.pop(0)
            order = {"code": arguments[3], "environ": dict(os.environ), "cwd": str(Path.cwd())}
            fork.stdin.write(json.dumps(order).encode() + b"\n")
            fork.stdin.flush()
            return fork
        return subprocess.Popen(arguments, stdin=stdin, stdout=stdout)

    def close(self) -> None:
        """Those whom nobody wanted end when they read the end."""
        for fork in self._waiting:
            fork.close()
            fork.wait()


def _wait_and_work(config: pytest.Config, stdin: int, stdout: int) -> NoReturn:
    """The other process, to its end."""
    status = 1
    try:
        atexit._clear()  # what the first process has to tidy up is not ours
        interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal
        _forget(config)
        if getattr(config.option, "model", None):  # a tenth of a second, while nobody waits for this process yet
            import harness.model.client
            import harness.model.lean  # noqa: F401
        with os.fdopen(os.dup(stdin), "rb", buffering=0) as orders:
            order = orders.readline()
        if order:
            signal.signal(signal.SIGINT, interrupt)
            _work(stdin, stdout, **json.loads(order))
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status)


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


def _forget(config: pytest.Config) -> None:
    """Leave what is the first process's. The project's own modules are imported anew: a ``conftest.py`` may ask at its import
    which worker it is in."""
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "AssertionRewritingHook"]  # pytest makes another
    library = tuple(f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "platstdlib"))
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is None or not file.endswith(".py") or name.partition(".")[0] in _OURS:
            continue
        if not (file.startswith(library) or "site-packages" in file or "dist-packages" in file):
            del sys.modules[name]
