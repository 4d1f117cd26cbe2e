"""Fixtures of Apple MMAU."""
