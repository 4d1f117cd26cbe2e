"""The scripts of ``examples/slurm`` on a real Slurm of one node. Opt in; Debian's packages are enough:

apt-get install slurm-wlm munge
AGENTGAUGE_SLURM=1 pytest tests/scaling/test_slurm.py
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plugin.project import GTA, ROOT, Project, records, run_gta
from tests.reports.test_merge import reports_of
from tests.scaling.slurm import cluster, output, wait_for

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("AGENTGAUGE_SLURM"), reason="AGENTGAUGE_SLURM is not set"),
]

RUN = (*GTA, "-p", "no:cacheprovider", "--model=oracle", "-m", "gta_atomic_e2e", "--limit=9")

KILLED = """
import os, signal

def pytest_runtest_logreport(report):
    '''The second shard's process is killed in the middle, once.'''
    mark = os.environ["FOLDER"] + "/killed"
    if report.when == "call" and os.environ["SLURM_ARRAY_TASK_ID"] == "2" and not os.path.exists(mark):
        open(mark, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with cluster(tmp_path_factory.mktemp("slurm")) as environment:
        yield environment


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the jobs are submitted, with the run in one piece."""
    (tmp_path / "killed.py").write_text(KILLED)
    for name in ("agentgauge.toml", "bench_gta"):
        (tmp_path / name).symlink_to(ROOT / name)
    run_gta(*RUN[len(GTA) :], "--run-dir=one", cwd=tmp_path)
    return tmp_path


def submit(slurm: dict[str, str], place: Path, **more: str) -> dict[str, str]:
    """Submit the example, and wait until all its jobs have ended. Returns the jobs' ids."""
    bin = str(Path(sys.executable).parent)
    path = f"{place}:{ROOT}"
    ours = {"PATH": f"{bin}:{os.environ['PATH']}", "PYTHONPATH": path, "XDG_CACHE_HOME": str(place / ".cache")}
    environment = {**Project(place).environment(), **ours, "SLURM_CONF": slurm["SLURM_CONF"], **more}
    script = str(ROOT / "examples" / "slurm" / "submit.sh")
    said = output(environment, "bash", script, "3", str(place / "runs"), *RUN, "-p", "killed", cwd=place)
    jobs = re.fullmatch(r"tool server (?P<tools>\d+), shards (?P<shards>\d+), merge (?P<merge>\d+)\n", said)
    assert jobs, said
    wait_for(lambda: not output(slurm, "squeue", "--noheader"), "the end of the jobs", 300)
    return jobs.groupdict()


def log(place: Path, name: str) -> str:
    return (place / f"agentgauge-{name}.log").read_text()


def test_a_shard_that_was_killed_is_submitted_again_and_the_whole_is_the_run_in_one_piece(slurm, place):
    runs = place / "runs"
    jobs = submit(slurm, place)
    assert "shard 2 of 3 is not finished: continue it with --resume=" in log(place, f"merge-{jobs['merge']}")
    assert not (runs / "whole").exists()
    kept = (runs / "shard-2" / "records" / "main.jsonl").read_text().splitlines()
    assert kept and json.loads((runs / "shard-2" / "run.json").read_text())["finished"] is None

    jobs = submit(slurm, place, ARRAY="2")
    assert f"{len(kept)} cases are kept" in log(place, "shard-2"), log(place, "shard-2")
    assert "9 cases of 3 runs" in log(place, f"merge-{jobs['merge']}")
    assert reports_of(runs / "whole") == reports_of(place / "one")
    assert {case["worker"] for case in records(runs / "whole")} == {"main"}


def test_the_tool_servers_token_is_in_a_file_for_its_user_alone(slurm, place):
    shutil.rmtree(place / "one")
    (place / "runs").mkdir()
    (place / "runs" / "killed").touch()
    submit(slurm, place)
    handed = place / "runs" / "tool-server"
    assert stat.S_IMODE(handed.stat().st_mode) == 0o600
    token = re.search(r"TOKEN='([\w-]{43}=)'", handed.read_text())
    assert token
    others = [file for file in place.rglob("*") if file.is_file() and file != handed]
    assert len(others) > 9
    assert [file for file in others if token[1].encode() in file.read_bytes()] == []
