"""A project with two models at two endpoints, for several runs with one command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.model.fault_server import FaultServer
from tests.plugin.conftest import slow
from tests.plugin.project import Project

SAMPLES = 12


def tables(project: Project, **urls: str) -> None:
    """Tables of models in ``agentgauge.toml``: name → address."""
    prices = "prices = { prompt = 10, completion = 10 }"  # dollars for a million tokens; an answer has 15
    text = "".join(f'[models.{name}]\nmodel = "m"\nurl = "{url}"\n{prices}\n' for name, url in urls.items())
    (project.path / "agentgauge.toml").write_text(text)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.make(tmp_path / "project", SAMPLES)


@pytest.fixture
def two(project: Project) -> Iterator[tuple[FaultServer, FaultServer]]:
    """The endpoints of the models ``slow`` and ``slower``."""
    with ExitStack() as stack:
        servers = (
            stack.enter_context(FaultServer(choose=slow(0.1))),
            stack.enter_context(FaultServer(choose=slow(0.2))),
        )
        tables(project, slow=servers[0].url, slower=servers[1].url)
        yield servers
