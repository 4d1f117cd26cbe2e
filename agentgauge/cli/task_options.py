"""The benchmarks' own options, for commands that name a task."""

from __future__ import annotations

import argparse

from agentgauge.core.task_registry import configure_tasks, known_options


def add_task_options(parser: argparse.ArgumentParser, *, models: bool = True) -> None:
    """Add the benchmarks' own options to a command that names a task. ``models``: also those that name a model."""
    for option in known_options().values():
        if option.model and not models:
            continue
        if option.default is not None:
            parser.add_argument(option.name, dest=option.name, metavar=option.metavar, help=option.help)
        elif option.accepted:
            parser.add_argument(option.name, dest=option.name, choices=option.accepted, help=option.help)
        else:
            parser.add_argument(option.name, dest=option.name, action="store_true", help=option.help)


def configure(options: argparse.Namespace) -> None:
    configure_tasks({name: getattr(options, name, None) for name in known_options()})
