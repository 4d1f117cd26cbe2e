"""A run in the formats of other programs: ``agentgauge report RUN --format NAME``."""
