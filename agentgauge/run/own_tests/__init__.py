"""A project's own tests that use the fixtures of AgentGauge: the objects of the fixtures, and the tests' task."""
