"""What a run writes on a real terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

from tests.plugin.project import PYTEST


def test_the_header_begins_on_a_line_of_its_own_beside_xdist(project, model):
    ours, theirs = pty.openpty()
    command = [sys.executable, *PYTEST, "--data", "toy", *model, "-n", "2"]
    with subprocess.Popen(command, cwd=project.path, env=project.environment(), stdout=theirs) as process:
        os.close(theirs)
        written = b""
        try:
            while part := os.read(ours, 65536):
                written += part
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    assert process.returncode == 0, written
    assert b"\nagentgauge: model m" in written
