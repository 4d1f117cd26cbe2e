"""A call with the contents of its files: what a replica on another machine needs to work on it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tool_impls.server.call import Call


@dataclass(frozen=True, slots=True)
class SentCall:
    """``folder``: below which the files of the call lie on the sender. ``contents``: by their paths from there on."""

    call: Call
    folder: str
    contents: Mapping[str, bytes]


def packed(call: Call) -> SentCall:
    """Reads the files that came with the call: they lie beside its folder, with nothing else."""
    folder = Path(call.folder).parent
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return SentCall(call, str(folder), files)


@contextmanager
def unpacked(sent: SentCall, scratch: Path) -> Iterator[Call]:
    """The call with its files in a new folder below ``scratch``, which is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="call-", dir=scratch))
    try:
        moved = {}
        for name, content in sent.contents.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            moved[str(Path(sent.folder, name))] = str(path)
        work = folder / Path(sent.call.folder).name
        work.mkdir()
        values, files = (_moved(paths, moved) for paths in (sent.call.values, sent.call.files))
        yield replace(sent.call, folder=str(work), values=values, files=files)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _moved(values: Mapping[str, Any], moved: Mapping[str, str]) -> dict[str, Any]:
    return {name: moved.get(value, value) if isinstance(value, str) else value for name, value in values.items()}
