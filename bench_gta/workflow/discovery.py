"""Finds the files that a run produced (GTA-Workflow spec 2.4)."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from agentgauge.core.types import Json

_SANDBOX = "sandbox:"

_SUFFIX = re.compile(r"\.(png|jpg|jpeg|gif|bmp|webp|pdf|docx|pptx|ppt|xlsx|xls|csv|txt|md|json|html|zip|mp4|mp3)\Z")
"""What upstream collects. Quirk of spec 2.4: ``.wav``, ``.m4a``, ``.mov`` and ``.webm`` are not among them."""

_NO_DELIVERY = frozenset({"__pycache__", "__MACOSX"})  # folders that programs leave behind


def attached_files(turns: Sequence[Sequence[Json]], *, extended: bool = False, folder: Path | None = None) -> list[str]:
    """The files that the steps of a run's user turns point to, without repeats. Raises nothing for any JSON value.

    By default upstream's list (GTA-Workflow spec 2.4): texts of tool outputs that end in a known suffix and hold a
    slash, as written, whether or not such a file exists.

    ``extended`` returns the files that were really delivered: absolute paths of all files below ``folder`` with any
    suffix, without links, hidden files and by-products of programs. Files that the run mentions come first, in the
    order of the mentions, in a tool's output, in a sentence of the final answer or as ``sandbox:/name``; the others
    follow, sorted. A file outside ``folder`` is never delivered, so that no model can show a file of this machine to a
    judge; without ``folder`` the list is empty.
    """
    if extended:
        return [] if folder is None else _delivered(turns, folder)
    found = (_upstream_form(text) for turn in turns for step in turn for text in _outputs(step))
    return list(dict.fromkeys(form for form in found if form is not None))


def texts_in(value: Json) -> Iterator[str]:
    """The texts in lists and in values of objects, in order, however deep. Keys of objects are left out."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, list):
            waiting += reversed(part)
        elif isinstance(part, Mapping):
            waiting += reversed(list(part.values()))


def _outputs(step: Json) -> Iterator[str]:
    """Quirk of spec 2.4: neither the assistant's words nor the arguments of calls are searched."""
    if not isinstance(step, Mapping):
        return
    yield from texts_in(step.get("observation"))
    if step.get("role") == "tool":
        yield from texts_in(step.get("content"))


def _upstream_form(text: str) -> str | None:
    """The form of a text that upstream takes for a path. Quirk of spec 2.4: a sentence that ends in one is taken
    whole."""
    text = text.strip()
    forms = [text.removeprefix(_SANDBOX).removeprefix("/"), text] if text.startswith(_SANDBOX) else [text]
    return next((form for form in forms if _SUFFIX.search(form.lower()) and ("/" in form or "\\" in form)), None)


def _delivered(turns: Sequence[Sequence[Json]], folder: Path) -> list[str]:
    base = str(folder.absolute())
    speech = "\n".join(text for turn in turns for text in texts_in(list(turn)))
    files = sorted(_files_below(base))
    # stable: unnamed ones stay sorted
    return sorted(files, key=lambda path: _first_named(path.removeprefix(f"{base}/"), speech))


def _files_below(base: str) -> Iterator[str]:
    """Real files only; a folder that cannot be read is passed over."""
    for place, folders, names in os.walk(base):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _NO_DELIVERY]
        for name in names:
            path = f"{place}/{name}"
            # islink and isfile never raise
            if not name.startswith(".") and not os.path.islink(path) and os.path.isfile(path) and _storable(path):  # noqa: PTH113, PTH114
                yield path


def _storable(path: str) -> bool:
    """Whether a record can hold the path: on Linux a name may be any bytes, UTF-8 or not."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _first_named(relative: str, speech: str) -> float:
    """Where a file is first spoken of: by its path below the folder, else by its name alone."""
    for name in (relative, relative.rpartition("/")[2]):
        place = speech.find(name)
        while place >= 0:  # an expression would do, but takes seconds for a long run with many files
            before, behind = speech[place - 1 : place], speech[place + len(name) : place + len(name) + 1]
            if not (_in_name(before) or before in (".", "-") or _in_name(behind)):
                return place
            place = speech.find(name, place + 1)
    return math.inf


def _in_name(sign: str) -> bool:
    return sign.isalnum() or sign == "_"
