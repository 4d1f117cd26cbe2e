"""Models that come with AgentGauge and answer in the process that asks."""
