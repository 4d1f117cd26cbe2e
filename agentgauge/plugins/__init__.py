"""AgentGauge's own features, each a plugin in a folder that can be deleted: ``plugin.py`` implements hooks of
``agentgauge/hookspec.py``, and nothing outside of the folder imports it."""
