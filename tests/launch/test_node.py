"""What a node does for a shard, without Ray: real pytest processes, real records."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from agentgauge.run.launch.node import ShardSpec, packed, run_shard, unpack
from agentgauge.run.launch_settings import Assignment
from agentgauge.store.jsonl import decoded
from tests.model.fault_server import FaultServer
from tests.plugin.conftest import say, slow
from tests.plugin.project import Project

SAMPLES = frozenset({("toy.say", "s1", 1), ("toy.say", "s3", 1)})


@pytest.fixture(scope="module")
def configs(tmp_path_factory) -> dict[str, str]:
    """Of the toy task with the model of the tests, as a plain run has them."""
    project = Project.make(tmp_path_factory.mktemp("plain"))
    with FaultServer(choose=say) as server:
        project.run("--model", "m", "--model-url", server.url, "--run-dir", "run", "--limit", "1")
    return dict(json.loads((project.path / "run" / "run.json").read_text())["configs"])


@pytest.fixture
def spec(project, endpoint, configs, monkeypatch) -> ShardSpec:
    for name, value in project.environment().items():
        monkeypatch.setenv(name, value)
    model = ("--agentgauge-model=m", f"--agentgauge-model-url={endpoint.url}")
    return ShardSpec(
        agentgauge=version("agentgauge"),
        root=str(project.path),
        here=str(project.path),
        python_path=project.environment()["PYTHONPATH"],
        arguments=("-p", "no:cacheprovider", *model, str(project.path)),
        variables=(),
        data=(str(project.path / "toy"),),
        data_option="toy",
        data_folder=str(project.path / "agentgauge-data"),
        assignment=Assignment(SAMPLES, configs, 1.0),
    )


def run(spec: ShardSpec, archive: bytes | None = None, command: Callable[[], Any] = lambda: "") -> list[dict[str, Any]]:
    return list(run_shard(spec, archive, command))


def statuses(messages: list[dict[str, Any]]) -> dict[str, str]:
    lines = [line for message in messages if message["kind"] == "records" for line in message["lines"]]
    return {record.sample: record.status for record in map(decoded, lines)}


def test_a_shard_runs_its_cases_and_no_others(spec, endpoint):
    messages = run(spec)
    assert [message["kind"] for message in messages if message["kind"] != "records"] == ["started", "ended"]
    assert statuses(messages) == {"s1": "passed", "s3": "wrong"}
    assert len(endpoint.requests) == 2


def test_a_shard_with_workers_of_its_own(spec):
    assert statuses(run(replace(spec, arguments=("-n2", *spec.arguments)))) == {"s1": "passed", "s3": "wrong"}


REFUSED = {
    "version": (
        lambda spec: replace(spec, agentgauge="0.0.1"),
        f"it has AgentGauge {version('agentgauge')}, the driver 0.0.1; install the same version on every node",
    ),
    "key": (
        lambda spec: replace(spec, variables=("AGENTGAUGE_NO_SUCH_KEY",)),
        "it lacks the environment variable AGENTGAUGE_NO_SUCH_KEY; set a key on every node before Ray is started there",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_node_that_does_not_fit_refuses_before_it_starts_anything(spec, name, endpoint):
    change, why = REFUSED[name]
    (message,) = run(change(spec))
    assert message["kind"] == "refused"
    assert message["why"].startswith("node ")
    assert message["why"].endswith(why)
    assert not endpoint.requests


ENDED = {
    "other data": (
        lambda spec: replace(spec, assignment=replace(spec.assignment, configs={"toy.say": "another"})),
        "the data, prompts, options, model or tool settings of toy.say differ from those of the driver; make them the"
        " same on every node",
    ),
    "no such file": (
        lambda spec: replace(spec, arguments=(*spec.arguments[:-1], "no_such_test.py")),
        "file or directory not found: no_such_test.py",
    ),
}


@pytest.mark.parametrize("name", ENDED)
def test_a_usage_error_is_said_in_one_sentence(spec, name, endpoint):
    change, said = ENDED[name]
    *_, message = run(change(spec))
    assert (message["kind"], message["status"], message["last_line"]) == ("ended", 4, said)
    assert not endpoint.requests


def test_data_that_is_not_there_is_asked_for_and_comes_along(spec, project):
    archive = packed({"data/toy": project.path / "toy"})
    shutil.rmtree(project.path / "toy")
    assert run(spec) == [{"kind": "data"}]
    assert statuses(run(spec, archive)) == {"s1": "passed", "s3": "wrong"}
    assert statuses(run(spec, archive)) == {"s1": "passed", "s3": "wrong"}  # from the cache


def test_data_is_found_where_the_driver_looks_for_it(spec, project):
    auto = replace(spec, data_option="auto", data_folder=str(project.path))
    assert statuses(run(auto)) == {"s1": "passed", "s3": "wrong"}


def test_a_node_without_the_project_gets_its_settings(spec, project, tmp_path):
    settings = tmp_path / "agentgauge.toml"
    settings.write_text("[models.m]\nunknown = 1\n")
    elsewhere = replace(spec, here="/no/such/folder", root="/no/such/folder", data_option=str(project.path / "toy"))
    assert run(elsewhere) == [{"kind": "data"}]
    *_, message = run(elsewhere, packed({"project/agentgauge.toml": settings}))
    assert "unknown" in message["last_line"]


def test_links_are_sent_as_what_they_lead_to_or_not_at_all(project, tmp_path):
    (tmp_path / "link").symlink_to(project.path / "toy")
    (tmp_path / "out").mkdir()
    unpack(packed({"toy": tmp_path / "link"}, follow=True), tmp_path / "out")
    assert (tmp_path / "out" / "toy" / "toy.jsonl").read_text() == (project.path / "toy" / "toy.jsonl").read_text()
    produced = tmp_path / "produced"
    produced.mkdir()
    (produced / "secret").symlink_to("/etc/passwd")
    unpack(packed({".": produced}), tmp_path / "out")
    assert not (tmp_path / "out" / "secret").exists()


def test_held_shards_start_no_further_case(spec, endpoint):
    held = threading.Event()

    def hold(request):
        held.set()
        return slow(1.0)(request)

    endpoint.choose = hold
    one = replace(spec, arguments=(*spec.arguments, "--agentgauge-in-flight=1"))
    assert statuses(run(one, None, lambda: "hold" if held.is_set() else "")) == {"s1": "passed"}


def test_a_shard_that_is_to_end_ends_at_once(spec, endpoint):
    endpoint.choose = slow(60)
    begin = time.monotonic()
    messages = run(spec, None, lambda: "end" if endpoint.requests else "")
    assert time.monotonic() - begin < 30
    assert statuses(messages) == {}
    assert messages[-1]["kind"] == "ended"


def test_without_a_word_from_the_driver_nothing_goes_on(spec, endpoint):
    endpoint.choose = slow(60)

    def command() -> Any:
        if endpoint.requests:
            raise ConnectionError("the driver is gone")
        return ""

    with pytest.raises(ConnectionError):
        run(spec, None, command)
    assert not any(_children_of(os.getpid()))


def _children_of(parent: int) -> Iterator[str]:
    """The command lines of pytest processes that this process has started."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            words = (path.parent / "cmdline").read_bytes().decode()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == parent and fields[0] != "Z" and "agentgauge-run-dir" in words:
            yield words
