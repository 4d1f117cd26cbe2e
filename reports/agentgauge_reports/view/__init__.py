"""``agentgauge view``: a folder of runs in a browser, running ones live."""
