"""Reports arrive as they were sent."""

from __future__ import annotations

from typing import Any

import pytest

from agentgauge.pytest_plugin.xdist.report_serialization import PACKED, Packing, Unpacking


def packed(data: Any) -> Any:
    hook = Packing().pytest_report_to_serializable()
    next(hook)
    with pytest.raises(StopIteration) as stop:
        hook.send(data)
    return stop.value.value


def unpacked(data: dict[str, Any]) -> dict[str, Any]:
    next(Unpacking().pytest_report_from_serializable(data))
    return data


SKIPPED = pytest.TestReport(
    "t.py::a", ("t.py", None, "a"), {"a": 1}, "skipped", ("t.py", 3, "Skipped: é \ud800"), "call"
)
PROPERTIES = pytest.TestReport(
    "t.py::a", ("t.py", 7, "a"), {}, "passed", None, "call", duration=0.25, user_properties=[("n", 1.5)]
)


@pytest.mark.parametrize("report", [SKIPPED, PROPERTIES], ids=["skipped", "properties"])
def test_what_is_unpacked_is_what_was_packed_with_what_xdist_adds(report):
    data = report._to_json()
    sent = packed(data)
    assert list(sent) == [PACKED]
    assert isinstance(sent[PACKED], bytes)
    assert unpacked({**sent, "item_index": 3, "worker_id": "gw1"}) == {**data, "item_index": 3, "worker_id": "gw1"}


@pytest.mark.parametrize("data", [None, {"nodeid": "a", "odd": object()}], ids=["unknown", "what no bytes can say"])
def test_what_cannot_be_packed_goes_as_it_is(data):
    assert packed(data) is data


def test_what_was_not_packed_arrives_as_it_is():
    assert unpacked({"nodeid": "a"}) == {"nodeid": "a"}


TESTS = """
import pytest
def test_wrong(record_property):
    record_property("seen", 7)
    print("printed")
    assert [1, 2] == [1, 3]
def test_skipped():
    pytest.skip("no need")
"""

COUNT = """
import marshal, types
import agentgauge.pytest_plugin.xdist.report_serialization as parcels
def loads(packed):
    with open("arrived", "a") as file:
        print(len(packed), file=file)
    return marshal.loads(packed)
parcels.marshal = types.SimpleNamespace(dumps=marshal.dumps, loads=loads)
"""


def test_reports_of_a_run_say_the_same_with_workers(project, model):
    (project.path / "test_ordinary.py").write_text(TESTS)
    conftest = project.path / "conftest.py"
    conftest.write_text(conftest.read_text() + COUNT)
    told = []
    for workers in ((), ("-n", "2")):
        result = project.run(*model, *workers, "-rA", "--junitxml", "report.xml", "--run-dir", f"run{len(told)}")
        assert result.status == 1, result.output
        lines = [line.strip() for line in result.output.splitlines()]
        summary = sorted(line for line in lines if line.startswith(("PASSED", "FAILED", "SKIPPED", "E   ", "printed")))
        told.append((summary, (project.path / "report.xml").read_text().count('<property name="seen" value="7" />')))
    assert told[0] == told[1]
    assert told[0][1] == 1
    assert len((project.path / "arrived").read_text().splitlines()) == 3 * 8  # six cases and two tests
