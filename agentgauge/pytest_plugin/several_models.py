"""pytest with several ``--model``: its process starts one pytest for each of them.

Imports nothing heavy, because each run of pytest asks whether there are several.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.core.option import destination, prefixed
from agentgauge.core.options import OPTIONS, TOGETHER
from agentgauge.pytest_plugin.options import registry_of
from agentgauge.run.launch_settings import Handed
from agentgauge.run.several.command_line import CommandLine, read_command_line, with_options
from agentgauge.run.several.parent import Member, RunGroup, is_parent, named, read, refuse_taken, totals
from agentgauge.store.folder import new_folder


def run_several_models(config: pytest.Config) -> int | None:
    """Run the models of the command line. Returns the worst exit status; None where one run is asked for. Raises
    UsageProblem."""
    option, root = config.option, config.rootpath
    if Handed.is_one_of_several():
        option.clean_alluredir = False  # the first process has done it; all models leave their results there
    ours = {name: getattr(option, destination(name)) for name in OPTIONS}
    models, resumed = ours["--model"] or [], Path(ours["--resume"] or "")
    if not (len(models) > 1 or is_parent(resumed)):
        return None
    # a name may be that of another plugin's option
    names = [name for name, value in ours.items() if config.getoption(name, None) == value]
    line = read_command_line(config.invocation_params.args, names)
    models = line.models or models  # those of the command line, where it has any, and not of the project's settings
    folder = line.taken.get("--resume")
    resumes = bool(folder) and is_parent(resumed)
    if len(models) < 2 and not resumes:
        return None
    line.check({name for name, value in ours.items() if value is not None})
    from agentgauge_reports.several import REPORTS

    from agentgauge.run.several.members import run_members

    if folder:
        if line.models or "--run-dir" in line.taken or not resumes:
            raise UsageProblem(
                f"--resume={folder} goes on with the models of that folder; leave --model and --run-dir out"
            )
        parent, group, stored = resumed, _resumed(resumed, line), None
    else:
        parent = Path(ours["--run-dir"]) if ours["--run-dir"] else new_folder(f"{len(models)}-models")
        refuse_taken(parent)
        url = None if line.model_url else ours["--model-url"]  # that of the line is among its words
        from_settings = (f"{prefixed('--model-url')}={url}",) if url else ()
        members = tuple(map(Member, named(models), models, repeat((*from_settings, *line.words))))
        group = stored = RunGroup(members, totals({option.key: ours[name] for name, option in OPTIONS.items()}))
    judging = tuple(form for each in OPTIONS.values() if each.judges for form in (each.name, prefixed(each.name)))
    again = stored is None and any(word.startswith(judging) for word in line.words)
    if getattr(option, "clean_alluredir", False) and option.allure_report_dir and not resumes:
        shutil.rmtree(option.allure_report_dir, ignore_errors=True)
    together = {option.name: ours[option.name] for option in TOGETHER if ours[option.name]}
    more: dict[str, Any] = {"tasks": registry_of(config), "stored": stored, "together": together}
    return run_members(parent, group, REPORTS, root=root, again=again, on_ray=Handed.given().launch, **more)


def _resumed(parent: Path, line: CommandLine) -> RunGroup:
    """The runs of the folder, with what the command line says beside it. Raises UsageProblem."""
    group = read(parent)
    members = tuple(replace(one, words=with_options(one.words, line.words)) for one in group.members)
    given = {name: int(line.taken[name]) for name in group.totals if name in line.taken}
    return replace(group, members=members, totals={**group.totals, **given})
