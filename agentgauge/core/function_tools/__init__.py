"""Typed Python functions as tools that a model may call."""
