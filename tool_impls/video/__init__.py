"""Tools for videos."""
