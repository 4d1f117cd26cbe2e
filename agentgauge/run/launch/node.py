"""The part of a launch that runs on a node: pytest for the cases of a shard, whose records go to the driver as they
are written. It knows nothing of Ray."""

from __future__ import annotations

import contextlib
import io
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from agentgauge.core.announcement import own_version
from agentgauge.core.files import OwnFolder, cache_folder
from agentgauge.core.processes import TOOL_TOKEN
from agentgauge.core.redaction import redact, register, register_environment
from agentgauge.run.coordination.stopping import StopFile
from agentgauge.run.crashes import unended
from agentgauge.run.launch_settings import HANDED, Assignment, Handed
from agentgauge.store import RunFolder
from agentgauge.store.records import RecordTail, worker_files

LOOK_SECONDS = 0.1
"""Seconds between two checks for new records."""
ASK_SECONDS = 0.5
"""Seconds between two requests to the driver whether the shard must stop."""
START_SECONDS = 300.0
"""Seconds until pytest's first case must start; tools with models load in this time."""
END_SECONDS = 5.0
"""How long pytest may take to end after SIGTERM."""
MESSAGE_BYTES = 8 << 20
"""A message of records is sent when it has so many bytes of lines and files."""

NOT_HERE = (HANDED, "PYTEST_ADDOPTS")
"""Variables that Ray's processes may have, and that pytest on a node must not get."""

ShardCommand = Literal["", "hold", "end"]
"""The driver's command to its shards: continue; start no further case; end at once."""


@dataclass(frozen=True)
class ShardSpec:
    """What a node needs to run a shard. It holds no secret, because Ray keeps it in memory."""

    agentgauge: str  # version of the driver
    root: str  # folder of the driver's project
    here: str  # folder in which the driver was started
    python_path: str  # PYTHONPATH there
    arguments: tuple[str, ...]  # of pytest
    variables: tuple[str, ...]  # names of environment variables that must be set: they hold keys
    data: tuple[str, ...]  # folders of official data that must be there, unless they come with the spec
    data_option: str  # --data of the driver
    data_folder: str  # where it looks for data with --data=auto
    assignment: Assignment


class Refused(Exception):
    """A node cannot run its shard, and could run no other one either."""


def run_shard(
    spec: ShardSpec, archive: bytes | None, command: Callable[[], ShardCommand], tool_token: str = ""
) -> Iterator[dict[str, Any]]:
    """Run the cases of a shard. ``tool_token``: of its tool server, if it needs one.

    Yields messages, each with its ``kind``:

    - ``refused``, ``why``: a sentence; nothing was run;
    - ``data``: the project or folders of ``spec.data`` are not here; the shard must be sent again with ``archive``,
      which has the project's settings in ``project`` and the data in ``data``;
    - ``started``, ``tools``, ``sandbox``: as in run.json, before the first case;
    - ``records``, ``lines``, ``files``: lines of records, and tar archives of what tools produced, by line;
    - ``ended``, ``status``, ``last_line``, ``running``: pytest's exit status, the last line that it printed, and the
      cases that were running if its process died.
    """
    register_environment()
    register(tool_token)
    try:
        _check(spec)
        if archive is None and not all(Path(folder).is_dir() for folder in (spec.here, *spec.data)):
            yield {"kind": "data"}
            return
    except Refused as problem:
        yield {"kind": "refused", "why": f"node {platform.node()}: {problem}"}
        return
    with OwnFolder("shard") as scratch:
        yield from _Shard(spec, archive, scratch, tool_token).run(command)


def _check(spec: ShardSpec) -> None:
    here = own_version()
    if here != spec.agentgauge:
        raise Refused(f"it has AgentGauge {here}, the driver {spec.agentgauge}; install the same version on every node")
    if lacking := [name for name in spec.variables if not os.environ.get(name)]:
        raise Refused(
            f"it lacks the environment {'variable' if len(lacking) == 1 else 'variables'} {', '.join(lacking)}; set a"
            " key on every node before Ray is started there"
        )


def packed(paths: Mapping[str, Path], *, follow: bool = False) -> bytes:
    """A tar archive of files and folders, by the names that they get in it. ``follow``: with what links lead to;
    otherwise links are left out."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", dereference=follow) as archive:
        for name, path in paths.items():
            archive.add(path, name, filter=lambda member: member if member.isfile() or member.isdir() else None)
    return buffer.getvalue()


def unpack(archive: bytes, target: Path) -> None:
    """Write the files of a tar archive below ``target``; nothing leaves it."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as stream:
        stream.extractall(target, filter="data")


def _unpacked(archive: bytes) -> Path:
    """The folder of what came with a shard: unpacked once on each machine, in the user's cache folder."""
    target = cache_folder() / "launch-data" / sha256(archive).hexdigest()[:16]
    if not target.is_dir():
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with TemporaryDirectory(dir=target.parent) as scratch:
            unpack(archive, Path(scratch) / "new")
            with contextlib.suppress(OSError):  # another shard was faster
                (Path(scratch) / "new").rename(target)
    return target


class _Shard:
    """One pytest process and its run folder, which lasts as long as the shard."""

    def __init__(self, spec: ShardSpec, archive: bytes | None, scratch: Path, tool_token: str) -> None:
        self._folder = RunFolder(scratch / "run")
        self._log = scratch / "log"
        self._tail = RecordTail()
        self._started = False
        assignment = scratch / "assignment.json"
        spec.assignment.write(assignment)
        variables = Handed(os.getpid(), assignment=str(assignment)).variables()
        if tool_token:
            variables[TOOL_TOKEN] = tool_token
        arguments = [*spec.arguments, f"--agentgauge-run-dir={self._folder.path}", "-p", "no:cacheprovider"]
        root, here, data = spec.root, spec.here, {"auto": spec.data_folder}.get(spec.data_option, spec.data_option)
        if archive is not None:
            came = _unpacked(archive)
            data = str(came / "data") if (came / "data").is_dir() else data
            if not Path(here).is_dir():
                root = here = str(came / "project")
        if spec.data_option == "auto":
            variables["AGENTGAUGE_DATA"] = data
        else:
            arguments.append(f"--agentgauge-data={data}")
        if here == spec.here and spec.python_path:
            variables["PYTHONPATH"] = spec.python_path
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *arguments, f"--rootdir={root}"],
                cwd=here,
                env={name: value for name, value in os.environ.items() if name not in NOT_HERE} | variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def run(self, command: Callable[[], ShardCommand]) -> Iterator[dict[str, Any]]:
        asked = time.monotonic()
        begin, deadline = asked, float("inf")
        try:
            while True:
                has_ended = self._process.poll() is not None  # nothing is written after that
                yield from self._new_messages()
                if has_ended:
                    break
                now = time.monotonic()
                if now > deadline:
                    self._signal(signal.SIGKILL)
                elif not self._started and now - begin > START_SECONDS:
                    deadline = now
                elif now - asked > ASK_SECONDS and deadline == float("inf"):
                    asked = now
                    if self._apply_command(command()):
                        deadline = now + END_SECONDS
                time.sleep(LOOK_SECONDS)
        finally:
            self._signal(signal.SIGKILL)
        running = [found.case for found in unended(self._folder.path, "main")]
        status, last_line = self._process.returncode, self._last_line()
        yield {"kind": "ended", "status": status, "last_line": last_line, "running": running}

    def _apply_command(self, command: ShardCommand) -> bool:
        """Whether pytest was asked to end."""
        if command == "hold" and self._started:
            StopFile(self._folder.path).write("the launch was stopped", awaits=True)
        elif command:
            self._signal(signal.SIGTERM)
            return True
        return False

    def _signal(self, number: int) -> None:
        """To pytest, its xdist workers and its services, if it has not ended."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            if number == signal.SIGKILL:
                self._process.wait()

    def _new_messages(self) -> Iterator[dict[str, Any]]:
        if not self._started and (about := self._about()):
            self._started = True
            yield {"kind": "started", "tools": about["settings"]["tools"], "sandbox": about["sandbox"]}
        if self._started:
            yield from self._records()

    def _about(self) -> dict[str, Any] | None:
        """The run.json that pytest writes when the tools are checked; None before."""
        try:
            about: dict[str, Any] = json.loads((self._folder.path / "run.json").read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return about if about["planned"] else None

    def _records(self) -> Iterator[dict[str, Any]]:
        lines: list[bytes] = []
        files: dict[int, bytes] = {}
        size = 0
        for record, file, start, length in self._tail.new(worker_files(self._folder.path)):
            produced = self._folder.files(record["task"], record["sample"], record["attempt"])
            if produced.is_dir():
                files[len(lines)] = packed({".": produced})
                size += len(files[len(lines)])
                shutil.rmtree(produced)
            with file.open("rb") as stream:
                stream.seek(start)
                lines.append(stream.read(length))
            size += length
            if size > MESSAGE_BYTES:
                yield {"kind": "records", "lines": lines, "files": files}
                lines, files, size = [], {}, 0
        if lines:
            yield {"kind": "records", "lines": lines, "files": files}

    def _last_line(self) -> str:
        text = self._log.read_text(encoding="utf-8", errors="replace")
        lines = [line for line in text.splitlines() if line.strip()]
        errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
        return redact((errors or lines or ["it printed nothing"])[-1])
