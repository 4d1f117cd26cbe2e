"""Wrong and broken cases leave nothing that only the garbage collector finds."""

from __future__ import annotations

import pytest

from tests.model.fault_server import FaultServer, answer, status
from tests.plugin.project import CONFTEST, Project

WATCH = """
import gc
import pytest
from agentgauge.pytest_plugin.outcome import BrokenCase, WrongAnswer

@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session):
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    done = yield
    gc.collect()
    print("CIRCLES", [type(one).__name__ for one in gc.garbage if isinstance(one, (BrokenCase, WrongAnswer))])
    gc.set_debug(0)
    gc.garbage.clear()
    return done
"""


@pytest.mark.parametrize(
    ("reply", "ends"), [(answer("something else"), "wrong"), (status(400), "broken")], ids=["wrong", "broken"]
)
def test_exceptions_of_cases_are_in_no_circle(tmp_path, reply, ends):
    project = Project.make(tmp_path)
    (tmp_path / "conftest.py").write_text(CONFTEST + WATCH)
    with FaultServer(choose=lambda seen: reply) as server:
        result = project.run("-s", "--model", "m", "--model-url", server.url, "--run-dir", "run")
    assert result.summary("run")["tasks"]["toy.say"][ends] == 6
    assert "CIRCLES []" in result.output
