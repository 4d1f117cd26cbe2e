"""``agentgauge launch`` on a real Ray cluster: the run folder is that of a plain run, whatever happens."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import agentgauge.cli.launch
from agentgauge.core.errors import UsageProblem
from agentgauge.core.registry import Registry
from tests.plugin.conftest import slow
from tests.plugin.project import Project, Result, interrupt, records, summary, without_times
from tests.ray_cluster import Cluster


class Launcher:
    """Starts launches of a toy project."""

    def __init__(self, project: Project, cluster: Cluster, url: str) -> None:
        self.project, self.cluster = project, cluster
        self.asked = ("--model", "m", "--model-url", url, "--data", "toy")

    def start(
        self, *arguments: str, workers: int = 1, address: str = "", own: tuple[str, ...] = ()
    ) -> subprocess.Popen[str]:
        words = ["--ray", address or self.cluster.address, "--workers", str(workers), "--cpus", "0.5", *own, "--"]
        words += ["-p", "no:cacheprovider", *arguments]
        return subprocess.Popen(
            [sys.executable, "-m", "agentgauge.cli.main", "launch", *words],
            cwd=self.project.path,
            env=self.project.environment(self.cluster.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, workers: int = 1, address: str = "") -> Result:
        return ended(self.start(*arguments, workers=workers, address=address))

    def printed(self, name: str) -> str:
        """By one run of several, below ``far``; without line ends."""
        return " ".join((self.folder("far") / "logs" / f"{name}.log").read_text().split())

    def folder(self, name: str) -> Path:
        return self.project.path / name


def ended(process: subprocess.Popen[str], seconds: float = 60) -> Result:
    try:
        output, _ = process.communicate(timeout=seconds)
    finally:
        process.kill()
    return Result(process.returncode, output, Path())


@pytest.fixture
def launcher(project, endpoint, ray_cluster) -> Launcher:
    return Launcher(project, ray_cluster, endpoint.url)


def test_a_launch_leaves_the_folder_of_a_plain_run(launcher, endpoint):
    result = launcher.run(*launcher.asked, "--run-dir=far", workers=2)
    assert result.status == 0, result.output
    assert "cases run on Ray" in result.output
    assert len(endpoint.requests) == 6
    launcher.project.run(*launcher.asked[:4], "--run-dir", "near")
    near, far = (launcher.folder(name) for name in ("near", "far"))
    assert without_times(summary(far)) == without_times(summary(near))
    assert (far / "leaderboard.md").read_text() == (near / "leaderboard.md").read_text()
    assert (far / "planned.json").read_text() == (near / "planned.json").read_text()
    told = {name: json.loads((folder / "run.json").read_text()) for name, folder in (("near", near), ("far", far))}
    assert told["far"]["settings"] == told["near"]["settings"]
    assert told["far"]["configs"] == told["near"]["configs"]


def test_three_models_share_a_cluster_and_each_leaves_the_folder_of_a_plain_run(launcher, endpoint):
    names = ("m", "oracle", "baseline")
    (launcher.project.path / "agentgauge.toml").write_text(f'[models.m]\nmodel = "m"\nurl = "{endpoint.url}"\n')
    words = ("--data=toy", "--limit=3", "--run-dir=far", *(f"--model={name}" for name in names))
    result = ended(launcher.start(*words, workers=3, address="local"), seconds=300)
    assert result.status == 0, result.output
    for name in names:
        launcher.project.run(f"--model={name}", "--limit=3", f"--run-dir=near/{name}")
        near, far = (launcher.folder(place) / name for place in ("near", "far"))
        assert without_times(summary(far)) == without_times(summary(near)), name
        assert "cases run on Ray" in launcher.printed(name)


def test_a_matrix_on_a_cluster_divides_workers_and_rates(launcher, endpoint):
    (launcher.project.path / "agentgauge.toml").write_text(
        f'[models.m]\nmodel = "m"\nurl = "{endpoint.url}"\nrequests_per_minute = 6000\n'
    )
    (launcher.project.path / "matrix.toml").write_text('models = ["m"]\ntemperatures = [0, 1]\nfolder = "far"\n')
    process = launcher.start("--data", "toy", own=("--matrix", "matrix.toml"), workers=3)
    result = ended(process, seconds=300)
    assert result.status == 0, result.output
    assert "up to 2 shards at a time" in launcher.printed("m-t0")
    assert "up to 1 shards at a time" in launcher.printed("m-t1")
    assert len(endpoint.requests) == 12


def test_ctrl_c_keeps_what_is_finished_and_both_ways_go_on(launcher, endpoint):
    quick = endpoint.choose
    endpoint.choose = lambda seen: slow(60)(seen) if "word5" in str(seen.body) else quick(seen)
    process = launcher.start(*launcher.asked, "--run-dir=run", workers=6)
    while len(records_so_far(launcher.folder("run"))) < 5:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    interrupt(process)
    result = ended(process)
    assert result.status == 2, result.output
    asked = len(endpoint.requests)
    endpoint.choose = quick
    result = launcher.run("--resume=run")
    assert result.status == 0, result.output
    assert "5 cases are kept, 1 run" in result.output
    assert len(endpoint.requests) == asked + 1
    assert {record["status"] for record in records(launcher.folder("run"))} == {"passed", "wrong"}


def records_so_far(folder: Path) -> list[str]:
    return [line for file in (folder / "records").glob("*.jsonl") for line in file.read_text().splitlines()]


def test_what_the_cluster_cannot_do_is_said_before_the_first_request(launcher, endpoint):
    result = ended(launcher.start(*launcher.asked, "--run-dir=run", own=("--gpus", "3")))
    assert result.status == 4, result.output
    assert "no node of the Ray cluster has 0.5 CPUs and 3 GPUs for a shard (its nodes: 8 CPUs and" in result.output
    assert not endpoint.requests


@pytest.mark.uses("budget")
def test_a_budget_stops_the_shards(launcher, endpoint):
    endpoint.choose = slow(0.5)
    result = launcher.run(*launcher.asked, "--run-dir=run", "--in-flight=1", "--budget=1tok")
    assert result.status == 1, result.output
    assert "the budget of 1tok is used up" in result.output
    assert len(endpoint.requests) < 6


def test_a_node_that_refuses_says_why_in_one_sentence(launcher, endpoint):
    (launcher.project.path / "agentgauge.toml").write_text(
        f'[models.m]\nmodel = "m"\nurl = "{endpoint.url}"\nkey_env = "KEY_OF_THE_DRIVER"\n'
    )
    launcher.project.environment = lambda extra=None: {  # the cluster was started without it
        **Project.environment(launcher.project, extra),
        "KEY_OF_THE_DRIVER": "k" * 20,
    }
    result = launcher.run("--model=m", "--data=toy", "--run-dir=run")
    assert result.status == 4, result.output
    assert "it lacks the environment variable KEY_OF_THE_DRIVER" in result.output
    assert not endpoint.requests


def test_where_no_cluster_is_one_sentence_says_so_and_nothing_is_left(launcher):
    result = launcher.run(*launcher.asked, "--run-dir=run", address="127.0.0.1:1")
    assert result.status == 4, result.output
    (said,) = [line for line in result.output.splitlines() if line.startswith("ERROR")]
    assert said.startswith("ERROR: the Ray cluster 127.0.0.1:1 cannot be reached")
    assert not (launcher.folder("run") / "run.json").exists()


REFUSED = {
    "workers": (["--ray", "auto"], "--ray needs --workers, the number of shards that run at a time; add --workers N"),
    "no workers": (["--ray", "auto", "--workers", "0"], "--workers must be 1 or more"),
    "no cluster": (["--cpus", "2"], "--cpus goes with --ray only; give both, or neither"),
    "tools": (["--ray", "auto", "--tools"], "--tools started tools on Ray Serve, which are no more; leave it out"),
    "no matrix": (["--dry-run"], "--dry-run goes with --matrix only; give both, or neither"),
    "no file": (["--matrix", "absent.toml"], "the matrix absent.toml cannot be read"),
    "processes": (["--ray", "auto", "--workers", "1", "--", "-n", "auto"], "-n auto must be an integer"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_arguments_that_make_no_sense_are_refused(name):
    words, why = REFUSED[name]
    with pytest.raises(UsageProblem, match=why):
        agentgauge.cli.launch.main(words, Registry)
