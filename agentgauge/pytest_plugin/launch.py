"""The driver of a launch: pytest here walks through cases that run elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.pytest_plugin.run_state import RunState
from agentgauge.run.case_runner import CaseRunner
from agentgauge.run.launch.cluster import connect, disconnect
from agentgauge.run.launch.order import Orders
from agentgauge.run.launch.remote_cases import RemoteCases


class Launch:
    """Connected to Ray until pytest ends."""

    def __init__(
        self, state: RunState, configs: Mapping[str, str], failed: Callable[[UsageProblem], None]
    ) -> None:
        """``configs``: task → fingerprint. ``failed`` is called, in another thread, where no shard can run. Raises
        UsageProblem where Ray cannot be reached."""
        assert state.settings.launch is not None
        self._options = state.settings.launch
        self._state = state
        self._failed = failed
        config = state.config
        self._orders = Orders(
            self._options,
            state.settings,
            configs,
            root=config.rootpath,
            here=config.invocation_params.dir,
            arguments=_arguments(config),
        )
        connect(self._options.address, cpus=self._options.cpus * self._options.workers)
        config.add_cleanup(disconnect)

    def cases(self, runner: CaseRunner, idle: Callable[[], None]) -> RemoteCases:
        """Called once, when the first case is to run."""
        from agentgauge.run.launch.ray_shards import RayShards

        return RemoteCases(
            self._options,
            self._state.folder,
            RayShards(self._options, self._orders.packed_data),
            self._orders.of,
            is_stopped=runner.is_stopped,
            started=self._started,
            failed=self._failed,
            idle=idle,
        )

    def _started(self, tools: Mapping[str, Mapping[str, Any]], sandbox: Sequence[str]) -> None:
        """A shard has checked its tools. In another thread."""
        state = self._state
        if other := sorted(name for name in tools if state.tools.get(name, tools[name]) != tools[name]):
            self._failed(UsageProblem(f"two nodes have different tools: {', '.join(other)}; set them up alike"))
        elif new := {name: tool for name, tool in tools.items() if name not in state.tools}:
            state.tools = dict(sorted({**state.tools, **new}.items()))
            state.sandbox = state.sandbox or tuple(sandbox)


def _arguments(config: pytest.Config) -> list[str]:
    """What a node's pytest is to be given of this one's command line, besides our own options."""
    option = config.option
    named = [f"--override-ini={one}" for one in option.override_ini or ()] + ["--override-ini=addopts="]
    named += [word for plugin in option.plugins or () for word in ("-p", plugin)]
    named += [f"--config-file={config.inipath}"] if option.inifilename else []
    return [*named, *(["--pyargs"] if option.pyargs else []), f"--import-mode={option.importmode}", *config.args]
