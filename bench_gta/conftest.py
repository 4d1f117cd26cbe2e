"""Fixtures of the GTA benchmarks."""
