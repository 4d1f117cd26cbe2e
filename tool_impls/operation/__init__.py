"""Tools that draw on pictures, and search."""
