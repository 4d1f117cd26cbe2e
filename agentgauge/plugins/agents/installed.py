"""Where a well-known agent program lies, and what it has to read there: many are packages of npm."""

from __future__ import annotations

import shutil
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.plugins.agents.presets import PRESETS
from agentgauge.run.programs.command import Command, read_command

_PACKAGES = "node_modules"
_HEAD = 200  # bytes; the first line of a script is shorter


def preset_name(text: str) -> str:
    """The name of the preset that a command begins with; empty for other commands."""
    name = (text.split(maxsplit=1) or [""])[0]
    return name if name in PRESETS else ""


def read_preset(text: str, name: str) -> tuple[Command, tuple[Path, ...]]:
    """The command, with the words of the preset before those of the user, and what the program reads of its own. Raises
    UsageProblem where it is not installed."""
    preset = PRESETS[name]
    if shutil.which(name) is None:
        raise UsageProblem(
            f"--agent={name}: the program {name!r} is not on PATH; install it ({preset.install}), or give the path of"
            " another program"
        )
    command = read_command(text, "--agent", name)
    program = Path(command.words[0]).resolve()
    start, found = _start(program)
    return Command((*start, *preset.words, *command.words[1:]), command.readable), found


def _start(program: Path) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """The words that start a program, and what it reads. A script of Node.js is started by the Node.js on this PATH,
    which may not be on that of the agent."""
    above = [folder for folder in program.parents if folder.name == _PACKAGES]
    readable = (above[-1] if above else program,)
    with program.open("rb") as file:
        first = file.read(_HEAD).partition(b"\n")[0].decode("utf-8", "replace")
    of_node = first.startswith("#!") and "node" in (Path(word).name for word in first[2:].split())
    if not of_node or (node := shutil.which("node")) is None:
        return (str(program),), readable
    real = Path(node).resolve()
    return (str(real), str(program)), (*readable, real)
