"""Room in the table of open files, which is made while the process has one thread."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.plugin.project import ROOT

SCRIPT = """
import os, resource
from agentgauge.pytest_plugin.descriptors import make_room

def room():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("FDSize"))

before, opened = room(), len(os.listdir("/proc/self/fd"))
{limit}
make_room({connections})
assert len(os.listdir("/proc/self/fd")) == opened
print(room() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the size is told by Linux")
@pytest.mark.parametrize(
    ("connections", "limit", "least", "most"),
    [
        (500, "", 500, 2000),
        (0, "", 0, 128),
        (500, "resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))", 0, 0),
        (500, "os.close(0); opened -= 1", 0, 0),
    ],
    ids=["room for all", "none", "more than may be open", "no stdin"],
)
def test_room_is_made_and_nothing_stays_open(connections, limit, least, most):
    script = SCRIPT.format(connections=connections, limit=limit)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert least <= int(done.stdout) <= most
