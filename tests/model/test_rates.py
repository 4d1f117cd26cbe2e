"""Requests and tokens per minute, kept over all workers."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from agentgauge.model.rates import FIRST_TOKENS, Rates
from tests.model.fault_server import FaultServer, answer
from tests.plugin.project import Project


def rates(tmp_path, now, *, model="m", requests=None, tokens=None):
    return Rates(tmp_path / "rates", model, requests=requests, tokens=tokens, clock=lambda: now[0])


def test_requests_go_out_at_even_distances_whoever_sends_them(tmp_path):
    now = [100.0]
    one, other = (rates(tmp_path, now, requests=30) for _ in range(2))
    assert [each.reserve()[1] for each in (one, other, one)] == [100.0, 102.0, 104.0]
    now[0] = 200.0  # what was not used is not saved up
    assert [each.reserve()[1] for each in (one, other)] == [200.0, 202.0]
    assert rates(tmp_path, now, model="another", requests=30).reserve()[1] == 200.0


def test_tokens_are_reserved_by_the_mean_and_corrected_by_the_reply(tmp_path):
    now = [0.0]
    limited = rates(tmp_path, now, tokens=60_000)  # one second for 1,000 tokens
    assert [limited.reserve() for _ in range(2)] == [(FIRST_TOKENS, 0.0), (FIRST_TOKENS, 1.0)]
    limited.used(FIRST_TOKENS, 4000)
    assert limited.reserve() == (4000.0, pytest.approx(5.0))
    limited.used(FIRST_TOKENS, 0)
    assert limited.reserve() == (2000.0, pytest.approx(8.0))


def test_the_stricter_of_both_counts(tmp_path):
    now = [0.0]
    limited = rates(tmp_path, now, requests=60, tokens=6_000)  # ten seconds for 1,000 tokens
    assert [limited.reserve()[1] for _ in range(3)] == [0.0, 10.0, 20.0]


def test_processes_share_the_file(tmp_path):
    code = (
        "import sys; from pathlib import Path; from agentgauge.model.rates import Rates\n"
        "limited = Rates(Path(sys.argv[1]), 'm', requests=60, tokens=None, clock=lambda: 0.0)\n"
        "print(*(limited.reserve()[1] for _ in range(200)))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "rates")]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    moments = [float(word) for process in started for word in process.communicate(timeout=60)[0].split()]
    assert sorted(moments) == [float(second) for second in range(400)]


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_a_run_keeps_the_rate(tmp_path, workers):
    project, sent, lock = Project.make(tmp_path / "project", samples=12), [], threading.Lock()

    def choose(seen):
        with lock:
            sent.append(time.monotonic())
        return answer(str(seen.body["messages"][-1]["content"]).split()[-1])

    with FaultServer(choose=choose) as endpoint:
        table = f'[models.mine]\nurl = "{endpoint.url}"\nmodel = "m"\nrequests_per_minute = 600\n'
        (project.path / "agentgauge.toml").write_text(table)
        result = project.run("--model", "mine", "--run-dir", "run", *workers)
    assert result.status == 0, result.output
    assert len(sent) == 12 and max(sent) - min(sent) >= 0.7  # of 1.1: the first may have been on their way longer
    assert not (project.path / "run" / "rates").exists()
