"""A tool server whose tools run on Ray Serve, on the cluster that the tests share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.ray_cluster import Cluster
from tests.tools.test_faults import Running


@contextmanager
def on_ray(cluster: Cluster, *arguments: str, **environment: str) -> Iterator[Running]:
    """Serves while the block runs; it must then end as any server, with nothing in its log but replicas that died."""
    running = Running("--ray", cluster.address, *arguments, **cluster.environment, **environment)
    try:
        yield running
    finally:
        log = running.stop()
    other = [line for line in log.decode().splitlines() if "died" not in line]
    assert other == [], other
