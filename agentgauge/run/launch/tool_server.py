"""A tool server for a launch: one on the driver's machine, whose tools run on the cluster."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable

from agentgauge.core.errors import UsageProblem
from agentgauge.core.processes import PARENT
from agentgauge.core.redaction import printed
from agentgauge.run.run_services import tool_command
from agentgauge.run.settings import Settings

END_SECONDS = 15.0
"""How long the server may take to remove its deployments."""


class LaunchedTools:
    """The server's process and its ``url``. Its token is that of the run's own tool server."""

    def __init__(
        self, settings: Settings, tasks: Iterable[str], cluster: str, failed: Callable[[UsageProblem], None]
    ) -> None:
        """``cluster``: address of Ray's head. ``failed`` is called, in another thread, if the server ends by itself.
        Raises UsageProblem if the tasks need more than one tool server, and with the server's last output line if it
        does not start."""
        self._failed = failed
        self._is_closed = False
        found = [tools for name in tasks if (tools := settings.tasks[name].tools)]
        commands = dict.fromkeys(tool_command(settings, tools) for tools in found)
        if len(commands) != 1:
            why = "these benchmarks use no tool server" if not commands else "these benchmarks use several tool servers"
            raise UsageProblem(f"--tools starts one tool server for all shards, and {why}; leave --tools out")
        host = _own_address(cluster)
        with tempfile.TemporaryFile() as log:
            self._process = subprocess.Popen(
                [*next(iter(commands)), "--ray", cluster, "--host", host],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, PARENT: str(os.getpid())},
                start_new_session=True,  # Ctrl-C is the run's to handle
            )
            assert self._process.stdout is not None
            if line := self._process.stdout.readline():
                self.url = str(json.loads(line)["url"])
                threading.Thread(target=self._watch, name="agentgauge-launched-tools", daemon=True).start()
                return
            self.close()
            log.seek(0)
            words = log.read().decode("utf-8", "replace").strip().splitlines() or ["it printed nothing"]
        raise UsageProblem(f"the tool server did not start: {printed(words[-1])}")

    def close(self) -> None:
        """End the server, and its deployments on the cluster."""
        self._is_closed = True
        self._process.terminate()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def _watch(self) -> None:
        status = self._process.wait()
        if not self._is_closed:
            self._failed(UsageProblem(f"the tool server of the launch has ended (status {status})"))


def _own_address(cluster: str) -> str:
    """The address of this machine under which the nodes of the cluster reach it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outer:
        outer.connect((cluster.rpartition(":")[0], 9))  # sends nothing: it finds the address that leads there
        return str(outer.getsockname()[0])
