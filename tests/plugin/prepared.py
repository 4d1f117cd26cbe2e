"""A process that has imported what pytest and AgentGauge import, and forks for each worker of a run of pytest inside
pytest, and for each such run that has a process of its own.

Either costs 0.6 s of a processor, of which 0.45 s are Python's start and imports. The forks do without. Programs that
runs start (tool servers, sandboxes) start as ever, and so does what the process is not prepared for: a command other
than pytest's or a worker's, and other variables of Python.

    python prepared.py SOCKET    until its input ends; says "ready" when it takes orders
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import resource
import runpy
import select
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

MODULES = """
agentgauge.model.connection
agentgauge.pytest_plugin.activation agentgauge.pytest_plugin.run_state agentgauge.pytest_plugin.xdist
agentgauge.pytest_plugin.options agentgauge.pytest_plugin.controller agentgauge.pytest_plugin.worker
agentgauge_reports.conversation agentgauge_reports.run agentgauge_reports.tables agentgauge_reports.terminal
bench_gta.atomic.task bench_gta.workflow.task bench_mmau.task bench_wild.task
tool_impls.registry tool_impls.server.client xdist.dsession xdist.remote
"""
"""What a run imports after it has begun."""


class Imports:
    """Imports while pytest rewrites assertions, as it would in the run."""

    def pytest_sessionstart(self) -> None:
        for name in MODULES.split():
            importlib.import_module(name)


class Workers:
    """Workers of xdist are forked too."""

    def __init__(self, path: str) -> None:
        self._python = f"{sys.executable} -I -S {Path(__file__).with_name('stand_in.py')} {path}"

    def pytest_xdist_setupnodes(self, specs: list[Any]) -> None:
        for spec in specs:
            if spec.popen and not spec.python:
                spec.python = self._python


def serve(path: str) -> None:
    """Takes orders until the input ends. In a fork, returns when the program has ended."""
    with tempfile.TemporaryDirectory() as empty, contextlib.redirect_stdout(io.StringIO()):
        pytest.main(["-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", empty, empty], plugins=[Imports()])
    gc.collect()
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    print("ready", flush=True)
    while sys.stdin not in select.select([sys.stdin, listener], [], [])[0]:
        connection = listener.accept()[0]
        if os.fork() == 0:
            listener.close()
            _watch(connection, path)
            break
        connection.close()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _watch(connection: socket.socket, path: str) -> None:
    """Forks for one order, and tells how the program ended; it is killed with who asked for it."""
    head, descriptors, _, _ = socket.recv_fds(connection, 8, 3)
    order = json.loads(connection.makefile("rb").read(int.from_bytes(head, "big")))
    program = os.fork()
    if program == 0:
        connection.close()
        resource.setrlimit(resource.RLIMIT_FSIZE, order["size"])
        _become(order["words"], order["cwd"], order["env"], descriptors, path)
        return
    for descriptor in descriptors:
        os.close(descriptor)
    if connection in select.select([connection, os.pidfd_open(program)], [], [])[0]:
        os.kill(program, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
    with contextlib.suppress(OSError):
        connection.sendall(str(status).encode())
    os._exit(0)


def _become(words: list[str], cwd: str, env: dict[str, str], descriptors: list[int], path: str) -> None:
    """The program that ``python *words`` would be, with that folder, environment, and those three descriptors."""
    os.setsid()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(cwd)
    same = _of_python(env) == _of_python(os.environ)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    tempfile.tempdir = None
    importlib.invalidate_caches()
    if same and words[:2] == ["-m", "pytest"]:
        sys.argv = [str(Path(pytest.__file__).with_name("__main__.py")), *words[2:]]
        sys.path[0] = cwd
        sys.exit(pytest.main(words[2:], plugins=[Workers(path)]))
    if same and words[0] == "-m":
        sys.argv = words[1:]
        sys.path[0] = cwd
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    if same and words[:2] == ["-u", "-c"]:
        sys.argv = ["-c", *words[3:]]
        sys.path[0] = ""
        exec(words[2], {"__name__": "__main__"})
    else:
        os.execv(sys.executable, [sys.executable, *words])


def _of_python(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that Python reads at its start."""
    return {name: value for name, value in env.items() if name.startswith(("PYTHON", "LC_", "LANG", "SSL_"))}


if __name__ == "__main__":
    serve(sys.argv[1])
