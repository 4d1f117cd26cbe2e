"""A service desk with tools, rules and a simulated user: an example of a benchmark for AgentGauge."""
