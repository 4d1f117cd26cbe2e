"""What a launcher hands over to the run that it starts."""

from __future__ import annotations

import os

import pytest

from agentgauge.run.launch_settings import Handed, LaunchOptions

ON_RAY = LaunchOptions("auto", workers=2, cpus=1, gpus=0)


def test_a_run_takes_what_is_handed_over_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    for name, value in Handed(launch=ON_RAY, assignment="cases.json").variables().items():
        monkeypatch.setenv(name, value)
    assert Handed.given() == Handed(launch=ON_RAY, assignment="cases.json")
    assert Handed.given() == Handed()  # a pytest that a test starts in this process


@pytest.mark.parametrize(("worker", "assignment"), [("gw0", "cases.json"), ("", "")])
def test_workers_of_a_run_get_what_concerns_them(monkeypatch: pytest.MonkeyPatch, worker: str, assignment: str) -> None:
    for name, value in Handed(assignment="cases.json", run=os.getppid()).variables().items():
        monkeypatch.setenv(name, value)
    if worker:
        monkeypatch.setenv("PYTEST_XDIST_WORKER", worker)
    else:
        monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    assert Handed.given().assignment == assignment


def test_a_run_whose_launcher_has_ended_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    for name, value in Handed(launcher=1 << 22).variables().items():  # no process has so large an id
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        Handed.given()
