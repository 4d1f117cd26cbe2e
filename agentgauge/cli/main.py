"""The ``agentgauge`` command: calls the module of the named command."""

from __future__ import annotations

import argparse
import contextlib
import errno
import inspect
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, cast

from agentgauge.core.announcement import announced_names, import_file, own_version, plugins, refused
from agentgauge.core.errors import AgentGaugeError, UsageProblem, did_you_mean
from agentgauge.core.features import features
from agentgauge.core.files import home_variables, refusal
from agentgauge.core.processes import CommandParser, Output, drop, lost_output, open_closed_streams
from agentgauge.core.redaction import Printed, redact_logs, register_environment
from agentgauge.core.text import show

if TYPE_CHECKING:
    from agentgauge.core.registry import Registry


class Command(NamedTuple):
    """A command of ours: its function, and its help."""

    function: str  # MODULE:NAME; see ``Brought``
    help: str


COMMANDS = {
    "report": Command(
        "agentgauge.cli.report:main",
        "write a run's page, tables or dashboard, or files for other programs",
    ),
    "show": Command("agentgauge.cli.results:show_cases", "show cases of a run as text: why, and the conversation"),
    "compare": Command(
        "agentgauge.cli.results:compare",
        "compare runs: what got better or worse, and whether the difference is noise",
    ),
    "score": Command("agentgauge.cli.score:main", "score prediction files of the original benchmark"),
    "launch": Command("agentgauge.cli.launch:main", "start several runs, or runs whose cases a Ray cluster solves"),
    "merge": Command("agentgauge.cli.results:merge_shards", "merge the shards of one run"),
    "fetch": Command("agentgauge.cli.fetch:main", "download official data sets and weights of tools, and verify them"),
    "data": Command(
        "agentgauge.cli.data:main", "list the official data and the weights on this machine; check a data set"
    ),
    "serve-tools": Command("tool_impls.server.command:main", "serve the real tools over AgentLego's protocol"),
    "serve-model": Command("agentgauge.cli.serve_model:main", "serve a model in the OpenAI format"),
    "new": Command("agentgauge.cli.new:main", "write a package for a benchmark of your own"),
    "cite": Command("agentgauge.cli.results:cite", "BibTeX of AgentGauge and of the benchmarks' papers"),
}


class BroughtCommand(NamedTuple):
    """A command of a plugin, such as that of a benchmark."""

    run: Callable[..., int]
    """``main(argv)``, ``main(argv, tasks)``, or ``main(argv, load_tasks)``, which loads them where it needs them. It
    returns the exit status, and its docstring begins with the help."""
    package: str  # whose plugin brings it; empty: a feature of AgentGauge


Brought = Mapping[str, BroughtCommand]

TASKS = "--tasks"

PIPE_CLOSED = 141
"""Exit status where the reader of standard output has gone, as a shell has it."""


class _OutputLost(OSError):
    """Raised by what prints."""


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit status: 0 done, 1 for something that the machine refuses, 4 for something that the user must
    fix."""
    register_environment()
    open_closed_streams()
    with _redacted_output() as output:
        try:
            try:
                status = _run(sys.argv[1:] if argv is None else argv)
            finally:
                sys.stdout.flush()
        except (_OutputLost, SystemExit):  # the latter of --help, for which argparse ignores that it cannot be written
            if output.error is None:
                raise
            if output.error.errno == errno.EPIPE:
                return PIPE_CLOSED
            print(f"agentgauge: {lost_output(output.error)}", file=sys.stderr)
            return 1
        except BrokenPipeError:
            drop(sys.stdout)
            return PIPE_CLOSED
        except (OSError, MemoryError) as problem:
            print(f"agentgauge: {_refusal(problem)}", file=sys.stderr)
            return 1
    return status


def _refusal(problem: OSError | MemoryError) -> str:
    """What the machine has refused a command, and what the user can do."""
    if isinstance(problem, MemoryError):
        return "not enough memory; free some, or raise the limit (ulimit -v)"
    return refusal(problem)


@contextlib.contextmanager
def _redacted_output() -> Iterator[Output]:
    """Nothing that is printed holds a secret, be it a refused option or a message of a library. Yields standard
    output."""
    undo = redact_logs()
    out, err = sys.stdout, sys.stderr

    def lost(error: OSError) -> None:
        raise _OutputLost(error.errno, error.strerror) from error

    output = Output(out, lost)
    sys.stdout = cast("TextIO", Printed(output))
    sys.stderr = cast("TextIO", Printed(Output(err, lambda error: None)))
    try:
        yield output
    finally:
        sys.stdout, sys.stderr = out, err
        undo()


def _run(arguments: Sequence[str]) -> int:
    files, arguments = _split_tasks(arguments)
    name = arguments[0] if arguments else ""
    command = COMMANDS.get(name)
    brought, problems = ({}, []) if command else commands_of_packages()
    if not command and name not in brought:
        for told in problems:
            show(f"agentgauge: {told}", file=sys.stderr)
        parser = _parser(brought)
        if name and not name.startswith("-"):
            parser.error(f"there is no command {name!r}{did_you_mean(name, [*COMMANDS, *brought])}; --help lists them")
        parser.parse_args(arguments)  # prints help or the version, or what is wrong with an option, and exits
        parser.error("a command is missing; --help lists them")
    try:
        modules = [_imported(file) for file in files]
        os.environ.update(home_variables())
        run = pkgutil.resolve_name(command.function) if command else brought[name].run
        wanted = inspect.signature(run).parameters
        known: dict[str, Any] = {"tasks": _tasks(modules)} if "tasks" in wanted else {}
        if "load_tasks" in wanted:
            known["load_tasks"] = partial(_tasks, modules)
        return int(run(arguments[1:], **known) or 0)
    except AgentGaugeError as problem:
        show(f"agentgauge: {problem}", file=sys.stderr)
        return 4
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        show(f"agentgauge: the path {str(error.filename)[:200]}… is too long; give the path of a file", file=sys.stderr)
        return 4


def _split_tasks(arguments: Sequence[str]) -> tuple[list[Path], Sequence[str]]:
    """The files of ``--tasks`` in front of the command, and the command with its arguments."""
    files: list[Path] = []
    while arguments and arguments[0].partition("=")[0] == TASKS and arguments[1:]:
        _, equals, file = arguments[0].partition("=")
        files.append(Path(file if equals else arguments[1]))
        arguments = arguments[1 if equals else 2 :]
    return files, arguments


def _imported(file: Path) -> ModuleType:
    """Raises UsageProblem for a file that cannot be imported."""
    sys.path.insert(0, str(file.absolute().parent))
    return import_file(file)


def _tasks(modules: Iterable[ModuleType]) -> Registry:
    """The tasks of installed packages, and those of the modules. Raises UsageProblem for one that is not complete."""
    from agentgauge.core.registry import Registry, tasks_of  # what they load takes longer than a command without tasks

    tasks = Registry.installed()
    tasks.add(*(task for module in modules for task in tasks_of(module)))
    return tasks


def commands_of_packages() -> tuple[Brought, list[UsageProblem]]:
    """The commands of plugins, without those that have the name of an earlier one: ours come first. A package whose
    commands cannot be had must not take those of others with it: why."""
    found: dict[str, BroughtCommand] = {}
    problems: list[UsageProblem] = []
    own = {feature.name for feature in features()}
    for plugin in plugins():
        try:
            for name, function in announced_names(plugin, "commands").items():
                if not callable(function):
                    raise refused(
                        plugin, "commands", f"names {function!r:.200}; accepted is a function (argv) or (argv, tasks)"
                    )
                found.setdefault(name, BroughtCommand(function, "" if plugin.name in own else plugin.name))
        except UsageProblem as problem:
            problems.append(problem)
    return {name: command for name, command in found.items() if name not in COMMANDS}, problems


def _help(function: Callable[..., int]) -> str:
    """The first line of a command's docstring, written as the help of ours is."""
    text = (inspect.getdoc(function) or "").partition("\n")[0].rstrip(".")
    return text[:1].lower() + text[1:]


def _parser(brought: Brought) -> CommandParser:
    parser = CommandParser(
        prog="agentgauge",
        usage="agentgauge [-h] [--version] [--tasks FILE] COMMAND ...",
        description="`pytest --model=NAME` runs the benchmarks; these commands do everything else.",
        epilog="example: agentgauge score gta_atomic.e2e --samples gta_dataset --predictions predictions/my-model",
    )
    parser.add_argument("--version", action="version", version=f"agentgauge {own_version()}")
    parser.add_argument(
        TASKS,
        metavar="FILE",
        help="Python file that announces further tasks (benchmarks), for any command; may repeat",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    own = {name: command.help for name, command in COMMANDS.items()}
    own |= {name: _help(command.run) for name, command in brought.items() if not command.package}
    for name, text in own.items():
        commands.add_parser(name, help=text.replace("%", "%%"), add_help=False)
    for name, command in brought.items():
        if command.package:
            commands.add_parser(name, add_help=False)  # argparse has one list of commands; this one is shown below
    for package in filter(None, dict.fromkeys(command.package for command in brought.values())):
        group = parser.add_argument_group(f"commands of {package}")
        for name, command in brought.items():
            if command.package == package:
                group.add_argument(
                    name, help=_help(command.run).replace("%", "%%"), nargs="?", default=argparse.SUPPRESS
                )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
