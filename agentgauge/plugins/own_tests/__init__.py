"""A project's own tests that use the fixtures of AgentGauge: each leaves a record like a benchmark's case."""
