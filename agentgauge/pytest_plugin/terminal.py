"""pytest's terminal: nothing secret is written there, and the run goes on when it cannot be written."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import partial
from typing import Any, TextIO, cast

import pytest

from agentgauge.core.processes import Output, lost_output
from agentgauge.core.redaction import Printed, redact
from agentgauge.pytest_plugin.keys import LOST_OUTPUT

_ERRORS = pytest.StashKey[int]()
"""Of a configuration: a descriptor of standard error that pytest does not capture."""


def prepare_terminal(config: pytest.Config) -> None:
    """Remove secrets from the terminal's output: with ``--showlocals`` an error shows the variables of every
    function. When it cannot be written, that is said on standard error."""
    with suppress(OSError, AttributeError, ValueError):  # it is no file
        config.stash[_ERRORS] = os.dup(sys.stderr.fileno())
        config.add_cleanup(partial(os.close, config.stash[_ERRORS]))
    before, file = sys.stdout, cast("TextIO", Printed(output(config, sys.stdout), redact))
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None:  # pytest makes it next, of this stream
        sys.stdout = file
        config.add_cleanup(lambda: setattr(sys, "stdout", before))
    elif type(terminal) is pytest.TerminalReporter:
        config.pluginmanager.unregister(terminal)
        config.pluginmanager.register(pytest.TerminalReporter(config, file), "terminalreporter")


def output(config: pytest.Config, stream: Any) -> Output:
    """A stream to the terminal, which may be lost."""
    return Output(stream, partial(_lost, config))


def _lost(config: pytest.Config, error: OSError) -> None:
    if LOST_OUTPUT in config.stash:
        return
    config.stash[LOST_OUTPUT] = lost_output(error)
    controller: Any = config.pluginmanager.get_plugin("agentgauge-controller")
    where = f", and its results are in {controller.folder.path}" if controller else ""
    text = f"agentgauge: {lost_output(error)}; the run goes on{where}\n"
    with suppress(OSError, KeyError):
        os.write(config.stash[_ERRORS], redact(text).encode())
