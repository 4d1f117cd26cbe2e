"""Tools for sound and speech."""
