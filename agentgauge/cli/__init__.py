"""The commands of ``agentgauge``, a module each."""
