"""Fixtures of WildToolBench."""
