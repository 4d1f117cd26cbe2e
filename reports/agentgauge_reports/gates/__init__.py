"""Conditions on the results that decide the exit status."""
