"""Runs compared: pairing, tests, and the forms in which a comparison is shown."""
