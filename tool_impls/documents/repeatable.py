"""Office files without the time of their making, so that equal calls make equal files."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

EPOCH = (1980, 1, 1, 0, 0, 0)  # the first that a zip archive can hold
STAMP = re.compile(rb"(<dcterms:(created|modified)\b[^>]*>)[^<]*(</dcterms:\2>)")


def without_times(path: Path) -> None:
    """Rewrite an office file with fixed times, in its properties and in its archive."""
    with zipfile.ZipFile(path) as archive:
        parts = [(part.filename, archive.read(part)) for part in archive.infolist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts:
            fixed = STAMP.sub(rb"\g<1>1980-01-01T00:00:00Z\g<3>", data) if name == "docProps/core.xml" else data
            part = zipfile.ZipInfo(name, EPOCH)
            part.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(part, fixed)
