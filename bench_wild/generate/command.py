"""The command ``agentgauge generate``, and its report on which sequences are covered."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from agentgauge.core.config import load_config
from agentgauge.core.errors import UsageProblem
from agentgauge.core.features import features
from agentgauge.core.files import write_whole
from agentgauge.core.processes import CommandParser
from agentgauge.core.types import Usage
from agentgauge.model.budget import check_dollars, parse_budget
from agentgauge.model.presets import resolve
from agentgauge.model.spec import ModelSpec
from bench_wild.check import TASKS as SESSION
from bench_wild.generate.folder import GeneratorSettings, Ledger, alone, open_folder, write_outputs, writing
from bench_wild.generate.play import ModelRole
from bench_wild.generate.runner import INTERRUPTED, Open, at_endpoint, generate
from bench_wild.generate.texts import Tasks, chosen_sequences, load_texts, name_of, tool_lists
from bench_wild.generate.transcript import LANGUAGES

Status = Literal["done", "failed", "missing"]

SHOWN = 16
"""A table of so many sequences is shown as a whole; of more only what is not done."""
NAMED = 4
"""Sequences with the same outcome that are listed by name."""


@dataclass(frozen=True)
class CoverageRow:
    """One sequence."""

    sequence: str
    status: Status  # missing: no attempt came to an end
    failures: int
    why: str  # the last failure, or what ended the run before

    def __str__(self) -> str:
        times = f"failed {self.failures} {'time' if self.failures == 1 else 'times'}"
        if self.status == "done":
            return f"done, {times} before" if self.failures else "done"
        return f"{times if self.status == 'failed' else 'missing'}: {self.why}"


def coverage(sequences: Sequence[Tasks], ledger: Ledger, stopped: str) -> list[CoverageRow]:
    """One row for each sequence, in their order. ``stopped`` says why the run ended early; empty: it did not."""
    rows = []
    for name in map(name_of, sequences):
        failed = ledger.failed.get(name, [])
        if name in ledger.done:
            rows.append(CoverageRow(name, "done", len(failed), ""))
        elif failed:
            rows.append(CoverageRow(name, "failed", len(failed), failed[-1].message))
        else:
            rows.append(CoverageRow(name, "missing", 0, stopped or "not attempted"))
    return rows


def table(rows: Sequence[CoverageRow], *, whole: bool = False) -> str:
    """The rows as text, and a line of totals. Unless ``whole``, a long table has only the rows that are not done, and
    joins equal ones."""
    if whole or len(rows) <= SHOWN:
        width = max((len(row.sequence) for row in rows), default=0)
        lines = [f"  {row.sequence:{width}}  {row}" for row in rows]
    else:
        alike: dict[str, list[str]] = {}
        for row in rows:
            if row.status != "done":
                alike.setdefault(str(row), []).append(row.sequence)
        lines = [f"  {_some(names)}  {text}" for text, names in alike.items()]
    counts = Counter(row.status for row in rows)
    totals = [f"{counts['done']} of {len(rows)} sequences are covered"]
    totals += [f"{counts[status]} {status}" for status in ("failed", "missing") if counts[status]]
    return "\n".join([*lines, ", ".join(totals)])


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


COVERAGE = "coverage.txt"
_FILE, _NAME = {"type": Path, "metavar": "FILE"}, {"metavar": "NAME"}
PARTS: tuple[ModelRole, ...] = ("planner", "tool", "agent", "checker")


_OPTIONS: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "what is written": {
        "--layer-num-total": ("tasks of a dialogue: 4 ** N sequences (default: 4)", {"type": int, "metavar": "N"}),
        "--sequences": (
            "sequences to write, such as ST-MT,CQ-CC (ST single tool, MT multi, CQ clarify, CC chat; default: all)",
            {"metavar": "LIST"},
        ),
        "--language": (
            "language of prompts, bundled tools and dates (default: en)",
            {"choices": LANGUAGES, "default": "en"},
        ),
        "--tools": ("file with one JSON list of tools a line (default: tools of the bundled sessions)", _FILE),
        "--prompts": (
            "texts that replace the built-in wording: NAME.txt, or LANGUAGE/NAME.txt",
            {"type": Path, "metavar": "DIR"},
        ),
        "--seed": ("seed of all random choices (default: 0)", {"type": int, "default": 0, "metavar": "N"}),
    },
    "who writes": {
        "--model": ("model of each role whose option is not given (default: the first user model)", _NAME),
        "--user-model": ("model of the user; of several, one is drawn for each use", {**_NAME, "nargs": "+"}),
        **{f"--{part}-model": (f"model of the {part}", _NAME) for part in PARTS},
        "--model-url": ("OpenAI-compatible endpoint of all models (default: the provider's)", {"metavar": "URL"}),
        "--temperature": (
            "temperature of every request (default: the endpoint's own)",
            {"type": float, "metavar": "T"},
        ),
    },
    "how it runs": {
        "--attempts": (
            "attempts at each sequence, until one works (default: 3)",
            {"type": int, "default": 3, "metavar": "N"},
        ),
        "--in-flight": (
            "concurrent dialogues, each with one request (default: 32)",
            {"type": int, "default": 32, "metavar": "N", "dest": "slots"},
        ),
        "--budget": (
            "stop gracefully when the amount is reached: 5usd, 2Mtok, 30min (default: none)",
            {"metavar": "AMOUNT"},
        ),
        "--record": ("write a cassette of all exchanges with the models", _FILE),
        "--replay": ("answer from a cassette; no model is called", _FILE),
    },
}
"""The options of ``generate wild`` by their groups: help, and what else argparse takes."""


_AS_GIVEN = ("out", "language", "temperature", "seed", "attempts", "slots", "record", "replay")
"""Options that are settings as they stand."""


def main(argv: Sequence[str], open_model: Open = at_endpoint) -> int:
    """Make new WildToolBench dialogues and evaluation records.

    Returns the exit status: 0 every sequence is covered, 1 some are not, 130 interrupted.
    Raises UsageProblem for what the user must fix.
    """
    options = _parser().parse_args(argv)
    if options.command == "records":
        from bench_wild.generate.records import write_records

        with writing(options.out):
            print(*write_records(options.out).lines(), sep="\n")
        return 0
    settings = _settings(options)
    prefix = open_folder(settings, datetime.now())
    with alone(settings.out):
        if settings.record:
            from agentgauge.plugins.recording.cassette import begin

            begin(settings.record, settings.kept())
        ledger = Ledger(settings.out)
        with writing(settings.out):
            stopped, usage = asyncio.run(generate(settings, ledger, _tell, open_model))
            return _report(settings, ledger, write_outputs(settings.out, prefix, ledger), stopped, usage)


def _report(settings: GeneratorSettings, ledger: Ledger, files: Sequence[Path], stopped: str, usage: Usage) -> int:
    rows = coverage(settings.sequences, ledger, stopped)
    write_whole(settings.out / COVERAGE, (table(rows, whole=True) + "\n").encode())
    print(table(rows))
    if usage.requests:
        price = f", {usage.usd:.2f} USD" if usage.usd else ""
        print(f"{usage.requests} requests, {usage.prompt_tokens + usage.completion_tokens} tokens{price}")
    for file in files:
        print(file)
    if files and len(settings.sequences[0]) == SESSION:
        from bench_wild.generate.records import write_records

        print(*write_records(settings.out).lines(), sep="\n")
    if stopped:
        print(f"stopped early: {stopped}; the same command continues")
    elif any(row.status == "failed" for row in rows):
        print("the same command attempts again what failed")
    if stopped == INTERRUPTED:
        return 130
    return 0 if all(row.status == "done" for row in rows) else 1


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _settings(options: argparse.Namespace) -> GeneratorSettings:
    for name, value, low in (
        ("--attempts", options.attempts, 1),
        ("--in-flight", options.slots, 1),
        ("--temperature", options.temperature, 0),
    ):
        if value is not None and not value >= low:
            raise UsageProblem(f"{name} is {value}; it must be {low} or more")
    if options.record and options.replay:
        raise UsageProblem("--record and --replay do not go together; give one of them")
    if (options.record or options.replay) and not any(plugin.name == "recording" for plugin in features()):
        raise UsageProblem("--record and --replay need agentgauge/plugins/recording, which is deleted; leave them out")
    cast = _cast(options)
    specs = {} if options.replay else _specs(cast, options.model_url)
    budget = parse_budget(options.budget) if options.budget else None
    check_dollars(budget, list(specs.values()))
    return GeneratorSettings(
        sequences=tuple(chosen_sequences(options.sequences, options.layer_num_total)),
        lists=tool_lists(options.tools, options.language),
        texts=load_texts(options.language, options.prompts),
        cast=cast,
        specs=specs,
        budget=budget,
        **{name: getattr(options, name) for name in _AS_GIVEN},
    )


def _cast(options: argparse.Namespace) -> dict[ModelRole, tuple[str, ...]]:
    """Who plays what: ``--model`` all parts that have no model of their own, else the first user model."""
    users: list[str] = options.user_model or ([options.model] if options.model else [])
    if not users:
        raise UsageProblem("no model is named; give --model, or --user-model and more where the parts differ")
    usual = options.model or users[0]
    return {"user": tuple(users), **{part: (getattr(options, f"{part}_model") or usual,) for part in PARTS}}


def _specs(cast: Mapping[ModelRole, tuple[str, ...]], url: str | None) -> dict[str, ModelSpec]:
    config = load_config(root=Path.cwd())
    specs = {name: resolve(name, url=url, config=config) for names in cast.values() for name in names}
    for name, spec in specs.items():
        if spec.embedded:
            raise UsageProblem(
                f"the built-in model {name} cannot write dialogues; name a model that follows instructions"
            )
    return specs


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="agentgauge generate",
        description="Write new data for WildToolBench.",
        epilog="example: agentgauge generate wild --out dialogues --model gpt-4o --sequences ST-MT-CQ-CC",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="command")
    wild = commands.add_parser(
        "wild",
        help="write dialogues in the manner of WildToolBench",
        description=(
            "Let models write WildToolBench dialogues: one for every sequence of task types. Exit status 0 when all are"
            " covered, 1 when some are not, 130 when interrupted. The same command continues an interrupted run."
        ),
        epilog="example: agentgauge generate wild --out dialogues --model gpt-4o --layer-num-total 2 --budget 5usd",
    )
    records = commands.add_parser(
        "records",
        help="make the evaluation records of finished dialogues again",
        epilog="example: agentgauge generate records generated",
    )
    records.add_argument("out", type=Path, metavar="DIR", help="output folder of `agentgauge generate wild`")
    wild.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder to write to; an unfinished one is continued"
    )
    for title, options in _OPTIONS.items():
        group = wild.add_argument_group(title, "names as for pytest --model" if title == "who writes" else None)
        for name, (text, settings) in options.items():
            group.add_argument(name, help=text, **settings)
    return parser


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
