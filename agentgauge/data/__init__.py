"""Data sets: found, fetched, verified."""
