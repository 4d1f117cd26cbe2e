"""Function calling in one turn: an example of a benchmark for AgentGauge."""
