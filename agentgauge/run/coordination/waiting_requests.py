"""What goes on with requests, from the processes of a run to the progress line. The outages of endpoints have a file of
their own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from agentgauge.model.outage import outage_words, outages
from agentgauge.run.coordination.numbers import summed

FILE, FORM = "waiting", "iiiiiiq"
"""Of the file in the run folder: see ``numbers``. An entry has the numbers of ``Waiting``."""

OLD = 120.0
"""Seconds from which a request has waited long. It is named in the progress line, and may still be answered."""


class Waiting(NamedTuple):
    late: int = 0  # requests that have waited long for an answer
    running: int = 0  # requests that were sent and have no answer yet
    limit: int = 0  # of these, by what the endpoints have answered so far; 0 where none has been asked
    slots: int = 0  # of the run, which are the limit of all endpoints together
    resting: int = 0  # requests that wait for their next attempt
    retries: int = 0  # attempts after the first so far
    tokens: int = 0  # of the replies so far
    outages: str = ""  # that go on, in words


def waiting_requests(folder: Path) -> Waiting:
    """The sum over all processes."""
    late, running, limit, slots, resting, retried, tokens = summed(folder / FILE, FORM)
    away = outage_words(outages(folder, time.time()))
    return Waiting(late, running, limit, slots, resting, retried, tokens, away)
