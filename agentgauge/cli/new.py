"""``agentgauge new``: writes a package with a small benchmark, as a starting point."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.core.processes import CommandParser
from agentgauge.core.registry import Registry

TEMPLATE = Path(__file__).parent / "new_benchmark"
PLACEHOLDER = "benchmark_name"
"""Stands for the name in the template's files, and in their names."""

MARKS = frozenset({"benchmark_task", "filterwarnings", "parametrize", "skip", "skipif", "usefixtures", "xfail"})
"""Markers of pytest itself. A task's name becomes a marker, so no task can have these names."""


def main(argv: Sequence[str], tasks: Registry) -> int:
    parser = CommandParser(
        prog="agentgauge new",
        description="Write a package with a small benchmark that runs: samples, task, checker, tests, published rows.",
        epilog="example: agentgauge new bench_puzzles",
    )
    parser.add_argument("name", metavar="NAME", help="name of package and task: lower-case letters, digits and _")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="new folder to write (default: NAME)")
    options = parser.parse_args(argv)
    folder = options.folder or Path(options.name)
    write(options.name, folder, tasks)
    print(f"wrote {folder}; next: cd {folder} && pip install -e . && pytest --model=oracle")
    return 0


def write(name: str, folder: Path, tasks: Registry) -> None:
    """Write the package. Raises UsageProblem where the name cannot be used, and where the folder cannot be made."""
    check_name(name, tasks)
    try:
        folder.mkdir(parents=True)
        for source in sorted(TEMPLATE.rglob("*")):
            if source.is_file() and source.suffix != ".pyc":
                target = folder / str(source.relative_to(TEMPLATE)).replace(PLACEHOLDER, name)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(source.read_text(encoding="utf-8").replace(PLACEHOLDER, name), encoding="utf-8")
    except FileExistsError:
        raise UsageProblem(f"{folder} is there already, and nothing in it was changed; give another --folder") from None
    except OSError as error:
        raise UsageProblem(f"{folder} cannot be written: {error.strerror or error}; give another --folder") from None


def check_name(name: str, tasks: Registry) -> None:
    """Raises UsageProblem for a name that is no valid package name, or that is taken."""
    if not re.fullmatch(r"[a-z]([a-z0-9_]*[a-z0-9])?", name):
        raise UsageProblem(
            f"{name!r} cannot name a package; take lower-case letters, digits and _, with a letter first and no _ last"
        )
    if taken := _taken(name, tasks):
        raise UsageProblem(f"the name {name!r} is taken by {taken}; take another")


def _taken(name: str, tasks: Registry) -> str:
    """What has this name; empty for a free one."""
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        return "Python's own word"
    if name in MARKS:
        return "a marker of pytest"
    if name == "tests":
        return "the folder of the package's own tests"
    if any(name == task.replace(".", "_") for task in tasks.names):
        return "an announced task"
    if find_spec(name) is not None:
        return "a module that is installed"
    try:
        distribution(name)
    except PackageNotFoundError:
        return ""
    return "a distribution that is installed"
