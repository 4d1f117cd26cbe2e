"""Several runs whose cases are solved on one Ray cluster: each gets its part of the workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from agentgauge.run.launch_settings import LaunchOptions
from agentgauge.run.several.launcher import Launch


@contextmanager
def on_cluster(options: LaunchOptions, runs: Sequence[Launch], width: int) -> Iterator[None]:
    """The process of each run becomes the driver of its shards. A cluster that is started on this machine is theirs
    together, and ends here. ``width``: runs side by side, no more than workers. Raises UsageProblem if the cluster
    cannot be used."""
    from agentgauge.run.ray_cluster import LOCAL, connect, disconnect, head

    is_ours = bool(runs) and options.address == LOCAL
    if is_ours:
        connect(LOCAL, cpus=options.cpus * options.workers)
    try:
        address = head() if is_ours else options.address
        same = Counter((run.spec.url, run.spec.model) for run in runs)
        for number, run in enumerate(runs):
            sharing = min(width, same[run.spec.url, run.spec.model])
            workers = options.workers // width + (number % width < options.workers % width)
            run.on_ray = replace(options, address=address, workers=workers, sharing=sharing)
        yield
    finally:
        if is_ours:
            disconnect()
