"""A project's own tests that use the fixtures of AgentGauge: what they work with, and their task."""
