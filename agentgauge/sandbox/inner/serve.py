"""Process S: an interpreter that has confined itself and imported what a script needs, and forks for each program.

For each program it forks process L (see ``supervise``), whose grandchild T goes on as the program, in this interpreter.
Process S reads no input and no output of a program: standard input, steps and answers pass through process L only. It
runs one program at a time.

It receives messages with descriptors through its standard input: first a file that says how to confine and what to run,
then, for each program, its limits and where its streams are. It ends when the other end closes.
"""

# pathlib would cost 5 ms to import.
# ruff: noqa: PTH208
from __future__ import annotations

import gc
import marshal
import os
import select
import signal
import socket
import sys

from . import linux, mounts, supervise
from .confine import OF_THE_HOST, ReportLines, enter_user_namespace, unshared

TYPE_CHECKING = False  # as typing has it; importing that module would cost 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MESSAGE = 1 << 16  # bytes, at the most
_DESCRIPTORS = 1 << 16  # more than this process ever has


def serve(names: dict[str, Any]) -> Callable[[], object]:
    """Serve until AgentGauge ends. Returns in each program's process only: with what is to be called there.

    ``names``: those of the module ``__main__``, in which the script's text is run once.
    """
    control = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # a script that reads something before its time finds the end
    os.close(nothing)
    _, descriptors, _, _ = socket.recv_fds(control, _MESSAGE, 2)
    if not descriptors:
        os._exit(0)
    report = ReportLines(descriptors[0])
    with os.fdopen(descriptors[1], "rb") as order:
        spec = marshal.load(order)
    try:
        supervise.open_events(spec)
        _confine(spec, report)
        os.chdir(spec["folder"])
        sys.path.remove(spec["inner"])
        names["__name__"] = "prepared"
        exec(compile(spec.pop("script"), "<script>", "exec", dont_inherit=True), names)
        if not callable(names.get("main")):
            raise NameError("the script defines no function main()")
        linux.restrict_calls(alone=False, network=False, counted=spec["counted"], now=False)
        gc.freeze()
        report.send("start", "")
    except BaseException as error:
        report.send("fault", f"{type(error).__name__}: {error}")
        os._exit(1)
    os.close(descriptors[0])
    import_more: Callable[[], bool] | None = names.get("import_more")
    served, spoilable = 0, False
    while True:
        # A run that has one program for this process is over sooner without.
        if import_more and served > 1 and not select.select([control], [], [], 0)[0]:
            if not spoilable and _taken_over():
                import_more = None
                continue
            spoilable = True
            import_more = import_more if import_more() else None
            if _threads() != 1:
                os._exit(1)
            gc.freeze()  # later collections do not write into what the programs share
            continue
        message, descriptors, _, _ = socket.recv_fds(control, _MESSAGE, 5)
        if not message:
            os._exit(0)
        threads = _threads()
        child = os.fork()
        if child == 0:
            control.close()
            _begin({**spec, **marshal.loads(message)}, descriptors, threads)
            names["__name__"] = "__main__"
            del names["serve"]
            main: Callable[[], object] = names["main"]
            return main
        for descriptor in descriptors:
            os.close(descriptor)
        os.waitpid(child, 0)
        served += 1


def _confine(spec: dict[str, Any], report: ReportLines) -> None:
    """What all programs share: the files that they may read, and a network and a host name that none can use. This
    process keeps its rights, to confine each fork."""
    enter_user_namespace(report)
    linux.unshare(linux.CLONE_NEWNS)
    for layer, flag in OF_THE_HOST.items():
        if unshared(flag):
            report.send("layer", layer)
    mounts.make_private()
    folder = spec["folder"]
    mounts.build_root(spec["mounts"], folder, mounts.devices(counted=spec["counted"]), many=True)
    linux.mount("tmpfs", folder, "tmpfs", 0, "size=16m,mode=700")  # for packages that write when they are imported


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))


def _taken_over() -> bool:
    """Go on in a fork, which may be spoiled. True in this process, once that has happened."""
    successor = os.fork()
    if successor and os.waitpid(successor, 0)[1] == 0:
        os._exit(0)
    return successor != 0


def _begin(spec: dict[str, Any], descriptors: list[int], threads: int) -> None:
    """Process L of one program; returns in its process T, which has no descriptor but its streams."""
    *streams, status, outside = descriptors
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    report = ReportLines(status)
    try:
        if threads != 1:  # what another one held while this process was forked would be held for ever
            raise RuntimeError(f"{threads} threads run in a process that is to be forked")
        linux.unshare(linux.CLONE_NEWPID | linux.CLONE_NEWNS)
        report.send("layer", "pid_ns")
        supervise.supervise(spec, report, pid_ns=True, mount_ns=True, outside=outside)
    except BaseException as error:
        report.send("fault", f"{type(error).__name__}: {error}")
        os._exit(1)
    os.closerange(3, _DESCRIPTORS)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # process I has put it away
    if "numpy.random" in sys.modules:  # the module random does so by itself
        sys.modules["numpy.random"].seed()
    for name in [name for name in sys.modules if name.partition(".")[0] == "inner"]:
        del sys.modules[name]
