"""Files of predictions in the original benchmark's layouts."""

from __future__ import annotations

from collections.abc import Callable

Exporter = Callable[..., list[str]]
"""A method that takes and returns what ``Task.export`` does."""
