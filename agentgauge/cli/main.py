"""The ``agentgauge`` command: hands over to the module of the command that is named."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TextIO, cast

from agentgauge.core.errors import AgentGaugeError
from agentgauge.core.redaction import Printed, redact_logs, register_environment

COMMANDS = {
    "new": ("agentgauge.cli.new", "write a package with a benchmark of your own, to begin with"),
    "score": ("agentgauge.cli.score", "score prediction files of the original benchmark"),
    "data": ("agentgauge.cli.data", "which data sets are here; check one"),
    "report": (
        "agentgauge.cli.report",
        "write a run's page, tables, dashboard, or the original benchmark's own files",
    ),
    "compare": ("agentgauge.cli.compare", "what got better or worse between runs, and whether that is noise"),
    "merge": ("agentgauge.cli.merge", "put shards of one run together"),
    "serve-tools": ("tool_impls.server.command", "serve the real tools over AgentLego's protocol"),
    "serve-model": ("agentgauge.model.embedded.serve", "serve an embedded model in the OpenAI format"),
    "pack": ("bench_gta.pack.command", "run, pack, score and compare agent apps on GTA-Workflow"),
    "fetch": ("agentgauge.cli.fetch", "download official data sets and verify them"),
    "generate": ("bench_wild.generate.command", "make new WildToolBench dialogues and evaluation records"),
}
"""Name → module with ``main(argv)`` that returns the exit status, and help."""

PIPE_CLOSED = 141
"""Exit status where standard output was closed, as a shell has it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit status: 0 done, 4 for something that the user must fix."""
    register_environment()
    try:
        with _redacted_output():
            status = _run(sys.argv[1:] if argv is None else argv)
            sys.stdout.flush()
    except BrokenPipeError:
        # the reader of standard output has gone; the interpreter must not fail on that again when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    return status


@contextlib.contextmanager
def _redacted_output() -> Iterator[None]:
    """Nothing that is printed holds a secret, be it a refused option or a message of a library."""
    undo = redact_logs()
    out, err = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = cast("TextIO", Printed(out)), cast("TextIO", Printed(err))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err
        undo()


def _run(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0] not in COMMANDS:
        _parser().parse_args(arguments)  # prints help, or what is wrong, and exits
        return 4
    try:
        return int(importlib.import_module(COMMANDS[arguments[0]][0]).main(arguments[1:]) or 0)
    except AgentGaugeError as problem:
        print(f"agentgauge: {problem}", file=sys.stderr)
        return 4


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="agentgauge",
        description="Companion of the pytest plugin: `pytest --model=NAME` runs the benchmarks, this does the rest.",
        epilog="example: agentgauge score gta_atomic.e2e --samples gta_dataset --predictions predictions/my-model",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, (_, text) in COMMANDS.items():
        commands.add_parser(name, help=text, add_help=False)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
