"""The endpoint and the project of runs of pytest inside pytest."""

from tests.plugin.conftest import endpoint, project

__all__ = ["endpoint", "project"]
