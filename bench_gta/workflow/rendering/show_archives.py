"""The members of an archive, without unpacking any (GTA-Workflow spec 3.2, "Ours"). Runs in the sandbox only."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from agentgauge.core.errors import ToolError
from agentgauge.core.types import Json
from tool_impls.documents.guard import check_size
from tool_impls.documents.words import clean

MOST_SHOWN = 300  # members that are listed
MOST_COUNTED = 20_000  # members that are looked at


def archive(order: Mapping[str, Json]) -> Json:
    """``text``: a line per member with its bytes; ``note``: kind and number of members. Raises ToolError."""
    path = Path(order["source"])
    check_size(path)
    kind, members = _members(path)
    lines: list[str] = []
    count = total = 0
    for name, size in members:
        count += 1
        total += size
        if count <= MOST_SHOWN:
            lines.append(f"{clean(name)[:300]!r}: {size:,} bytes")
        if count == MOST_COUNTED:
            break
    many = f"{count:,} or more" if count == MOST_COUNTED else f"{count:,}"
    if count > MOST_SHOWN:
        lines.append(f"[only the first {MOST_SHOWN} are listed]")
    return {
        "note": f"{kind} archive of {many} members, {total:,} bytes when unpacked; only listed, not unpacked",
        "text": "\n".join(lines),
    }


def _members(path: Path) -> tuple[str, Iterator[tuple[str, int]]]:
    if zipfile.is_zipfile(path):
        return "ZIP", _zip(path)
    try:
        file = tarfile.open(path)  # noqa: SIM115 - read to its end by the caller, in a process that ends then
    except (tarfile.TarError, OSError, EOFError, ValueError):
        raise ToolError("the file is no archive that can be read: it is damaged, or no ZIP or TAR") from None
    return "TAR", _tar(file)


def _zip(path: Path) -> Iterator[tuple[str, int]]:
    try:
        with zipfile.ZipFile(path) as file:
            yield from ((member.filename, member.file_size) for member in file.infolist())
    except (zipfile.BadZipFile, NotImplementedError, UnicodeError, ValueError, OSError):
        raise ToolError("the file is no ZIP archive that can be read: its directory is damaged") from None


def _tar(file: tarfile.TarFile) -> Iterator[tuple[str, int]]:
    try:
        yield from ((member.name, member.size) for member in file)
    except (tarfile.TarError, OSError, EOFError, ValueError):
        raise ToolError("the file is no TAR archive that can be read: it is damaged or cut off") from None
