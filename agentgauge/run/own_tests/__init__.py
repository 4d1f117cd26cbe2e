"""Nothing: see ``plugin.py``."""
