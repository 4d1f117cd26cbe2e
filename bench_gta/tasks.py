"""The tasks that this package announces."""

TASKS: tuple = ()
