"""The command of an agent program."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from agentgauge.core.errors import UsageProblem


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
        """The program's virtual environment with the agent's packages, if it differs from the current one."""
        folder = Path(self.words[0]).parent.parent
        return (folder,) if (folder / "pyvenv.cfg").is_file() and folder != Path(sys.prefix) else ()

    @property
    def digest(self) -> str:
        """A digest of the command's words and of the files that they name. The words are not shown, because they may
        hold a key."""
        files = [hashlib.sha256(path.read_bytes()).hexdigest() for path in self.readable]
        return hashlib.sha256(json.dumps([self.words, files]).encode()).hexdigest()


def read_command(text: str, option: str, example: str) -> Command:
    """Cut a command into words as a shell would; no shell runs it.

    The program becomes an absolute path, and so does every other word that names an existing file: the agent works in
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
    absolute = os.path.abspath  # Path.resolve() would follow links
    files = {word: absolute(word) for word in words[1:] if Path(word).is_file()}
    arguments = (files.get(word, word) for word in words[1:])
    return Command((absolute(program), *arguments), tuple(map(Path, files.values())))
