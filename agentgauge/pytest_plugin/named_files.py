"""Imports the files on the command line that hold a benchmark, before pytest reads its options.

pytest itself imports such a file only when it collects tests, which is too late for the options of its tasks."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

_DECORATOR = re.compile(rb"^@(?:agentgauge\.)?benchmark\(", re.MULTILINE)


def named_files(config: pytest.Config) -> list[Path]:
    """The files of the command line that hold a benchmark."""
    words = dict.fromkeys(word.partition("::")[0] for word in config.known_args_namespace.file_or_dir)
    paths = [config.invocation_params.dir / word for word in words if word.endswith(".py")]
    return [path for path in paths if path.is_file() and _holds_benchmark(path.read_bytes())]


def _holds_benchmark(text: bytes) -> bool:
    return b"agentgauge" in text and _DECORATOR.search(text) is not None


def import_named(config: pytest.Config) -> None:
    """Import these files. Raises UsageError for a benchmark that is not complete; pytest imports the files again and
    reports any other error."""
    if not (paths := named_files(config)):
        return
    from agentgauge.core.announcement import import_file
    from agentgauge.core.errors import UsageProblem
    from agentgauge.core.tracebacks import with_mistake

    for path in paths:
        folder = str(path.parent.resolve())
        if folder not in sys.path:
            sys.path.insert(0, folder)  # as pytest does by default
        try:
            import_file(path)
        except (pytest.skip.Exception, pytest.fail.Exception):
            continue  # such as importorskip
        except UsageProblem as problem:
            if isinstance(problem.__cause__, UsageProblem):
                raise pytest.UsageError(with_mistake(problem.__cause__, config.getoption("tbstyle", "auto"))) from None
