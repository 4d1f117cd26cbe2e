"""What the driver of a launch takes from pytest's own command line."""

from __future__ import annotations

import pytest


def node_arguments(config: pytest.Config) -> list[str]:
    """Arguments of the pytest processes on nodes: pytest's own options that matter there, and the paths."""
    option = config.option
    named = [f"--override-ini={one}" for one in option.override_ini or ()] + ["--override-ini=addopts="]
    named += [word for plugin in option.plugins or () for word in ("-p", plugin)]
    named += [f"--config-file={config.inipath}"] if option.inifilename else []
    return [*named, *(["--pyargs"] if option.pyargs else []), f"--import-mode={option.importmode}", *config.args]
