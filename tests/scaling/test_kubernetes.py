"""The manifests of ``examples/kubernetes``: held against Kubernetes' schemas, and their commands run."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.model.fault_server import FaultServer, answer
from tests.plugin.project import ROOT, Project
from tests.reports.test_merge import reports_of

yaml = pytest.importorskip("yaml")
kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")

HERE = ROOT / "examples" / "kubernetes"
VERSION = "1.33"
"""The oldest that has all fields."""


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((HERE / name).read_text()))


def pods(ray_job: dict[str, Any]) -> list[dict[str, Any]]:
    """The pods of a RayJob, as manifests of their own."""
    cluster = ray_job["spec"]["rayClusterSpec"]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    return [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, **group["template"]} for group in groups]


@pytest.mark.parametrize("name", ["shards.yaml", "merge.yaml"])
def test_manifests_keep_the_schema(name):
    for document in documents(name):
        assert kubernetes_validate.validate(document, VERSION, strict=True) == VERSION


def test_the_pods_of_the_ray_job_keep_the_schema():
    """KubeRay's own fields have no schema here."""
    (ray_job,) = documents("ray-job.yaml")
    assert [kubernetes_validate.validate(pod, VERSION, strict=True) for pod in pods(ray_job)] == [VERSION] * 2


def test_a_wrong_field_is_found():
    job = documents("shards.yaml")[1]
    job["spec"]["completion"] = job["spec"].pop("completions")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(job, VERSION, strict=True)


def test_the_ray_job_starts_a_launch_and_goes_on_with_it(tmp_path):
    (ray_job,) = documents("ray-job.yaml")
    (tmp_path / "agentgauge").write_text('#!/bin/bash\necho "$@"\n')
    (tmp_path / "agentgauge").chmod(0o755)
    line = ray_job["spec"]["entrypoint"].replace("/runs", str(tmp_path)).replace("/project", str(tmp_path))

    def started() -> str:
        environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        done = subprocess.run(shlex.split(line), env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    launch = "launch --ray auto --workers 8 --"
    assert started() == f"{launch} --model=gpt-4o --run-dir={tmp_path}/whole"
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "run.json").touch()
    assert started() == f"{launch} --resume={tmp_path}/whole"


def command(name: str, runs: Path) -> list[str]:
    """What the pod of a Job runs, with its volume elsewhere."""
    spec = documents(name)[-1]["spec"]["template"]["spec"]
    (volume,) = spec["containers"][0]["volumeMounts"]
    assert volume["mountPath"] == "/runs"
    return [word.replace("/runs", str(runs)) for word in spec["containers"][0]["command"]]


@pytest.mark.slow
def test_the_commands_of_both_jobs_make_the_run_in_one_piece(tmp_path):
    project, runs = Project(tmp_path), tmp_path / "runs"
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --pyargs bench_wild --limit=24\n")
    job = documents("shards.yaml")[1]["spec"]
    with FaultServer([answer("42")]) as server:
        known = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-of-nobody"}
        environment = project.environment(known) | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

        def run(name: str, **more: str) -> str:
            done = subprocess.run(
                command(name, runs), cwd=tmp_path, env=environment | more, capture_output=True, text=True
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        for index in range(job["completions"]):
            assert f"shard {index + 1} of {job['completions']}" in run("shards.yaml", JOB_COMPLETION_INDEX=str(index))
        assert "4 cases are kept, 0 run" in run("shards.yaml", JOB_COMPLETION_INDEX="0")
        assert "24 cases of 6 runs" in run("merge.yaml")  # two of the eight have none
        one = project.run("--model=gpt-4o", "--run-dir=one", data="auto", env=known)
        assert one.status == 0, one.output
    assert reports_of(runs / "whole") == reports_of(tmp_path / "one")
