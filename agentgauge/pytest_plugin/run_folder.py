"""Prepares the run folder at the start of a run: locks it, checks it, and writes run.json before anything else
happens.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import refusal
from agentgauge.pytest_plugin.options import given, only_looks
from agentgauge.run.crashes import note_earlier_death
from agentgauge.run.options import destination
from agentgauge.run.run_folders.claim import take_folder
from agentgauge.run.run_folders.same_run import check_run
from agentgauge.run.run_metadata import run_json
from agentgauge.run.settings import Settings
from agentgauge.store import RunFolder
from agentgauge.store.folder_lock import FolderLock

SELECTION = pytest.StashKey[dict[str, Any]]()
"""The selection of a resumed run that has no plan yet: see ``select``."""

EARLIER_DEATH = pytest.StashKey[str]()
"""A sentence about cases of a resumed run that were running when a process died."""


def claim_folder(config: pytest.Config, settings: Settings) -> Settings:
    """Lock the run folder until pytest ends, and write run.json: from then on a killed run can be resumed.

    A run that plans no case leaves nothing. Returns the settings with the folder. Raises UsageProblem if another
    process has locked the folder, if the folder holds a run already, or if a resumed run would differ from the earlier
    one.
    """
    if only_looks(config):
        check_run(settings)
        return settings
    if settings.rescore:
        config.add_cleanup(FolderLock(settings.rescore, shared=True).release)
    settings, give_back = take_folder(settings, is_named=bool(given(config.option).run_dir))
    if give_back is None:
        return settings
    config.add_cleanup(give_back)
    try:
        check_run(settings)
        if settings.resume:
            config.stash[EARLIER_DEATH] = note_earlier_death(settings)
        else:
            RunFolder(settings.run_dir).write_json("run.json", run_json(settings, selection(config)))
    except OSError as error:
        raise UsageProblem(f"the run folder {settings.run_dir}: {refusal(error)}") from None
    return settings


def is_asked_for(option: Namespace, settings: Settings) -> bool:
    """Whether the run folder stays after a run of a project's own tests alone. It does where it is named, where other
    runs read it, and where the run may be continued. ``option``: our options."""
    members = settings.shard or settings.shared or settings.assignment
    needs = settings.resume or settings.budget or settings.gates
    return bool(option.run_dir or needs or members or settings.file.keeps_own_tests)


def continue_selection(config: pytest.Config) -> None:
    """A run that ended before it had a plan is planned when it is resumed, with the selection that it was started with.

    Raises UsageProblem where its run.json cannot be read.
    """
    resumed = given(config.option).resume
    folder = RunFolder(Path(resumed or "."))
    if resumed and not folder.has_plan and (folder.path / "run.json").exists():
        earlier: dict[str, Any] = folder.read_json("run.json").get("selection") or {}
        config.stash[SELECTION] = earlier
        select(config, earlier)


def select(config: pytest.Config, earlier: Mapping[str, Any]) -> None:
    """Apply the selection of an earlier run if the command line selects nothing. Called in each process, because
    xdist's workers know only the command line."""
    for name, attribute in (("keyword", "keyword"), ("markexpr", "markexpr"), ("limit", destination("--limit"))):
        if earlier.get(name) and not getattr(config.option, attribute):
            setattr(config.option, attribute, earlier[name])
    if config.args_source is not pytest.Config.ArgsSource.ARGS and earlier.get("arguments"):
        config.args = earlier["arguments"]


def selection(config: pytest.Config) -> dict[str, Any]:
    """The selection of cases, stored in case the run is killed before it has a plan."""
    option, here = config.option, config.invocation_params.dir
    given = config.args if config.args_source is pytest.Config.ArgsSource.ARGS else []
    paths = [str(here / word) if (here / Path(word.partition("::")[0])).exists() else word for word in given]
    limit = getattr(option, destination("--limit"))
    return {"keyword": option.keyword, "markexpr": option.markexpr, "limit": limit, "arguments": paths}
