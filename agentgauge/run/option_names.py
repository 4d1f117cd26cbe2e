"""The internal names of options. Imports nothing heavy, because the pytest side imports it in every project."""

DEFAULT_IN_FLIGHT = 32


def destination(option: str) -> str:
    """The attribute of pytest's parsed options that holds an option of ours. It has a prefix, because a project may
    have a ``--model``, too."""
    return "agentgauge_" + option.removeprefix("--").replace("-", "_")
