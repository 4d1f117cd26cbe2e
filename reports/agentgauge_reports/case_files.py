"""The files of cases as texts name them. A model may have written the text, and a stranger the run folder: no text, and
no field of run.json, leads to another file of this machine."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgauge.core.errors import AgentGaugeError, UsageProblem
from agentgauge.core.types import RUN_TOKEN
from agentgauge.data.find import find_data, find_used_data


class RunFiles:
    """The files of a run's cases, which lie in its folder, or in that of the run that it scores again."""

    def __init__(self, run: Path, about: Mapping[str, Any]) -> None:
        """``about``: the run's run.json."""
        scored = about.get("rescore")
        self.folder, self._below = run.absolute(), ""
        if scored and (Path(scored) / "run.json").is_file():
            self.folder, self._below = Path(scored).absolute(), "files"  # only run.json names it: what tools made there

    def find(self, path: str) -> Path | None:
        """The file of a path with RUN_TOKEN; None for any other path, and for one that leads elsewhere."""
        token, _, rest = path.partition("/")
        return plain_file(self.folder, rest, self._below) if token == RUN_TOKEN else None


def plain_file(folder: Path, rest: str, below: str = "") -> Path | None:
    """The plain file at ``folder``/``rest`` if it lies below ``folder``/``below``, also when links are followed."""
    try:
        folder = folder.resolve()
        file = (folder / rest).resolve()
        found = file.is_relative_to(folder / below) and stat.S_ISREG(file.stat().st_mode)
    except (OSError, ValueError, RuntimeError):  # no path at all: too long, with a NUL, or a circle of links
        return None
    return file if found and os.access(file, os.R_OK) else None


def refuse_odd_files(run: Path, folder: Path) -> None:
    """Before the files of a case are copied with their ``folder``: raises UsageProblem where it lies behind a link, and
    where it holds something that is neither file, folder nor link. Links in it are copied as links."""
    if not folder.exists():
        return
    if folder.resolve() != run.resolve() / folder.relative_to(run):
        raise UsageProblem(f"{folder} is a link or lies behind one; put the folder there that the run made")
    for path in (Path(place, name) for place, _, names in os.walk(folder) for name in names) if folder.is_dir() else ():
        if not (path.is_symlink() or path.is_file()):
            raise UsageProblem(f"{path} is no file, but a pipe, socket or device; remove it")


def shown_data(about: Mapping[str, Any]) -> tuple[dict[str, Path], str]:
    """Task → the data whose files a report may show, and a sentence if some are left out.

    ``about``: a run's run.json. That it names a folder is no reason to show files from there: it must be the bundled
    data, or lie where official data is looked for.
    """
    try:
        used, _ = find_used_data(about, Path.cwd())
    except AgentGaugeError as problem:
        return {}, f"Files of the data set are not shown: {problem}."
    known = [find_data(data, Path.cwd())[0] for data in ("auto", "mini")]
    allowed = {(name, root.resolve()) for roots in known for name, root in roots.items()}
    roots = {name: root for name, root in used.items() if (name, root.resolve()) in allowed}
    if others := sorted({str(root) for name, root in used.items() if name not in roots}):
        advice = f"if that is your data set, set AGENTGAUGE_DATA={others[0]}"
        return roots, f"Files of the data set are not shown, because only run.json names {others[0]}; {advice}."
    return roots, ""
