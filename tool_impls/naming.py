"""File names: of files that tools make, and of files that the texts of a call name."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from agentgauge.core.errors import ToolError
from agentgauge.core.tools import Parameter

LONGEST = 180  # bytes, suffix not included; file systems take 255

PICTURE = re.compile(r"!\[[^\]\n]{0,400}\]\(\s{0,9}<?([^)>\n]{1,400}?)>?(?:\s{1,9}\"[^\"\n]{0,400}\")?\s{0,9}\)")
"""A picture in Markdown; its group is the path. The bounds keep hostile text from taking quadratic time."""


def file_name(wanted: str | None, default: str, suffix: str) -> str:
    """The base name of a file to make: the name that the model gave or the default, with the suffix added if it is
    missing.

    Raises ToolError for a path, because the run decides where a tool's files lie (GTA tools spec 2). Characters that
    file systems refuse become ``_``.
    """
    name = (wanted or "").strip() or default
    if "/" in name or "\\" in name or name in (".", ".."):
        raise ToolError(f"filename must be a plain name without folders; got {name!r}")
    stem = name[: -len(suffix)] if name.lower().endswith(suffix.lower()) else name
    stem = re.sub(r'[\x00-\x1f\x7f<>:"|?*]', "_", stem)
    stem = _short(stem.strip(" ."))
    return f"{stem or default}{suffix}"


def plain_name(path: str) -> str:
    """The base name of a path from another process, made harmless: no folders, nothing hidden, nothing long."""
    base = path.replace("\\", "/").rpartition("/")[2]
    name = "".join(sign if sign.isprintable() and sign not in '<>:"|?*' else "_" for sign in base)
    path_name = PurePosixPath(name.strip(" ."))
    suffix = path_name.suffix[:20]
    return f"{_short(path_name.name.removesuffix(path_name.suffix))}{suffix}".strip(" .") or "file"


def named_files(parameter: Parameter, text: str) -> list[str]:
    """The paths that the text of an input names, by the input's ``attach``; none for other inputs."""
    if parameter.attach == "file":
        return [text]
    if parameter.attach == "files":
        return [path.strip() for path in text.split(",") if path.strip()]
    return PICTURE.findall(text) if parameter.attach == "markdown" else []


def _short(text: str) -> str:
    return text.encode("utf-8", "replace")[:LONGEST].decode("utf-8", "ignore")
