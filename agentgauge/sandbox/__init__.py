"""Running code that a model wrote: without files, network, secrets or time that it was not given."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Unpack

from agentgauge.sandbox.launch import Job, Options, Script, scratch_folder
from agentgauge.sandbox.paths import hide
from agentgauge.sandbox.processes import FOLDER as SCRIPT_FOLDER
from agentgauge.sandbox.protection import check_minimum, chosen, kept, layers, look_early, permit_unsafe
from agentgauge.sandbox.result import SandboxLimits, SandboxResult, Status, StepAnswer, Steps, ended_from_outside

__all__ = [
    "SCRIPT_FOLDER",
    "Options",
    "SandboxLimits",
    "SandboxResult",
    "Script",
    "Status",
    "StepAnswer",
    "Steps",
    "check_minimum",
    "ended_from_outside",
    "hide",
    "kept",
    "layers",
    "look_early",
    "permit_unsafe",
    "run",
    "run_async",
    "scratch_folder",
]


def run(program: Sequence[str] | Script, *, allow_unsafe: bool = False, **options: Unpack[Options]) -> SandboxResult:
    """Run a program in the sandbox and wait for its end: a command line that begins with an absolute path, or a
    script. Safe in any thread.

    One run at a time in a folder. A program that was ended from outside is run once more: one that ends itself so does
    it again, and that counts. Raises UsageProblem below the minimum of protection unless ``allow_unsafe``, SandboxFault
    if nothing could be run.
    """
    check_minimum(allow_unsafe=allow_unsafe)
    result = Job(program, chosen()[0], **options).run()
    if result.ended_from_outside:
        result = Job(program, chosen()[0], **options).run()
    return result


async def run_async(
    program: Sequence[str] | Script, *, executor: Executor | None = None, **options: Unpack[Options]
) -> SandboxResult:
    """As ``run``, in a thread; cancelling the task ends the program. ``executor``: whose threads wait for programs that
    run long; None: the event loop's, which looks up hosts, too."""

    def prepare() -> Job:  # in a thread, too: the first call of a process probes the machine
        check_minimum()
        return Job(program, chosen()[0], **options)

    job = await asyncio.to_thread(prepare)
    try:
        return await asyncio.get_running_loop().run_in_executor(executor, job.run)
    except asyncio.CancelledError:
        job.stop()
        raise
