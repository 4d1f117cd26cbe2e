"""The command of a program of the user's own, such as an agent."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from agentgauge.core.errors import UsageProblem

_OF_THE_SYSTEM = ("/", "/usr", "/usr/local")
"""Prefixes whose programs and libraries every program can read."""


@dataclass(frozen=True, slots=True)
class Command:
    """A program and its arguments. ``readable``: files that its words name."""

    words: tuple[str, ...]
    readable: tuple[Path, ...]

    @property
    def program(self) -> str:
        return Path(self.words[0]).name

    @property
    def environment(self) -> tuple[Path, ...]:
        """Where the program finds its packages, if it belongs to another Python than this one: its virtual environment,
        and the programs and libraries of the Python that the environment was made with."""
        program = Path(self.words[0])
        prefixes = [program.parent.parent, program.resolve().parent.parent]
        found: list[Path] = []
        for prefix in prefixes:
            if str(prefix) in (sys.prefix, sys.base_prefix, *_OF_THE_SYSTEM):
                continue
            if base := _made_with(prefix):
                found.append(prefix)
                prefixes.append(base)
            elif any((prefix / "lib").glob("python3*")):
                found += [prefix / "bin", prefix / "lib"]
        return tuple(dict.fromkeys(found))

    @property
    def digest(self) -> str:
        """A digest of the command's words and of the files that they name. The words are not shown, because they may
        hold a key."""
        files = [hashlib.sha256(path.read_bytes()).hexdigest() for path in self.readable]
        return hashlib.sha256(json.dumps([self.words, files]).encode()).hexdigest()


def read_command(text: str, option: str, example: str) -> Command:
    """Cut a command into words as a shell would; no shell runs it.

    The program becomes an absolute path, and so does every other word that names an existing file: the program works in
    another folder. ``option``: where the user wrote the command; ``example``: one that is right. Raises UsageProblem
    for a missing program.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageProblem(f"{option} {text!r} cannot be read: {error}; quote it as for a shell") from None
    if not words:
        raise UsageProblem(f"{option} is empty; write the agent's program and its arguments, such as {example!r}")
    program = shutil.which(words[0])
    if program is None:
        raise UsageProblem(f"{option}: there is no program {words[0]!r}; give its path, or put it on PATH")
    if words[0] in ("python", "python3"):
        program = _interpreter(program)
    script = words[1] if len(words) > 1 and Path(program).name.startswith("python") else ""
    if script.endswith(".py") and not Path(script).is_file():
        raise UsageProblem(f"{option}: there is no file {script!r}; correct the path")
    absolute = os.path.abspath  # Path.resolve() would follow links
    files = {word: absolute(word) for word in words[1:] if Path(word).is_file()}
    arguments = (files.get(word, word) for word in words[1:])
    return Command((absolute(program), *arguments), tuple(map(Path, files.values())))


def _interpreter(program: str) -> str:
    """The Python that ``python`` stands for: on PATH may be the script of a version manager, which needs files that an
    agent does not see."""
    asked = subprocess.run(
        [program, "-I", "-c", "import sys; print(sys.executable)"], capture_output=True, text=True, check=False
    )
    return asked.stdout.strip() or program


def _made_with(prefix: Path) -> Path | None:
    """The prefix of the Python that a virtual environment was made with; None for what is no virtual environment."""
    try:
        settings = (prefix / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    homes = (
        value.strip()
        for key, _, value in (line.partition("=") for line in settings.splitlines())
        if key.strip() == "home"
    )
    return Path(next(homes, prefix / "bin")).parent
