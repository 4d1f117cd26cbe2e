"""Several ``--model`` in one command: this process starts one pytest for each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.run.options import OPTIONS, destination


def run_several(config: pytest.Config) -> int | None:
    """Returns the exit status; None where one run is asked for. Raises UsageError."""
    option = config.option
    ours = {name: getattr(option, destination(name)) for name in OPTIONS}
    models, resumed = ours["--model"] or [], ours["--resume"]
    if option.help or option.collectonly or not (len(models) > 1 or Path(resumed or "", "several.json").exists()):
        return None
    from agentgauge.cli.several import run_of_pytest

    short = [name for name, value in ours.items() if config.getoption(name, None) == value]
    try:
        return run_of_pytest(config.invocation_params.args, models, short, config.rootpath)
    except UsageProblem as problem:
        raise pytest.UsageError(str(problem)) from None
