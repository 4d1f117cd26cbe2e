"""``agentgauge fetch``."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from agentgauge.cli import weights
from agentgauge.core.errors import AgentGaugeError, UsageProblem
from agentgauge.core.files import expanded
from agentgauge.core.processes import CommandParser, checked_address
from agentgauge.core.registry import Registry
from agentgauge.data import find
from agentgauge.data.fetch.dataset import find_data_set
from agentgauge.data.fetch.fetching import FetchOptions, fetch

INTERRUPTED = 130
"""Exit status after Ctrl-C, as a shell has it."""


def main(argv: Sequence[str], load_tasks: Callable[[], Registry]) -> int:
    """Returns the exit status: 0 if all data is complete, 1 if a verification found problems, 4 if the user must
    act."""
    options = parser().parse_args(argv)
    base = data_folder(options.dir)
    order = FetchOptions(base, _mirror(options.mirror), options.origin, tuple(options.only or ()))
    names = list(dict.fromkeys(options.names))
    if weights.ALL in names:
        names.remove(weights.ALL)
        if order.only and not names:
            names, order = list(dict.fromkeys(order.only)), replace(order, only=())
        else:
            print("\n".join(weights.listing(base)))
    worst, known, tasks = 0, weights.everything(), load_tasks()
    for data_set in [find_data_set(name, known) for name in names]:
        try:
            worst = max(worst, 0 if fetch(tasks, data_set, order, report) else 1)
        except AgentGaugeError as problem:
            print(f"agentgauge: {shown(str(problem))}", file=sys.stderr)
            worst = 4
        except KeyboardInterrupt:
            print("agentgauge: stopped; the same command begins the last file again", file=sys.stderr)
            return INTERRUPTED
    return worst


def parser() -> CommandParser:
    made = CommandParser(
        prog="agentgauge fetch",
        description=(
            "Download official data sets and weights of tools, check and unpack them, and verify their contents. Files"
            " that are already here are kept. Exit status 1 if the verification finds a problem."
        ),
        epilog="examples: agentgauge fetch gta-atomic wild; agentgauge fetch tools; agentgauge fetch whisper-base",
    )
    made.add_argument(
        "names",
        nargs="+",
        metavar="NAME",
        help=f"one or more of {', '.join(weights.everything())}; {weights.ALL} lists what is known of the weights",
    )
    made.add_argument("--dir", type=Path, metavar="DIR", help=DIR_HELP)
    made.add_argument(
        "--mirror",
        metavar="URL",
        help="server in place of the source's, such as https://mirror.example.org/a for https://github.com",
    )
    made.add_argument(
        "--from",
        dest="origin",
        metavar="SOURCE",
        help="github, hub, or hub:OWNER/NAME[@REVISION] (default: where each is published)",
    )
    made.add_argument(
        "--only",
        nargs="+",
        metavar="WHAT",
        help="fetch only the files of these tasks, or with these names (* allowed); with tools: these weights",
    )
    return made


DIR_HELP = "data folder (default: $AGENTGAUGE_DATA or agentgauge-data, where --data=auto looks)"


def data_folder(given: Path | None) -> Path:
    """Where ``--data=auto`` looks, unless another folder is given. Raises UsageProblem where it is a file."""
    base = expanded(given or find.data_folder(Path()))
    if base.exists() and not base.is_dir():
        raise UsageProblem(f"{base} is a file; give a folder with --dir")
    return base


def _mirror(given: str | None) -> str | None:
    if given is None:
        return None
    more = ", with the password percent-encoded" if "@" in given else ""
    example = f"give one such as https://mirror.example.org{more}"
    return checked_address("--mirror", given, f"is not a URL of a server; {example}")


def report(text: str) -> None:
    print(shown(text), flush=True)


def shown(text: str) -> str:
    """A line without control characters, because the names that servers and records give could steer the terminal."""
    return "".join("?" if unicodedata.category(sign) == "Cc" else sign for sign in text)
