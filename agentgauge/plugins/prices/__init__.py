"""Prices of known models."""
