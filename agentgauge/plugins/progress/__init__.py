"""The line about a run that goes on."""
