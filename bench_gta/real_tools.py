"""The real tools of GTA."""

from __future__ import annotations

from pathlib import Path

from tool_impls.real_tools import LocalTools


class GtaTools(LocalTools):
    """The real tools of GTA as a capability. The task itself defines ``tools_of``."""

    default_settings = Path(__file__).with_name("default_tools.toml")
