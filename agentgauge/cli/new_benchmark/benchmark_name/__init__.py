"""A benchmark for AgentGauge."""
