"""Makes a checkout work in which AgentGauge is not installed, its dependencies alone, and a pytest that loads no plugin
by itself (``PYTEST_DISABLE_PLUGIN_AUTOLOAD``). There is nothing here that an installed AgentGauge lacks, but pytest's
``pytester`` for the project's own tests.
"""

from __future__ import annotations

import os
import shlex
import sys
from copy import copy
from importlib import import_module
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent
FOLDERS = (str(ROOT), str(ROOT / "reports"))
"""Where the packages of the checkout lie."""

PLUGINS = {
    "xdist": "xdist.plugin",
    "allure_pytest": "allure_pytest.plugin",
    "agentgauge.pytest_plugin": "agentgauge.pytest_plugin",
}
"""Entry point → module. pytest refuses a plugin that is registered under two names."""

pytest_plugins = ["pytester"]


def is_installed() -> bool:
    """Whether every process finds the packages. A build leaves metadata in the checkout, which installs nothing."""
    return any(Path(str(one.locate_file(""))).resolve() != ROOT for one in distributions(name="agentgauge"))


if not is_installed():
    sys.path[:0] = [folder for folder in FOLDERS if folder not in sys.path]
    # for the processes that a run starts: workers, tool servers, embedded models
    given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*FOLDERS, *given]))


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Load the plugins that pytest has not loaded, and let them read the command line as if it had."""
    plugins = {name: import_module(module) for name, module in PLUGINS.items() if not pluginmanager.is_blocked(name)}
    loaded = {name: plugin for name, plugin in plugins.items() if not pluginmanager.is_registered(plugin)}
    if not loaded:
        return
    for name, plugin in loaded.items():
        pluginmanager.register(plugin, name)
    config = pluginmanager.get_plugin("pytestconfig")
    added = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
    words = [*config.getini("addopts"), *added, *config.invocation_params.args]
    # without the plugins' options, pytest took values such as the 32 of ``-n 32`` for paths
    config.known_args_namespace = parser.parse_known_args(words, namespace=copy(config.option))
    # pytest has begun to call this hook, and calls only those plugins that it had; it loads a conftest.py once
    others = pluginmanager.get_plugins() - {config, *loaded.values()}
    hook = pluginmanager.subset_hook_caller("pytest_load_initial_conftests", remove_plugins=others)
    hook(early_config=config, parser=parser, args=words)
