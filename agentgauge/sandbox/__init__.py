"""Running code that a model wrote: without files, network, secrets or time that it was not given (ARCHITECTURE, 8)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentgauge.sandbox.launch import Job, execute_async
from agentgauge.sandbox.paths import hide
from agentgauge.sandbox.protection import check_minimum, chosen, layers, look_early, permit_unsafe
from agentgauge.sandbox.result import Answer, Limits, SandboxResult, Status, Steps
from agentgauge.sandbox.scratch import scratch_folder

__all__ = [
    "Answer",
    "Limits",
    "SandboxResult",
    "Status",
    "Steps",
    "check_minimum",
    "hide",
    "layers",
    "look_early",
    "permit_unsafe",
    "run",
    "run_async",
    "scratch_folder",
]

_DEFAULT = Limits()


def run(
    argv: Sequence[str],
    *,
    folder: Path,
    limits: Limits = _DEFAULT,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    readable: Sequence[Path] = (),
    packages: bool = True,
    network: bool = False,
    steps: Steps | None = None,
    keep: bool = True,
    allow_unsafe: bool = False,
) -> SandboxResult:
    """Run a program (``argv[0]`` is an absolute path) in the sandbox and wait for its end. Safe in any thread.

    ``folder`` is the only place that the program can write, and its working directory. One run at a time in a folder.
    Where the program has a file system of its own, it works on a copy in memory that takes the folder's place when it
    has ended: files and folders without special bits, and links. What it leaves is as untrusted as its output (links!).
    Files put there should be copies, not hard links. Without ``keep`` the copy may be thrown away. ``steps`` hands over
    work piece by piece. ``env`` is added to the small fixed environment; ``readable`` names further files and folders
    that may be read, beside the interpreter, the system's libraries and, with ``packages``, what is installed; this
    project and what was given to ``hide`` are not. ``network`` lets it use the network of this machine over IP, what
    listens on localhost included; nothing else opens.

    Raises UsageProblem below the minimum of protection unless ``allow_unsafe``, SandboxFault if nothing could be run.
    """
    return _job(argv, folder, limits, stdin, env, readable, packages, network, steps, keep, allow_unsafe).run()


async def run_async(
    argv: Sequence[str],
    *,
    folder: Path,
    limits: Limits = _DEFAULT,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    readable: Sequence[Path] = (),
    packages: bool = True,
    network: bool = False,
    steps: Steps | None = None,
    keep: bool = True,
    allow_unsafe: bool = False,
) -> SandboxResult:
    """As ``run``, in a thread; cancelling the task ends the program."""
    job = await asyncio.to_thread(
        _job, argv, folder, limits, stdin, env, readable, packages, network, steps, keep, allow_unsafe
    )  # the first one probes
    return await execute_async(job)


def _job(
    argv: Sequence[str],
    folder: Path,
    limits: Limits,
    stdin: bytes,
    env: Mapping[str, str] | None,
    readable: Sequence[Path],
    packages: bool,
    network: bool,
    steps: Steps | None,
    keep: bool,
    allow_unsafe: bool,
) -> Job:
    check_minimum(allow_unsafe=allow_unsafe)
    return Job(
        argv,
        chosen()[0],
        folder=folder,
        limits=limits,
        stdin=stdin,
        env=env,
        readable=readable,
        packages=packages,
        network=network,
        steps=steps,
        keep=keep,
    )
