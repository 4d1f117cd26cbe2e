"""The tasks that a project's own files announce, for commands that read runs of these tasks without pytest."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from agentgauge.core.announcement import import_file
from agentgauge.core.errors import UsageProblem
from agentgauge.core.task_registry import known_tasks


def import_tasks(tasks: Collection[str], words: Iterable[str], root: Path) -> str:
    """Import the files that may announce these tasks, as pytest does with the arguments ``words``: the ``conftest.py``
    of ``root`` and of folders among the words, and Python files among them. Imports nothing where all are known.

    Returns an error message if a task stays unknown, else an empty text.
    """
    failed = ""
    for file in dict.fromkeys(_files(words, root.resolve())):
        if not set(tasks) - known_tasks().keys():
            return ""
        if (folder := str(file.parent)) not in sys.path:
            sys.path.insert(0, folder)  # as pytest does by default
        try:
            import_file(file)
        except UsageProblem as problem:
            failed = f" ({problem})"
    unknown = sorted(set(tasks) - known_tasks().keys())
    return f"the file that announces the task {unknown[0]} was not found{failed}" if unknown else ""


def _files(words: Iterable[str], root: Path) -> Iterator[Path]:
    named = [path for word in words if (path := Path(word.partition("::")[0]).resolve()).exists()]
    around = [[*reversed(path.parents), path] for path in named]
    folders = [root, *(one for chain in around for one in chain if one.is_relative_to(root))]
    for file in (*(folder / "conftest.py" for folder in folders), *named):
        if file.is_file() and file.suffix == ".py":
            yield file
