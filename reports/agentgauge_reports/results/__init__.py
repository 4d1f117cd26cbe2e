"""A finished run as plain objects and as frames: what ``agentgauge.read_run`` and ``agentgauge.compare`` return."""
