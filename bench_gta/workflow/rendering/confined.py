"""Modules of our own that look at files of unknown origin, run in the sandbox (GTA-Workflow spec 3.2; ARCHITECTURE, 8).

What an agent delivers is as untrusted as the code it writes: a library that fails on it, hangs or grows takes only the
child along. A child module reads its order as JSON from standard input and prints one JSON value as its answer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from agentgauge import sandbox
from agentgauge.core.errors import DataProblem
from agentgauge.core.types import Json
from agentgauge.sandbox.paths import package_folders

HOLDS_DATA = ("bench_gta", "bench_gta.workflow")
"""A child sees only the ``__init__.py`` of these: they hold the data sets that deliverables are judged by."""

PACKAGES = ("agentgauge", "tool_impls", *HOLDS_DATA, "bench_gta.workflow.facts", "bench_gta.workflow.rendering")
"""The packages of this project that a child may import. It sees them as a whole, except HOLDS_DATA."""

MOST_ANSWER = 32 << 20  # bytes of an answer and of what is printed beside it
MOST_FILE = 256 << 20  # bytes of a file that a child makes
MOST_DISK = 1 << 30  # bytes of all that it makes
MOST_PROCESSES = 64  # and threads; media decoders start one for each core

# The folder of the packages cannot be listed inside, so each package is announced by the place of its own.
_START = """
import contextlib, importlib, importlib.util, runpy, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        place = places.get(name)
        load = importlib.util.spec_from_file_location
        return place and load(name, place + "/__init__.py", submodule_search_locations=[place])
sys.path += more
sys.meta_path.insert(0, Finder)
def main():
    runpy.run_module(module, run_name="__main__", alter_sys=True)
for name in ahead:
    with contextlib.suppress(ImportError):  # the child says what it lacks
        importlib.import_module(name)
if __name__ == "__main__":
    main()
"""


class Ended(DataProblem):
    """A child was ended by a limit, which may be the file's doing or that of a busy machine."""


def run_child(
    module: str,
    order: Json,
    *,
    folder: Path,
    readable: Sequence[Path] = (),
    ahead: Sequence[str] = (),
    keep: bool = True,
    seconds: float = 60,
    memory_mb: int = 2048,
) -> Json:
    """The answer of ``python -m module`` of one of PACKAGES to an order, both JSON values.

    ``folder``: an existing folder, the only one that the child can write, its working directory. ``readable``: files
    and folders that it may read besides. ``ahead``: modules that a prepared process imports for further orders; a child
    that it forks sees the folder by another name. ``keep``: False where no file that the child writes is needed.
    ``seconds``: of wall time and of each process's processor time. ``memory_mb``: MiB of all its processes together.
    Blocks; safe in any thread. Raises DataProblem if the child dies, hangs, uses too much or answers no JSON (the text
    says which, and fits after "cannot be read: "); SandboxFault if it cannot be started; UsageProblem if this machine
    cannot confine it.
    """
    limits = sandbox.SandboxLimits(
        wall_seconds=seconds,
        memory_bytes=memory_mb << 20,
        output_bytes=MOST_ANSWER,
        file_bytes=MOST_FILE,
        disk_bytes=MOST_DISK,
        processes=MOST_PROCESSES,
    )
    text = _start(module, tuple(ahead))
    result = sandbox.run(
        sandbox.Script(text) if ahead else [sys.executable, "-I", "-S", "-c", text],
        folder=folder,
        limits=limits,
        stdin=json.dumps(order).encode(),
        readable=(*_sources(), *readable),
        keep=keep,
    )
    if result.status != "ok":
        raise (DataProblem if result.status == "error" else Ended)(
            f"the program that looked at it was ended: {result.reason}{_last_line(result)}"
        )
    try:
        return json.loads(result.stdout)
    except (ValueError, RecursionError):
        raise DataProblem("the program that looked at it gave no answer") from None


@lru_cache(maxsize=1)
def _packages() -> dict[str, str]:
    """Where each of PACKAGES lies: beside the others."""
    root = Path(__file__).resolve().parents[3]
    return {name: str(root.joinpath(*name.split("."))) for name in PACKAGES}


@lru_cache(maxsize=1)
def _sources() -> tuple[Path, ...]:
    """What is read of them."""
    return tuple(
        Path(place) / "__init__.py" if name in HOLDS_DATA else Path(place) for name, place in _packages().items()
    )


@lru_cache
def _start(module: str, ahead: Sequence[str]) -> str:
    return f"places, module, more, ahead = {(_packages(), module, list(package_folders()), ahead)!r}\n{_START}"


def _last_line(result: sandbox.SandboxResult) -> str:
    """What a child that ended with an error said last, cut to a line's length: the exception and its message."""
    line = result.stderr.strip().rpartition("\n")[2].strip() if result.status == "error" else ""
    return f" ({line[:200]})" if line else ""
