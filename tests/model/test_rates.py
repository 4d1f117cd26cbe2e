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


def moments(limited, now, count):
    """When so many requests go out, one after the other."""
    sent = []
    while len(sent) < count:
        _, wait = limited.take()
        if wait:
            now[0] += wait
        else:
            sent.append(now[0])
    return sent


def test_requests_go_out_at_even_distances_whoever_sends_them(tmp_path):
    now = [100.0]
    one, other = (rates(tmp_path, now, requests=30) for _ in range(2))
    assert one.take() == (FIRST_TOKENS, 0.0) and other.take() == (FIRST_TOKENS, 2.0)
    assert moments(other, now, 2) == [102.0, 104.0]
    now[0] = 200.0  # what was not used is not saved up
    assert moments(one, now, 2) == [200.0, 202.0]
    assert rates(tmp_path, now, model="another", requests=30).take()[1] == 0.0


def test_tokens_count_as_the_mean_and_are_corrected_by_the_reply(tmp_path):
    now = [0.0]
    limited = rates(tmp_path, now, tokens=60_000)  # one second for 1,000 tokens
    assert moments(limited, now, 2) == [0.0, 1.0]
    limited.used(FIRST_TOKENS, 4000)
    assert limited.take() == (4000.0, pytest.approx(4.0))
    limited.used(FIRST_TOKENS, 100)  # a request that waits goes earlier then
    assert limited.take() == (2050.0, pytest.approx(3.1))


@pytest.mark.parametrize(("tokens", "seconds"), [(50, 15.0), (30_000, 930.0)])
def test_the_rate_of_tokens_holds_over_a_burst(tmp_path, tokens, seconds):
    """32 requests at 60,000 tokens a minute, each of which is answered before the next one goes out."""
    now, sent = [0.0], []
    limited = rates(tmp_path, now, tokens=60_000)
    for _ in range(32):
        sent += moments(limited, now, 1)
        limited.used(limited.take()[0] if len(sent) > 1 else FIRST_TOKENS, tokens)
    assert sent[-1] <= seconds and sum([tokens] * 31) / 1000 <= seconds


def test_an_endpoint_that_tells_no_usage_does_not_lift_the_limit(tmp_path):
    now = [0.0]
    limited = rates(tmp_path, now, tokens=60_000)
    sent = []
    for _ in range(4):
        sent += moments(limited, now, 1)
        limited.used(FIRST_TOKENS, 0)
    assert sent == [0.0, 1.0, 2.0, 3.0]


def test_the_stricter_of_both_counts(tmp_path):
    now = [0.0]
    limited = rates(tmp_path, now, requests=60, tokens=6_000)  # ten seconds for 1,000 tokens
    assert moments(limited, now, 3) == [0.0, 10.0, 20.0]


def test_a_torn_file_begins_anew(tmp_path):
    (tmp_path / "rates").write_text('{"m": {}}}}')
    assert rates(tmp_path, [0.0], requests=60).take() == (FIRST_TOKENS, 0.0)


def test_processes_share_the_file(tmp_path):
    code = (
        "import sys; from pathlib import Path; from agentgauge.model.rates import Rates\n"
        "limited = Rates(Path(sys.argv[1]), 'm', requests=60, tokens=None, clock=lambda: 0.0)\n"
        "print(sum(limited.take()[1] == 0 for _ in range(200)))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "rates")]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sorted(process.communicate(timeout=60)[0] for process in started) == ["0\n", "1\n"]


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
