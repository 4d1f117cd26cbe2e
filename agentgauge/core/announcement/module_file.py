"""Python files that announce tasks: which one is being imported, and importing it in another process."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

from agentgauge.core.errors import UsageProblem


def importing_file() -> Path | None:
    """The file of the module that Python is importing now, the innermost one of nested imports. None outside of
    imports: another process cannot import the main program."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") != "__main__":
            file = frame.f_globals.get("__file__")
            return Path(file).absolute() if file else None
        frame = frame.f_back
    return None


def import_file(file: Path) -> None:
    """Import a Python file: by the name that it has on ``sys.path``, so that its relative imports work, else by its
    path alone.

    Raises UsageProblem where there is no such file, and where importing it raises.
    """
    if not file.is_file():
        raise UsageProblem(f"{file} is not a Python file; name one that announces tasks, such as a conftest.py")
    file = file.absolute()
    try:
        if name := next(_names(file), None):
            import_module(name)
            return
        spec = spec_from_file_location(file.stem, file)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[file.stem] = module  # data classes look themselves up there
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[file.stem]  # the next import must not find half of it
            raise
    except Exception as error:  # the user's own code
        raise UsageProblem(
            f"{file} announces tasks and cannot be imported without pytest ({type(error).__name__}: {error}); announce"
            " them in a module that can, or by the entry point agentgauge.tasks of a package"
        ) from error


def _names(file: Path) -> Iterator[str]:
    """The names by which ``import`` finds this very file."""
    for folder in sys.path:
        root = Path(folder or ".").absolute()
        if not file.is_relative_to(root):
            continue
        parts = file.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name and all(part.isidentifier() for part in parts):
            try:
                spec = find_spec(name)  # imports the packages around it
            except ImportError:
                continue
            if spec and spec.origin and Path(spec.origin).absolute() == file:
                yield name
