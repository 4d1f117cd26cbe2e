"""The commits that a run was made with: of AgentGauge, and of the user's own project."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

SECONDS = 5.0
"""Seconds after which git is stopped, for example in a repository on a slow disk."""

Revision = dict[str, Any]
"""``{"commit": its id, "dirty": whether tracked files differ from it}``."""

_STATUS = ("-c", "core.fsmonitor=false", "status", "--porcelain=v2", "--branch", "--untracked-files=no")


class Revisions:
    """Found in the background while the run goes on."""

    def __init__(self, project: Path) -> None:
        """``project``: a folder of the user's project."""
        self._found: dict[str, Revision | None] = {"agentgauge": None, "project": None}
        self._project = project
        self._thread = threading.Thread(target=self._find, name="agentgauge-revisions", daemon=True)
        self._thread.start()

    def known(self, *, wait: bool = False) -> dict[str, Revision | None]:
        """``{"agentgauge", "project"}``, each a Revision. None if there is none, or, without ``wait``, if it is not
        known yet.
        """
        if wait:
            self._thread.join(2 * SECONDS)  # both are given up by then
        return dict(self._found)

    def _find(self) -> None:
        self._found["project"] = revision_of(self._project)
        self._found["agentgauge"] = own_revision(Path(__file__).parents[2])


def own_revision(folder: Path) -> Revision | None:
    """The revision of AgentGauge in ``folder``: a checkout, or an installation from a repository."""
    if (folder / ".git").exists():
        return revision_of(folder)
    try:
        direct_url = distribution("agentgauge").read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    commit = json.loads(direct_url or "{}").get("vcs_info", {}).get("commit_id")
    return {"commit": commit, "dirty": False} if commit else None


def revision_of(folder: Path) -> Revision | None:
    """The revision of the repository that holds a folder. None without a repository, a commit or git itself."""
    # a hook of git sets variables that name another repository
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *_STATUS],
            env=environment | {"GIT_OPTIONAL_LOCKS": "0"},  # the user may be committing
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None  # the caller gets None: no revision is known
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    commit = next((line.split()[2] for line in lines if line.startswith("# branch.oid ")), "(initial)")
    return None if commit == "(initial)" else {"commit": commit, "dirty": any(line[0] != "#" for line in lines)}
