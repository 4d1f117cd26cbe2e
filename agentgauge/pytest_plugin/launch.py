"""What the driver of a launch takes from pytest's own command line."""

from __future__ import annotations

import pytest

PASSED_ON = ("ignore", "ignore_glob", "override_ini", "confcutdir", "import_mode", "pythonwarnings")
"""Options of pytest that change what a node collects, by their names with ``_``."""


def node_arguments(config: pytest.Config) -> list[str]:
    """Arguments of the pytest processes on nodes: pytest's own options that matter there, and the paths."""
    option = config.option
    given = {name: getattr(option, name.replace("import_mode", "importmode")) or () for name in PASSED_ON}
    listed = {name: [values] if isinstance(values, str) else values for name, values in given.items()}
    named = [f"--{name.replace('_', '-')}={value}" for name, values in listed.items() for value in values]
    named += ["--override-ini=addopts=", *(word for plugin in option.plugins or () for word in ("-p", plugin))]
    named += [f"--config-file={config.inipath}"] if option.inifilename else []
    return [*named, *["--noconftest"] * option.noconftest, *["--pyargs"] * option.pyargs, *config.args]
