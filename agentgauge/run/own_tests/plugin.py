"""Implements no hook. The metadata of a checkout that was installed before agentgauge/plugins/own_tests names it; goes
away once that is installed again."""
