"""The driver of a launch: shards for nodes, the connection to Ray, and the tools that nodes report."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.processes import TOOL_TOKEN, without_token
from agentgauge.core.tools import united, without_devices
from agentgauge.run.launch.remote_cases import RemoteCases
from agentgauge.run.launch.shard_spec import ShardSpecs
from agentgauge.run.ray_cluster import check_room, connect, disconnect
from agentgauge.run.runner import Runner
from agentgauge.run.settings import Settings


class Driver:
    """Connected to Ray until it is closed.

    ``tools``: what identifies each tool of the shards that have started. ``sandbox``: the protections of programs
    there.
    """

    def __init__(
        self,
        settings: Settings,
        configs: Mapping[str, str],
        tools: Mapping[str, Mapping[str, Any]],
        *,
        root: Path,
        here: Path,
        arguments: Sequence[str],
        failed: Callable[[UsageProblem], None],
    ) -> None:
        """``configs``, ``root``, ``here``, ``arguments``: see ``ShardSpecs``. ``tools``: the tools of the earlier
        sessions of a resumed run. ``failed`` is called, in another thread, if no shard can run. Raises UsageProblem if
        Ray cannot be reached, or cannot run what the settings ask for."""
        assert settings.launch is not None
        self._options = replace(settings.launch, workers=min(settings.launch.workers, settings.slots))
        self._configs = configs
        self._failed = failed
        self.tools = tools
        self.sandbox: tuple[str, ...] = ()
        connect(self._options.address, cpus=self._options.cpus * self._options.workers)
        try:
            check_room(self._options.cpus, self._options.gpus)
            self._tool_token = ""
            if settings.tool_server:
                address, token = without_token(settings.tool_server)
                settings = replace(settings, tool_server=address)
                self._tool_token = token or os.environ.get(TOOL_TOKEN, "")
            self._specs = ShardSpecs(self._options, settings, configs, root=root, here=here, arguments=arguments)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leave the cluster."""
        disconnect()

    def cases(self, runner: Runner) -> RemoteCases:
        """The cases of the run; called once, when the first case is to run."""
        from agentgauge.run.launch.ray_shards import RayShards

        return RemoteCases(
            self._options,
            runner.folder,
            RayShards(self._options, self._specs.packed, self._tool_token),
            self._specs.of,
            configs=self._configs,
            is_stopped=runner.is_stopped,
            started=self._started,
            failed=self._failed,
            full=lambda why: setattr(runner, "problem", why),
        )

    def _started(self, tools: Mapping[str, Mapping[str, Any]], sandbox: Sequence[str]) -> bool:
        """A shard has checked its tools: whether they are those of the run. Called in another thread."""
        before, now = without_devices(self.tools), without_devices(tools)
        if other := sorted(name for name in now if before.get(name, now[name]) != now[name]):
            self._failed(
                UsageProblem(f"a node has another {', '.join(other)} than the run so far; set the nodes up alike")
            )
            return False
        self.tools = united([self.tools, tools])
        self.sandbox = self.sandbox or tuple(sandbox)
        return True
