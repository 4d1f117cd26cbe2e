"""A Slurm cluster of one node, in a folder of its own: munged, slurmctld and slurmd."""

from __future__ import annotations

import os
import pwd
import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

CONFIGURATION = """
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
GresTypes=gpu
ReturnToService=2
KillWait=5
SchedulerParameters=sched_interval=1,batch_sched_delay=0
NodeName={host} NodeAddr=127.0.0.1 CPUs=16 Gres=gpu:1 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
"""The node says that it has 16 processors and a GPU, so that all jobs of a test have room at once."""


@contextmanager
def cluster(folder: Path) -> Iterator[dict[str, str]]:
    """A running cluster, whose processes end afterwards: yields the environment in which Slurm's commands reach it."""
    host, user = socket.gethostname().partition(".")[0], pwd.getpwuid(os.getuid()).pw_name
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    key, configuration = folder / "munge.key", folder / "slurm.conf"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    configuration.write_text(CONFIGURATION.format(host=host, user=user, folder=folder, ports=free_ports(2)))
    (folder / "gres.conf").write_text("Name=gpu File=/dev/null\n")
    environment = {**os.environ, "SLURM_CONF": str(configuration)}
    with ExitStack() as stack:

        def start(*words: str) -> None:
            log = stack.enter_context((folder / f"{Path(words[0]).name}.log").open("wb"))
            process = subprocess.Popen(words, env=environment, stdout=log, stderr=log)
            stack.callback(process.wait, 20)
            stack.callback(process.terminate)

        munge = ("key-file", "socket", "pid-file", "seed-file")
        start("munged", "--foreground", "--force", *(f"--{name}={folder}/munge.{name.split('-')[0]}" for name in munge))
        wait_for((folder / "munge.socket").exists, "munged")
        start("slurmctld", "-D")
        start("slurmd", "-D", "-N", host)
        wait_for(lambda: "idle" in output(environment, "sinfo", "--noheader", "--format=%T"), "the node")
        yield environment


def output(environment: dict[str, str], *words: str, cwd: Path | None = None) -> str:
    """What a command prints, errors included."""
    done = subprocess.run(words, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        opened = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in opened]


def wait_for(holds: Callable[[], bool], what: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"{what} is not there after {seconds} s"
        time.sleep(0.2)
