"""The pytest entry point: loads the plugin, and nothing else."""

pytest_plugins = ["agentgauge.pytest_plugin"]
