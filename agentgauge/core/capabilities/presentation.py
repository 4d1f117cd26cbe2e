"""How reports show a task."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exhibit:
    """Something to be shown of a case: a file, or a page that stands for the case itself."""

    name: str
    path: str = ""  # of a file; may start with RUN_TOKEN or ROOT_TOKEN
    html: str = ""
