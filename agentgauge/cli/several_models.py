"""pytest with several ``--model``: its process starts one pytest for each of them.

Imports nothing heavy, because each run of pytest asks whether there are several.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.options import OPTIONS, destination, prefixed
from agentgauge.run.launch_settings import LAUNCH
from agentgauge.run.several.command_line import CommandLine, read_command_line, with_options
from agentgauge.run.several.parent import Member, RunGroup, is_parent, named, read, refuse_taken, totals
from agentgauge.store.folder import new_folder

if TYPE_CHECKING:
    from agentgauge.core.registry import Registry


def run_several_models(
    option: Namespace,
    words: Sequence[str],
    root: Path,
    look_up: Callable[[str, Any], Any],
    known: Callable[[], Registry],
) -> int | None:
    """Run the models of a command line of pytest. Returns the worst exit status; None where one run is asked for.

    ``option``: pytest's parsed options, with those of the project's settings. ``words``: the command line alone, whose
    models count where it has any. ``root``: the folder of ``agentgauge.toml``. ``look_up``: an option's value by the
    name on the command line, which may be that of another plugin's option. ``known`` returns the tasks that pytest
    knows. Raises UsageProblem.
    """
    ours = {name: getattr(option, destination(name)) for name in OPTIONS}
    models, resumed = ours["--model"] or [], Path(ours["--resume"] or "")
    if not (len(models) > 1 or is_parent(resumed)):
        return None
    line = read_command_line(words, [name for name, value in ours.items() if look_up(name, None) == value])
    models = line.models or models
    folder = line.taken.get("--resume")
    resumes = bool(folder) and is_parent(resumed)
    if len(models) < 2 and not resumes:
        return None
    line.check({name for name, value in ours.items() if value is not None})
    if LAUNCH in os.environ:
        raise UsageProblem("agentgauge launch runs one model; start it once for each")
    from agentgauge.cli.several import run_members

    if folder:
        if line.models or "--run-dir" in line.taken or not resumes:
            raise UsageProblem(
                f"--resume={folder} goes on with the models of that folder; leave --model and --run-dir out"
            )
        group = _resumed(resumed, line)
        # a run that has ended has not been held against a gate that is given now
        gated = any(word.startswith(("--gate", prefixed("--gate"))) for word in line.words)
        return run_members(resumed, group, tasks=known(), stored=None, budget=ours["--budget"], root=root, again=gated)
    parent = Path(ours["--run-dir"]) if ours["--run-dir"] else new_folder(f"{len(models)}-models")
    refuse_taken(parent)
    url = None if line.model_url else ours["--model-url"]  # that of the line is among its words
    from_settings = (f"{prefixed('--model-url')}={url}",) if url else ()
    members = tuple(map(Member, named(models), models, repeat((*from_settings, *line.words))))
    group = RunGroup(members, totals({option.key: ours[name] for name, option in OPTIONS.items()}))
    return run_members(parent, group, tasks=known(), stored=group, budget=ours["--budget"], root=root)


def _resumed(parent: Path, line: CommandLine) -> RunGroup:
    """The runs of the folder, with what the command line says beside it. Raises UsageProblem."""
    group = read(parent)
    members = tuple(replace(one, words=with_options(one.words, line.words)) for one in group.members)
    given = {name: int(line.taken[name]) for name in group.totals if name in line.taken}
    return replace(group, members=members, totals={**group.totals, **given})
