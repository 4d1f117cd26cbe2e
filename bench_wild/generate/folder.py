"""The output folder: its settings, the finished and failed attempts, and the three files made of them
(docs/benchmarks/wild.md#output-files).

``dialogues.jsonl`` has one finished dialogue a line, with the requests that were kept; ``failures.jsonl`` one attempt a
line that failed. Each line is one write to a file opened with O_APPEND, so that a kill loses no line that was written,
and the same command continues."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.files import advice, append_whole, encoded, write_whole
from agentgauge.core.text import parse_json
from agentgauge.core.types import Json
from agentgauge.model.budget import Budget
from agentgauge.model.spec import ModelSpec
from bench_wild.generate.play import KeptRequest, ModelRole
from bench_wild.generate.texts import Tasks, Texts, Tools, digest_of, name_of
from bench_wild.generate.transcript import DIALOGUES, TYPES, GeneratedDialogue, Language, kept_messages

SETTINGS = "settings.json"

_OPTIONS = {
    "language": "--language",
    "tasks": "--layer-num-total",
    **{part: f"--{part}-model" for part in get_args(ModelRole)},
    **{name: f"--{name}" for name in ("temperature", "seed", "tools", "prompts")},
}
"""Kept settings and the option of each."""


@dataclass(frozen=True)
class GeneratorSettings:
    """The parsed command line."""

    out: Path
    language: Language
    sequences: tuple[Tasks, ...]
    lists: list[Tools]
    texts: Texts
    cast: Mapping[ModelRole, tuple[str, ...]]  # names of models
    specs: Mapping[str, ModelSpec]  # by name; empty in a replay
    temperature: float | None
    seed: int
    attempts: int  # for each sequence
    slots: int  # concurrent dialogues
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


def open_folder(settings: GeneratorSettings, now: datetime) -> str:
    """Begin a folder, or go on with one of the same settings. Returns the prefix of its output files: the time when it
    was begun.

    Raises UsageProblem naming the options that differ.
    """
    asked = settings.kept()
    if settings.replay:
        from agentgauge.plugins.recording.cassette import recorded_settings

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


FAILURES = "failures.jsonl"


@dataclass(frozen=True)
class FailedAttempt:
    """An attempt that ended without a dialogue."""

    sequence: str
    attempt: int
    cause: str  # short and stable
    message: str
    replies: tuple[Mapping[str, str], ...] = ()  # all of the attempt, whole: part, model, reply; in the file alone


class Ledger:
    """Belongs to one process. Raises DataProblem for a damaged line that is not the last."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in (DIALOGUES, FAILURES):
            _mend(folder / name)
        self.done: dict[str, tuple[int, int]] = {}  # sequence to place and length of its line, the first of each
        self.failed: dict[str, list[FailedAttempt]] = {}
        for place, length, value in _lines(folder / DIALOGUES):
            self.done.setdefault(name_of(value["sequence"]), (place, length))
        for _, _, value in _lines(folder / FAILURES):
            self.note(FailedAttempt(**{**value, "replies": ()}))

    def next_attempt(self, sequence: str) -> int:
        """The number of the next attempt, from 1. It continues after the attempts of earlier runs, so that no number is
        repeated."""
        return max((failed.attempt for failed in self.failed.get(sequence, ())), default=0) + 1

    def add(self, dialogue: GeneratedDialogue, kept: list[KeptRequest]) -> None:
        """Write a finished dialogue. Raises OSError when the disk is full."""
        prompts = list(dict.fromkeys(request.prompt for request in kept))
        numbers = {prompt: number for number, prompt in enumerate(prompts)}
        requests = [{**asdict(request), "prompt": numbers[request.prompt]} for request in kept]
        line = {**dialogue.to_json(), "prompts": prompts, "requests": requests}
        self.done[name_of(dialogue.sequence)] = self._append(DIALOGUES, line)

    def fail(self, failed: FailedAttempt) -> None:
        self.note(replace(failed, replies=()))
        self._append(FAILURES, asdict(failed))

    def note(self, failed: FailedAttempt) -> None:
        """Remember a failure without writing it down."""
        self.failed.setdefault(failed.sequence, []).append(failed)

    def dialogues(
        self, order: Iterator[str] | list[str]
    ) -> Iterator[tuple[GeneratedDialogue, list[KeptRequest], bytes]]:
        """The finished dialogues of these sequences with their lines, one in memory at a time."""
        if not self.done:
            return
        with (self._folder / DIALOGUES).open("rb") as stream:
            for name in order:
                if name not in self.done:
                    continue
                place, length = self.done[name]
                stream.seek(place)
                line = stream.read(length)
                value = parse_json(line)
                prompts, requests = value["prompts"], value["requests"]
                kept = [KeptRequest(**{**request, "prompt": prompts[request["prompt"]]}) for request in requests]
                yield GeneratedDialogue.from_json(value), kept, line

    def sort_failures(self, order: list[str]) -> None:
        """Write the failures anew in the order of sequences and attempts. Raises OSError."""
        path = self._folder / FAILURES
        if path.exists():
            values = sorted(
                (value for _, _, value in _lines(path)),
                key=lambda value: (order.index(value["sequence"]), value["attempt"]),
            )
            write_whole(path, b"".join(encoded(value) + b"\n" for value in values))

    def _append(self, name: str, value: Mapping[str, Any]) -> tuple[int, int]:
        line = encoded(dict(value)) + b"\n"
        path = self._folder / name
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            place = os.fstat(descriptor).st_size
            append_whole(path, descriptor, line)
        finally:
            os.close(descriptor)
        return place, len(line)


def _mend(path: Path) -> None:
    """Take off a last line that a killed run left incomplete."""
    if path.exists():
        with path.open("rb+") as stream:
            content = stream.read()
            if content and not content.endswith(b"\n"):
                stream.truncate(content.rfind(b"\n") + 1)


def _lines(path: Path) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """(place, length, value) of every line."""
    if not path.exists():
        return
    place = 0
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                value = parse_json(line)
                value["sequence"]
            except (ValueError, KeyError, TypeError):
                raise DataProblem(f"{path}, line {number} is damaged; take the line out and run again") from None
            yield place, len(line), value
            place += len(line)


ENDINGS = ("_train_origin.jsonl", "_train.jsonl", "_train_fetch_data.jsonl")
"""Endings of the files after the prefix: the raw transcripts, the clean ones, the requests."""

_NAMES = {"checker_planner": "llm_parallel_checker", "user_chat": "user_ask"}
"""The original's names of agents that its prompts name otherwise."""


def write_outputs(folder: Path, prefix: str, ledger: Ledger) -> list[Path]:
    """Write all finished dialogues in the order of their sequences; ``dialogues.jsonl`` and the list of failures get
    that order too.

    Each file is there as a whole or as it was. Nothing is written while nothing is finished.
    """
    ledger.sort_failures(sorted(ledger.failed, key=_place))
    if not ledger.done:
        return []
    targets = [folder / f"{prefix}{ending}" for ending in ENDINGS]
    whole = [*targets, folder / DIALOGUES]
    scratch = [path.with_name(f".{path.name}.part") for path in whole]
    with ExitStack() as stack:
        streams = [stack.enter_context(path.open("wb")) for path in scratch]
        for dialogue, kept, line in ledger.dialogues(sorted(ledger.done, key=_place)):
            for stream, values in zip(streams, _rows(dialogue, kept), strict=False):
                stream.writelines(encoded(value) + b"\n" for value in values)
            streams[-1].write(line)
    for path, target in zip(scratch, whole, strict=True):
        path.replace(target)
    return targets


def _rows(dialogue: GeneratedDialogue, kept: list[KeptRequest]) -> Iterator[list[Json]]:
    """The lines of one dialogue in each of the three files."""
    about = {"tools": dialogue.tools, "env_info": dialogue.env_info}
    yield [{**about, "messages": dialogue.messages}]
    yield [{**about, "messages": kept_messages(dialogue)[0]}]
    yield [_request(dialogue, one) for one in kept]


def _request(dialogue: GeneratedDialogue, one: KeptRequest) -> dict[str, Json]:
    """A line of the third file. The original writes the first task's request without the time, and small talk's without
    the pseudo tools."""
    return {
        "task": _NAMES.get(one.task, one.task),
        "tools": dialogue.tools[:-2] if one.task == "user_chat" else dialogue.tools,
        "env_info": dialogue.env_info if one.switch else None,
        "messages": one.messages(dialogue.messages),
        "answer": one.answer,
    }


def _place(name: str) -> list[int]:
    """Order of enumeration: single tool, multi tool, clarify, chat."""
    order: Sequence[str] = TYPES
    return [order.index(word) for word in name.split("-")]
