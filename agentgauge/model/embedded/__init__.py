"""Models that come with AgentGauge, served over loopback HTTP in the OpenAI wire format."""
