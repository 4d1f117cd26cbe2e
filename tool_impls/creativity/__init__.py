"""Tools that make pictures."""
