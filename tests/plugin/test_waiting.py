"""Requests that wait long for their answer are named in the progress line, whichever worker sent them."""

from __future__ import annotations

import pytest

from agentgauge.model.batch.counts import Counts
from agentgauge.run.coordination import waiting_requests as waiting
from agentgauge.run.coordination.waiting_requests import FILE, Waiting, WaitingRequests, waiting_requests
from agentgauge.run.progress import late_requests
from tests.plugin.conftest import slow
from tests.plugin.project import OFTEN


def test_the_numbers_of_all_workers_are_summed_up(tmp_path):
    assert waiting_requests(tmp_path) == Waiting()
    workers = [WaitingRequests(tmp_path, number) for number in range(3)]
    for one in workers:
        one.write(0)
    assert not (tmp_path / FILE).exists()  # as in most runs
    workers[2].write(5)
    workers[0].write(2)
    assert waiting_requests(tmp_path) == Waiting(7)
    workers[2].write(1)
    assert waiting_requests(tmp_path) == Waiting(3)
    workers[1].write(0, Counts(1, 20, 1, 3))
    workers[0].write(2, Counts(0, 5, 1, 0))
    workers[2].write(1, running=2, tokens=50)
    assert waiting_requests(tmp_path) == Waiting(3, Counts(1, 25, 2, 3), 2, 50)


def test_a_replacement_takes_up_the_entry_of_the_worker_that_died(tmp_path):
    WaitingRequests(tmp_path, 1).write(4)
    WaitingRequests(tmp_path, 1).write(0)
    assert waiting_requests(tmp_path) == Waiting()


def test_a_file_that_cannot_be_written_harms_nothing(tmp_path):
    WaitingRequests(tmp_path / "missing", 0).write(3)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, ""), (1, "1 request waits for more than 2 min"), (3, "3 requests wait for more than 2 min")],
)
def test_words(count, text):
    assert late_requests(count) == text


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        (Counts(), ""),
        (Counts(waiting=1), "1 request waits for a batch"),
        (Counts(12, 500, 1, 2), "12 requests wait for a batch · 500 submitted in 1 batch · 2 batches done"),
        (Counts(0, 700, 2, 1), "700 submitted in 2 batches · 1 batch done"),
    ],
)
def test_where_the_requests_of_batches_are(counts, text):
    assert str(counts) == text


SOON_OLD = """
from agentgauge.run import case_runner
from agentgauge.run.coordination import waiting_requests
waiting_requests.OLD = case_runner.OLD = 0.5
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_a_run_names_them(project, endpoint, workers):
    """With a shorter time than two minutes."""
    assert waiting.OLD == 120
    endpoint.choose = slow(2.5)
    project.add_to_conftest(OFTEN + SOON_OLD)
    result = project.run("--model", "m", "--model-url", endpoint.url, "--run-dir", "run", *workers)
    assert result.status == 0, result.output
    assert "0/6 · 6 requests running · 6 requests wait for more than" in result.output, result.output
    assert "\n6/6 · passed 5" in result.output
    assert not (project.path / "run" / FILE).exists()
