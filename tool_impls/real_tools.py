"""The tools of this package for a task: which of them work, the server that runs them, and its client."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from agentgauge.core.agents import ToolGateway
from agentgauge.core.config import Config
from agentgauge.core.index import Index, Row
from agentgauge.core.task import RealTools
from agentgauge.core.tools import ToolBox
from agentgauge.core.types import Json, Scoring

_DEFAULT_SETTINGS = Path(__file__).with_name("default_tools.toml")


class LocalTools(RealTools):
    """The tools of this package."""

    def __init__(
        self,
        tools_of: Callable[[Index, Row], tuple[str, ...]],
        *,
        default_settings: Path = _DEFAULT_SETTINGS,
        refuses_missing: bool = True,
    ) -> None:
        """``tools_of``: ``(index, row)``: names of the tools that a sample offers. ``default_settings``: the settings
        file whose [tools] table applies if the user's settings have none. ``refuses_missing``: the settings decide if
        a tool that cannot work ends the run; if False, such tools are always disabled."""
        self._tools_of = tools_of
        self._default_settings = default_settings
        self._refuses_missing = refuses_missing

    def tools_of(self, index: Index, row: Row) -> tuple[str, ...]:
        return self._tools_of(index, row)

    def _settings_file(self, config: Config) -> Path:
        return config.path if config.path and config.tools else self._default_settings

    def check_tools(
        self, names: Sequence[str], config: Config, *, scoring: Scoring, allow_unsafe: bool, server: str | None
    ) -> Mapping[str, Mapping[str, Json]]:
        if server is not None:
            from tool_impls.server.client import server_fingerprints

            return server_fingerprints(server, names)
        from tool_impls.availability import fingerprints, require, shown_here
        from tool_impls.registry import load

        settings = replace(load(self._settings_file(config)), allow_unsafe=allow_unsafe, released=scoring == "parity")
        require(settings if self._refuses_missing else replace(settings, missing="disable"), names)
        return fingerprints(settings, names, shown_here(settings, names))

    def prepare_check(self) -> None:
        from tool_impls.availability import look_up_packages

        look_up_packages()

    def tool_server(self, config: Config, *, scoring: Scoring, allow_unsafe: bool) -> list[str]:
        from tool_impls.availability import handed_on

        command = [sys.executable, "-m", "tool_impls.server.command", "--port", "0", "--scoring", scoring]
        command += ["--settings", str(self._settings_file(config)), *handed_on()]
        return [*command, *(["--allow-unsafe-code"] if allow_unsafe else [])]

    async def gateway(self) -> ToolGateway | None:
        """None without the package ``mcp``, which the extra of the same name installs."""
        if find_spec("mcp") is None:
            return None
        from tool_impls.mcp.gateway import Gateway

        return await Gateway.start()

    def toolbox(self, url: str) -> ToolBox:
        from tool_impls.server.client import ToolServerBox

        return ToolServerBox(url)
