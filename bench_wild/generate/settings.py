"""The settings of a run of the generator. The settings that shape its dialogues are kept beside them
(``settings.json``)."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import advice, encoded, write_whole
from agentgauge.core.text import parse_json
from agentgauge.model.cassette_file import recorded_settings
from agentgauge.model.spec import ModelSpec
from agentgauge.run.gates import Budget
from bench_wild.generate.dialogue.dialogue import Language
from bench_wild.generate.dialogue.dialogue_state import Part
from bench_wild.generate.dialogue.texts import Texts
from bench_wild.generate.dialogue.toolset import Tools, digest_of
from bench_wild.generate.sequences import Tasks

SETTINGS = "settings.json"

_OPTIONS = {
    "language": "--language",
    "tasks": "--layer-num-total",
    **{part: f"--{part}-model" for part in get_args(Part)},
    **{name: f"--{name}" for name in ("temperature", "seed", "tools", "prompts")},
}
"""Kept settings and the option of each."""


@dataclass(frozen=True)
class Settings:
    """The parsed command line."""

    out: Path
    language: Language
    sequences: tuple[Tasks, ...]
    lists: list[Tools]
    texts: Texts
    cast: Mapping[Part, tuple[str, ...]]  # names of models
    specs: Mapping[str, ModelSpec]  # by name; empty in a replay
    temperature: float | None
    seed: int
    attempts: int  # for each sequence
    in_flight: int
    budget: Budget | None
    record: Path | None
    replay: Path | None

    def kept(self) -> dict[str, Any]:
        """The settings that shape a dialogue. Those of models are not known in a replay."""
        return {
            "language": self.language,
            "tasks": len(self.sequences[0]),
            **{part: list(names) for part, names in self.cast.items()},
            **({"models": {name: spec.fingerprint for name, spec in self.specs.items()}} if self.specs else {}),
            "temperature": self.temperature,
            "seed": self.seed,
            "tools": digest_of(self.lists),
            "prompts": self.texts.fingerprint,
        }


def open_folder(settings: Settings, now: datetime) -> str:
    """Begin a folder, or go on with one of the same settings. Returns the prefix of its output files: the time when it
    was begun.

    Raises UsageProblem naming the options that differ.
    """
    asked = settings.kept()
    if settings.replay:
        recorded = recorded_settings(settings.replay)
        _refuse(asked, recorded, f"the cassette {settings.replay} was recorded", "the settings of the recording")
    file = settings.out / SETTINGS
    if file.exists():
        started, known = _read(file)
        _refuse(asked, known, f"{settings.out} was begun", "the same settings, or another --out")
    else:
        started = now.strftime("%Y-%m-%d_%H:%M:%S")
        _begin(settings.out, {"started": started, "settings": asked})
    return started


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Context in which no other run writes to the folder. Raises UsageProblem if another run does; the lock ends with
    the process.
    """
    with (folder / SETTINGS).open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageProblem(f"another run writes to {folder}; wait for its end, or name another --out") from None
        yield


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Context of a write. Raises UsageProblem if it fails."""
    try:
        yield
    except BrokenPipeError:
        raise  # the reader of standard output has gone
    except OSError as error:
        what = f"{folder} cannot be written ({error.strerror or error})"
        raise UsageProblem(f"{what}; {advice(error) or 'check the folder'}, and run the same command again") from None


def _begin(folder: Path, content: Mapping[str, Any]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageProblem(f"--out {folder} holds other files, and no {SETTINGS}; name a new or empty folder")
        write_whole(folder / SETTINGS, encoded(dict(content), indent=2) + b"\n")
    except OSError as error:
        raise UsageProblem(f"--out {folder} cannot be written ({error.strerror}); name a folder that can be") from None


def _refuse(asked: Mapping[str, Any], known: Mapping[str, Any], what: str, give: str) -> None:
    differing = [option for key, option in _OPTIONS.items() if asked[key] != known.get(key)]
    now, then = asked.get("models", {}), known.get("models", {})  # a replay and folders of earlier versions know none
    differing += [f"[models.{name}] table" for name in now.keys() & then.keys() if now[name] != then[name]]
    if "--language" in differing:  # the bundled tools and texts follow it
        differing = [option for option in differing if option not in ("--tools", "--prompts")]
    if differing:
        raise UsageProblem(f"{what} with another {' and another '.join(differing)}; give {give}")


def _read(file: Path) -> tuple[str, Mapping[str, Any]]:
    """When the folder was begun, and with which settings."""
    try:
        match parse_json(file.read_text(encoding="utf-8")):
            case {"started": str(started), "settings": dict(known)}:
                return started, known
    except (OSError, ValueError):
        pass
    raise UsageProblem(f"{file} cannot be read; name a new folder with --out")
